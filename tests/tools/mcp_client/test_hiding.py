"""What is shown of a server's settings: no secret that is written out in them."""

from assistant.settings.sections import ServerSettings
from assistant.tools.mcp_client.servers import Server, hidden


def test_what_is_secret_is_hidden_and_what_names_it_is_shown() -> None:
    started = {
        "command": "serve",
        "args": ["--api-key", "abc", "--token=def", "--port", "80", "--secret", "${SECRET}"],
        "env": {"LEVEL": "debug", "TOKEN": "${TOKEN}"},
    }
    shown = hidden(started)
    words = ["--api-key", "(hidden)", "--token=(hidden)", "--port", "80", "--secret", "${SECRET}"]
    assert shown["args"] == words
    assert shown["env"] == {"LEVEL": "(hidden)", "TOKEN": "${TOKEN}"}
    assert Server("s", ServerSettings(**started)).how == " ".join(["serve", *words])
    reached = {
        "url": "https://ada:pw@example.org/mcp?team=7&api_key=abc",
        "headers": {"Authorization": "Bearer abc", "X-Key": "Bearer ${KEY}"},
    }
    shown = hidden(reached)
    assert shown["url"] == "https://ada:(hidden)@example.org/mcp?team=7&api_key=(hidden)"
    assert shown["headers"] == {"Authorization": "(hidden)", "X-Key": "Bearer ${KEY}"}
    assert (
        hidden({"url": "https://token@[bad?key=x"})["url"] == "https://(hidden)@[bad?key=(hidden)"
    )

"""The recipe of the prompt: listed, budgeted, shown as it goes over the wire, kept for later."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from assistant.agent.prompt import tools_section
from assistant.model.base import ToolSpec
from assistant.model.text_tools import TextTools, as_text
from tests.cli.conftest import ASSISTANT, Run
from tests.support.provider import Provider
from tests.support.scripted import ScriptedModel


def asked(place: Path, url: str, *words: str) -> "subprocess.CompletedProcess[str]":
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": url}
    command = [ASSISTANT, "-w", place, *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | model, stdin=subprocess.DEVNULL
    )


@pytest.mark.slow
def test_context_is_what_goes_over_the_wire_then_and_now(run: Run, place: Path) -> None:
    (place / "SOUL.md").write_text("Be kind.\n" + "x" * 1_000_000, encoding="utf-8")
    (place / "RULES.md").write_text("Answer in rhymes.\n", encoding="utf-8")
    (place / "BOOTSTRAP.md").write_text("Ask for my name.\n", encoding="utf-8")
    (place / "HOUSE.md").write_text("Shoes off.\n" + "y" * 9_000, encoding="utf-8")
    (place / "assistant.toml").write_text(
        '[context]\nsections = ["rules", "*", '
        '{name = "house", files = ["HOUSE.md"], budget = 50}]\n'
    )
    with Provider("Hello.", "Again.") as provider:
        shown = asked(place, provider.url, "context", "--json", "hello there key")
        done = asked(place, provider.url, "ask", "hello there key")
        (place / "RULES.md").write_text("Answer in prose.\n", encoding="utf-8")
        again = asked(place, provider.url, "ask", "--continue", "and the key")
        named = asked(place, provider.url, "context", "see @RULES.md", "--section", "RULES.md")
    assert named.stdout.endswith("]\nAnswer in prose.\n\n")
    assert (done.returncode, again.returncode) == (0, 0)
    sections = {each["title"]: each for each in json.loads(shown.stdout)}
    body, second = (each.body for each in provider.requests)
    sent = "\n".join(str(message["content"]) for message in body["messages"])
    tools = [json.loads(line) for line in sections["Tools"]["text"].splitlines()]
    assert tools == body["tools"]
    for title in set(sections) - {"Tools", "Now", "Message"}:
        assert f"# {title}\n\n{sections[title]['text']}" in sent
    assert (
        next(iter(sections)) == "How You Work" and sections["How You Work"]["source"] == "RULES.md"
    )
    assert sections["Core Guardrails"]["source"] == "SOUL.md"
    assert "[Cut: SOUL.md has 1,000,009 characters; the first 50,000 are here.]" in sent
    assert "[Cut: HOUSE.md has 9,011 characters; the first 200 are here.]" in sent
    assert "note: SOUL.md has 1,000,009 characters, of which the first 50,000" in done.stderr
    assert "Ask for my name." in sent and "Ask for my name." not in json.dumps(second)
    assert not (place / "BOOTSTRAP.md").exists() and "bootstrap-" in done.stderr
    (session,) = (path.stem for path in (place / ".assistant" / "sessions").glob("*.jsonl"))
    past = json.loads(run("context", "--session", session, "--turn", "1", "--json").stdout)
    then = {each["title"]: each["text"] for each in past}
    assert "Answer in rhymes." in then["How You Work"] and then["Message"] == "hello there key"
    assert then["Tools"] == sections["Tools"]["text"]
    assert "Answer in prose." in run("context", "--session", session, "--turn", "2").stdout
    assert run("context", "--session", session, "--turn", "9").returncode == 2
    (place / "assistant.toml").write_text('[context]\nsections = ["ruels"]\n')
    assert "Did you mean rules?" in run("context", "x").stderr
    (place / "assistant.toml").write_text(
        '[context]\nsections = [{name = "x", files = ["../secret.md"]}]\n'
    )
    assert "a file of the workspace" in run("context", "x").stderr


def test_tools_in_words_are_shown_as_the_model_is_sent_them() -> None:
    specs = (ToolSpec("look", "Look it up.", {"type": "object", "properties": {}}),)
    worded = tools_section(TextTools(ScriptedModel()), specs)
    (sent,) = as_text([], specs)
    assert worded.rendered == sent.content
    assert json.loads(tools_section(ScriptedModel(), specs).text)["function"]["name"] == "look"

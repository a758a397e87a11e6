"""A skill, subtasks, a date that is due, a page of the web and an event, in one conversation."""

import json
from datetime import date
from pathlib import Path

import pytest

from assistant.messages import Reply, ToolCall
from tests.cli.talk.test_ask import command, done
from tests.cli.talk.test_web import TIDES
from tests.support.provider import Answer, Provider, Received
from tests.support.site import Site

SKILL = """\
---
name: sailing
description: What to do before sailing
triggers:
  - sail
---

Ask the tides first, then the boats.
"""


AGENTS = """\
## Events: harbour

[Instructions]
- Say which boat it is about.
"""


@pytest.mark.slow
def test_they_work_together_and_all_of_it_is_told(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "skills/sailing").mkdir(parents=True)
    (place / "skills/sailing/SKILL.md").write_text(SKILL)
    (place / "AGENTS.md").write_text(AGENTS)
    with (place / "MEMORY.md").open("a") as memory:
        memory.write(f"- The regatta is on {date.today().isoformat()}\n")
    monkeypatch.setenv("ASSISTANT_WEB__FETCH", "true")
    monkeypatch.setenv("ASSISTANT_WEB__ALLOW_PRIVATE", "127.0.0.1")
    with Site({"/tides": TIDES}) as site:
        tasks = ["Read about the tides", "Look for a boat"]
        fetch = ToolCall("f", "fetch_url", {"url": f"{site.url}/tides"})
        passed_on = place / "answer"

        def respond(received: Received) -> Answer:
            said, last = received.body["messages"], received.body["messages"][-1]
            if "An event from harbour" in json.dumps(said):
                look = ToolCall("s", "search_sessions", {"query": "is there a boat?"})
                return Reply(tool_calls=(look,)) if last["role"] == "user" else last["content"]
            if "several subtasks" not in json.dumps(said):
                share = ToolCall("d", "delegate", {"tasks": tasks})
                if last["role"] == "user":
                    return Reply(tool_calls=(share,))
                return "At 14:20, with the Gaivota."
            if tasks[1] in json.dumps(said):
                return "There is the Gaivota."
            return Reply(tool_calls=(fetch,)) if last["role"] == "user" else last["content"]

        with Provider(respond=respond) as provider:
            code, shown, beside = done(command(place, provider.url, "ask", "shall we sail?"))
            asked = list(provider.requests)
            words = ("event", "--source", "harbour", "--reply-to", f"cat > {passed_on}")
            came = done(command(place, provider.url, *words), '{"text": "shall we sail? cast off"}')
            answered = provider.requests[len(asked) :]
    assert (code, shown) == (0, "At 14:20, with the Gaivota.\n")
    assert "The regatta is on" in beside
    assert "Ask the tides first" in json.dumps(asked[0].body["messages"])
    (result,) = (m for m in asked[-1].body["messages"] if m["role"] == "tool")
    assert "turns at 14:20 on regatta day" in result["content"]
    assert "There is the Gaivota." in result["content"]
    assert came[0] == 0 and "Gaivota" in came[1], came  # the event knows what was said before it
    assert passed_on.read_text() in came[1]
    message = answered[0].body["messages"][-1]["content"]
    assert "- Say which boat it is about." in message and "cast off" in message

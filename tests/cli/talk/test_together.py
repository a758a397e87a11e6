"""A skill, subtasks, a date that is due and a page of the web, in one conversation."""

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


def test_they_work_together_and_all_of_it_is_told(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "skills/sailing").mkdir(parents=True)
    (place / "skills/sailing/SKILL.md").write_text(SKILL)
    with (place / "MEMORY.md").open("a") as memory:
        memory.write(f"- The regatta is on {date.today().isoformat()}\n")
    monkeypatch.setenv("ASSISTANT_WEB__FETCH", "true")
    monkeypatch.setenv("ASSISTANT_WEB__ALLOW_PRIVATE", "127.0.0.1")
    with Site({"/tides": TIDES}) as site:
        tasks = ["Read about the tides", "Look for a boat"]
        fetch = ToolCall("f", "fetch_url", {"url": f"{site.url}/tides"})

        def respond(received: Received) -> Answer:
            said, last = received.body["messages"], received.body["messages"][-1]
            if "several subtasks" not in json.dumps(said):
                share = ToolCall("d", "delegate", {"tasks": tasks})
                return Reply(tool_calls=(share,)) if last["role"] == "user" else "At 14:20."
            if tasks[1] in json.dumps(said):
                return "There is the Gaivota."
            return Reply(tool_calls=(fetch,)) if last["role"] == "user" else last["content"]

        with Provider(respond=respond) as provider:
            asked = command(place, provider.url, "ask", "shall we sail?")
            code, shown, beside = done(asked)
    assert (code, shown) == (0, "At 14:20.\n")
    assert "The regatta is on" in beside
    assert "Ask the tides first" in json.dumps(provider.requests[0].body["messages"])
    (result,) = (m for m in provider.requests[-1].body["messages"] if m["role"] == "tool")
    assert "turns at 14:20 on regatta day" in result["content"]
    assert "There is the Gaivota." in result["content"]

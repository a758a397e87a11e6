"""The agent as its owner meets it: the real command, a provider on a real socket, real work.

The task is a small package with a bug: find it with grep and read_file, edit it, run its tests in
the shell, report. Which sandbox the shell has is in the tests' names.
"""

import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assistant.messages import Reply, ToolCall, Usage
from assistant.model.text_tools import render_call
from assistant.session import transcript
from assistant.session.entries import AssistantEntry, ToolResultEntry, UserEntry
from assistant.session.history import group, unanswered
from assistant.tools.sandbox.process import available
from assistant.workspace import template, trust
from assistant.workspace.folder import Workspace
from tests.cli.tty import Tty
from tests.model.validator import wire_faults
from tests.support.daemon import ended
from tests.support.provider import Answer, Provider, Received

ASSISTANT = Path(sys.executable).with_name("assistant")
SANDBOX = "confined" if available() else "unconfined"

TASK = "The tests of the package in shop/ fail. Find out why, put it right and run them."
REPORT = "The discount was added and not taken off; I changed the sign, and the tests pass."
BUG = "return total + total * percent // 100"
FIX = "return total - total * percent // 100"
PACKAGE = {
    "shop/__init__.py": "",
    "shop/prices.py": f"def discounted(total: int, percent: int) -> int:\n    {BUG}\n",
    "shop/test_prices.py": (
        "import unittest\n\nfrom shop.prices import discounted\n\n\n"
        "class TestDiscount(unittest.TestCase):\n"
        "    def test_a_tenth_is_taken_off(self) -> None:\n"
        "        self.assertEqual(discounted(200, 10), 180)\n"
    ),
}
TEST = f"{Path(sys.executable).resolve()} -B -m unittest -v shop.test_prices"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workspace]:
    """A trusted workspace with the package in it; its daemon is ended afterwards."""
    root = tmp_path / "place"
    made = template.create(root).workspace
    trust.grant(made)
    for name, text in PACKAGE.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    yield made
    ended(root)


def environment(provider: Provider, **more: str) -> dict[str, str]:
    model = {"ASSISTANT_MODEL": "openai/test", "ASSISTANT_API_BASE": provider.url}
    return {**os.environ, "OPENAI_API_KEY": "test-key-of-nobody", **model, **more}


def start(
    place: Workspace, *arguments: str, env: Mapping[str, str], said: str = ""
) -> "subprocess.Popen[str]":
    """The command, on its way; `said` is all of its standard input."""
    pipe = subprocess.PIPE
    command = [str(ASSISTANT), "-w", str(place.root), *arguments]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env)
    assert child.stdin
    child.stdin.write(said)
    child.stdin.close()
    child.stdin = None
    return child


def run(place: Workspace, *arguments: str, env: Mapping[str, str], said: str = "") -> str:
    """What the command printed, once it has ended well."""
    out, errors = start(place, *arguments, env=env, said=said).communicate(timeout=600)
    assert "Traceback" not in errors, errors
    return out


# What the model does: the next step follows from the results it has seen, also after a crash


def results(request: Received) -> list[tuple[str, str]]:
    """Each tool call with its result, oldest first, in OpenAI's form or in XML."""
    calls: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for message in request.body["messages"]:
        content = text_of(message)
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            found.append((calls[message["tool_call_id"]], content))
        elif message["role"] == "user":
            found += XML_RESULT.findall(content)
    return found


XML_RESULT = re.compile(r'<tool_result name="(\w+)">\n(.*?)\n</tool_result>', re.DOTALL)


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def step(seen: Sequence[tuple[str, str]]) -> ToolCall | None:
    """The call that comes next; None when the tests have passed."""
    state = "grep"
    for name, result in seen:
        match name:
            case "grep" if "prices.py" in result:
                state = "read"
            case "read_file" if BUG in result or FIX in result:
                state = "edit" if BUG in result else "test"
            case "edit_file":
                state = "read"
            case "shell" if "OK" in result:
                return None
    edit = {"path": "shop/prices.py", "old_text": BUG, "new_text": FIX}
    calls = {
        "grep": ToolCall("", "grep", {"pattern": "def discounted"}),
        "read": ToolCall("", "read_file", {"path": "shop/prices.py"}),
        "edit": ToolCall("", "edit_file", edit),
        "test": ToolCall("", "shell", {"command": TEST}),
    }
    return calls[state]


def working(request: Received) -> Answer:
    """The model at work, by tool calling of its own."""
    call = step(results(request))
    if call is None:
        return Reply(REPORT, usage=Usage(2_000, 20))
    named = ToolCall(f"call_{len(results(request))}", call.name, call.arguments)
    return Reply("Let me see.", tool_calls=(named,), usage=Usage(1_000, 10))


def writing_xml(request: Received) -> Answer:
    """The same by a model that has no tool calling."""
    assert "tools" not in request.body
    call = step(results(request))
    return REPORT if call is None else f"Let me see.\n\n{render_call(call)}"


def check_done(place: Workspace, provider: Provider) -> None:
    """The bug is gone, the transcript whole, every request one that providers take."""
    assert FIX in (place.root / "shop/prices.py").read_text()
    (name,) = transcript.session_ids(place.sessions)
    entries = transcript.read(place.sessions, name)
    assert [entry.text for entry in entries if isinstance(entry, UserEntry)] == [TASK]
    assert all(turn.finished for turn in group(entries)) and not unanswered(entries)
    last = entries[-1]
    assert isinstance(last, AssistantEntry) and last.text == REPORT
    for request in provider.requests:
        assert wire_faults(request.body) == []
        said = [text_of(each) for each in request.body["messages"] if each["role"] == "user"]
        assert sum(text.count(TASK) for text in said) == 1


@pytest.mark.parametrize("form", ["native", "xml"])
@pytest.mark.parametrize("confined", [SANDBOX])
def test_a_bug_is_found_mended_tested_and_reported(
    place: Workspace, form: str, confined: str
) -> None:
    with Provider(respond=working if form == "native" else writing_xml) as provider:
        env = environment(provider, ASSISTANT_MODEL__TOOL_FORMAT=form)
        yes = ["--yes"] if confined == "unconfined" else []
        out = run(place, "ask", *yes, "--json", TASK, env=env)
        events = [json.loads(line) for line in out.splitlines()]
        check_done(place, provider)
    used = [event["tool"] for event in events if event["event"] == "tool_finished"]
    assert used == ["grep", "read_file", "edit_file", "read_file", "shell"]
    assert events[-1]["event"] == "turn_finished" and events[-1]["reply"] == REPORT


# Killed anywhere


class Killer:
    """Answers like the model at work, and kills the process that asks some time after `due`."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._child: subprocess.Popen[str] | None = None
        self._due = 0

    def kill(self, child: "subprocess.Popen[str]") -> None:
        """Kill it at a random point: as it starts, or around one of the next requests."""
        self._child, self._due = child, self._dice.randrange(6)
        if not self._due:
            self._strike(self._dice.uniform(0, 3))
        child.communicate(timeout=600)
        self._child = None

    def __call__(self, request: Received) -> Answer:
        self._due -= 1
        if self._child and not self._due:
            self._strike(self._dice.uniform(0, 0.25))
        return working(request)

    def _strike(self, delay: float) -> None:
        assert self._child
        threading.Timer(delay, self._child.kill).start()


def go_on(place: Workspace, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """The chat from a pipe: with the task, or where the last one was killed."""
    yes = ["--yes"] if SANDBOX == "unconfined" else []
    if transcript.session_ids(place.sessions):
        return start(place, "chat", *yes, "--continue", env=env)
    return start(place, "chat", *yes, env=env, said=f"{TASK}\n")


def kill_and_go_on(place: Workspace, seed: int, kills: int) -> None:
    killer = Killer(random.Random(seed))
    with Provider(respond=killer) as provider:
        env = environment(provider)
        for _ in range(kills):
            killer.kill(go_on(place, env))
        _, errors = go_on(place, env).communicate(timeout=600)
        assert "Traceback" not in errors, errors
        check_done(place, provider)


@pytest.mark.slow
def test_the_task_killed_at_random_points_is_finished(place: Workspace) -> None:
    kill_and_go_on(place, seed=0, kills=4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_the_task_killed_at_many_points_is_finished(place: Workspace, seed: int) -> None:
    kill_and_go_on(place, seed, kills=1)


@pytest.mark.slow
def test_a_pending_approval_is_asked_again(place: Workspace) -> None:
    call = ToolCall("c1", "write_file", {"path": "SOUL.md", "text": "Be brief.\n"})
    with Provider(Reply(tool_calls=(call,)), "It is done.") as provider:
        env = environment(provider)
        again = ("-w", str(place.root), "chat", "--continue")
        with Tty(*again[:-1], variables=env, size=(100, 50)) as killed:
            killed.wait("›")
            killed.say("be brief from now on")
            killed.wait("[y,n,a,?]:")
            killed.child.kill(9)
            killed.child.wait()
        with Tty(*again, variables=env, size=(100, 50)) as tty:
            tty.wait("[y,n,a,?]:")
            assert "│ +Be brief." in tty.text and len(provider.requests) == 1
            tty.say("y")
            tty.wait("It is done", gone="Esc stops")
            tty.send("\x04")
            assert tty.end() == 0
    assert (place.root / "SOUL.md").read_text() == "Be brief.\n"
    assert wire_faults(provider.requests[-1].body) == []
    (name,) = transcript.session_ids(place.sessions)
    entries = transcript.read(place.sessions, name)
    (result,) = [entry for entry in entries if isinstance(entry, ToolResultEntry)]
    assert not result.error


@pytest.mark.slow
def test_the_model_is_switched_in_the_chat_and_usage_and_cost_are_shown(place: Workspace) -> None:
    with Provider(
        Reply("One.", usage=Usage(1_000, 10, 900)), Reply("Two.", usage=Usage(2_000, 20, 1_900))
    ) as provider:
        env = environment(provider, ASSISTANT_MODEL="openai/gpt-4o-mini")
        with Tty("-w", str(place.root), "chat", variables=env, size=(100, 40)) as tty:
            for typed, shown in (
                ("first", "One."),
                ("/model openai/gpt-4o", "model: openai/gpt-4o"),
                ("second", "Two."),
                ("/usage", "3,000 tokens in (1,900 of the last call cached), 30 out · $0.00"),
            ):
                tty.wait("›", gone="Esc stops")
                tty.say(typed)
                tty.wait(shown)
            tty.wait("›", gone="Esc stops")
            tty.send("\x04")
            assert tty.end() == 0
        asked = [request.body["model"] for request in provider.requests]
        assert asked == ["gpt-4o-mini", "gpt-4o"]
        assert re.search(
            r"2 turns · 3,030 tokens · \$0\.00\d", run(place, "sessions", "list", env=env)
        )

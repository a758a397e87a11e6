"""Conversations over real HTTP with real memory: markdown in, markdown out, whatever is killed."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from subprocess import PIPE

import pytest

from assistant.conversation import Conversation
from assistant.events import Compacted, FactsCaptured, Recalled, ToolFinished, TurnFinished
from assistant.memory.base import Keeper
from assistant.memory.open import open_in_process
from assistant.messages import Reply, ToolCall, Usage
from assistant.model.offline import BRIEFED
from assistant.model.provider.litellm_model import LitellmModel
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.session.history import group, unanswered
from assistant.settings.sections import ModelSettings
from assistant.settings.tree import Settings
from assistant.tools.files.access import Roots
from assistant.tools.files.read import reading_tools
from assistant.tools.scratch import Scratch, scratch_tools
from assistant.tools.toolbox import Toolbox
from assistant.workspace.folder import Workspace
from tests.model.validator import wire_faults
from tests.support.conversations import FACTS, compacting, reply
from tests.support.provider import Answer, Provider, Received

Opened = Callable[..., Conversation]
LONG = " ".join(f"word{number}" for number in range(400))
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[Keeper]:
    opened = open_in_process(workspace, Settings())
    yield opened
    opened.close()


@pytest.fixture
def opened(workspace: Workspace, memory: Keeper, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def make(provider: Provider, *, window: int = 8_000, session: str = "") -> Conversation:
        settings = ModelSettings(name="openai/test", api_base=provider.url, context_window=window)
        scratch = Scratch()
        tools = [*reading_tools(Roots(workspace)), *scratch_tools(scratch)]
        place = workspace.sessions
        record = transcript.reopen(place, session) if session else transcript.create(place)
        model = LitellmModel(settings)
        return Conversation(workspace, model, memory, Toolbox(tools), record, scratch=scratch)

    return make


def asked(request: Received) -> str:
    """The last message of a request, without what the program says before it."""
    content = request.body["messages"][-1]["content"]
    return BRIEFED.sub("", content if isinstance(content, str) else str(content))


def is_compacting(request: Received) -> bool:
    """Whether no turn asks, but its compaction."""
    return not request.body.get("tools")


def compacted(request: Received) -> str:
    """What the summariser answers."""
    return compacting(*(str(message["content"]) for message in request.body["messages"]))


def test_text_call_result_reply_then_compaction_then_a_new_session_recalls(
    opened: Opened, workspace: Workspace
) -> None:
    (workspace.root / "boats.txt").write_text("Albatross: 9 m, built 1974\n", encoding="utf-8")

    def answer(request: Received) -> Answer:
        assert wire_faults(request.body) == []
        if is_compacting(request):
            return compacted(request)
        if asked(request) == "My boat is called Albatross; look it up.":
            call = ToolCall("c1", "read_file", {"path": "boats.txt"})
            return Reply("I look.", tool_calls=(call,), usage=Usage(900, 9))
        if "built 1974" in asked(request):
            return Reply("It was built in 1974.", usage=Usage(1_000, 8))
        return LONG

    with Provider(respond=answer) as provider:
        talk = opened(provider)
        events = list(talk.send("My boat is called Albatross; look it up."))
        assert events[-1] == TurnFinished("It was built in 1974.", Usage(1_900, 17))
        (result,) = [event for event in events if isinstance(event, ToolFinished)]
        assert "built 1974" in result.content and not result.error
        later = list(talk.send("I moor it in Kiel."))
        while not any(isinstance(event, Compacted) for event in later):
            later += talk.send("Tell me more.")
            assert len(group(talk.transcript.entries)) < 20
        assert any(isinstance(event, FactsCaptured) for event in later)
        talk.transcript.close()

        text = (workspace.root / "MEMORY.md").read_text(encoding="utf-8")
        heading = f"## Auto-captured -- {date.today().isoformat()}"
        assert f"{heading}\n\n- {FACTS[0]}\n" in text
        fresh = opened(provider)
        events = list(fresh.send("What is my boat called, Albatross or Heron?"))
        (recalled,) = [event for event in events if isinstance(event, Recalled)]
        line = text.split("\n").index(f"- {FACTS[0]}") + 1
        assert f"MEMORY.md:{line}" in recalled.citations
        sent = json.dumps(provider.requests[-1].body["messages"])
        assert f"(MEMORY.md:{line}, {date.today().isoformat()}) {FACTS[0]}" in sent


@pytest.mark.slow
def test_the_providers_overflow_error_compacts_at_once(opened: Opened) -> None:
    def answer(request: Received) -> Answer:
        return compacted(request) if is_compacting(request) else LONG

    with Provider(respond=answer, window=6_000) as provider:
        talk = opened(provider, window=100_000)
        for number in range(12):
            assert reply(talk.send(f"Question {number}")) == LONG
        assert any(entry.type == "compaction" for entry in talk.transcript.entries)


def many_turns(talk: Conversation, provider: Provider, turns: int) -> None:
    """Messages of all lengths; the first and the note stay in each request, word for word."""
    goal, note = (
        "THE GOAL: sail my boat Albatross, moored in Kiel. Note the keel.",
        "keep the keel dry",
    )
    list(talk.send(goal))
    for number in range(turns):
        events = list(talk.send(f"Message {number} from Kiel. {'detail ' * (number % 50 * 10)}"))
        assert isinstance(events[-1], TurnFinished), events[-1]
    for request in provider.requests[2:]:
        if not is_compacting(request):
            said = [str(message.get("content")) for message in request.body["messages"]]
            assert any(goal in each for each in said) and any(note in each for each in said)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [24, 200])
def test_many_turns_against_a_model_of_16_000_tokens(
    opened: Opened, workspace: Workspace, turns: int
) -> None:
    def answer(request: Received) -> Answer:
        if is_compacting(request):
            return compacted(request)
        assert wire_faults(request.body) == []
        if asked(request).endswith("Note the keel."):
            return Reply(tool_calls=(ToolCall("n", "note", {"text": "keep the keel dry"}),))
        return " ".join(LONG.split()[: 20 * (len(provider.requests) % 20) + 1])

    with Provider(respond=answer, window=16_000) as provider:
        talk = opened(provider, window=16_000)
        many_turns(talk, provider, turns)
    assert any(entry.type == "compaction" for entry in talk.transcript.entries)
    text = (workspace.root / "MEMORY.md").read_text(encoding="utf-8")
    assert all(f"- {fact}\n" in text for fact in FACTS)


# Killed anywhere

DRIVER = ROOT / "tests/support/killable.py"
MESSAGES = [
    "My boat is called Albatross.",
    "Please look it up.",
    "I moor it in Kiel.",
    *(f"Tell me more, part {number}, and look." for number in range(4)),
]


def drive(workspace: Workspace, kill_after: int | None = None) -> bool:
    """Run the conversation on, killed after so many lines of output; whether it came to its end."""
    command = [sys.executable, str(DRIVER), str(workspace.root), *MESSAGES]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment) as child:
        assert child.stdout and child.stderr
        lines = []
        for line in child.stdout:
            lines.append(line.strip())
            if kill_after is not None and len(lines) > kill_after:
                child.kill()
                break
        errors = child.stderr.read()
        child.wait()
    assert child.returncode in (0, -signal.SIGKILL), errors
    return child.returncode == 0 and lines[-1] == "done"


def check_driven(workspace: Workspace) -> None:
    (name,) = transcript.session_ids(workspace.sessions)
    entries = transcript.read(workspace.sessions, name)
    assert [entry.text for entry in entries if isinstance(entry, UserEntry)] == MESSAGES
    assert all(turn.finished for turn in group(entries)) and not unanswered(entries)
    requests = (workspace.root / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    assert [line for line in requests if line != "[]"] == []
    text = (workspace.root / "MEMORY.md").read_text(encoding="utf-8")
    assert [text.count(f"- {fact}\n") for fact in FACTS] == [1, 1]


def test_a_driven_conversation_comes_to_its_end_unharmed(workspace: Workspace) -> None:
    assert drive(workspace)
    check_driven(workspace)


def kill_and_go_on(workspace: Workspace, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(3):
        if drive(workspace, kill_after=chosen.randrange(60)):
            break
    assert drive(workspace)
    check_driven(workspace)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_a_conversation_killed_anywhere_goes_on(workspace: Workspace, seed: int) -> None:
    kill_and_go_on(workspace, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_a_conversation_killed_at_many_points_goes_on(workspace: Workspace, seed: int) -> None:
    kill_and_go_on(workspace, seed)

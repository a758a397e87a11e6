"""`sessions show`: all that happened in a session, as a person reads it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assistant.cli.root import cli
from assistant.messages import ToolCall
from assistant.session import transcript
from assistant.session.entries import (
    ApprovalEntry,
    AssistantEntry,
    ReminderEntry,
    RetryEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.workspace.folder import Workspace

SAID = (
    UserEntry("Tidy up"),
    AssistantEntry("I will.", "shall I?", (ToolCall("c1", "shell", {"command": "rm x"}),)),
    ApprovalEntry("c1"),
    ApprovalEntry("c1", "no", "keep it"),
    ToolResultEntry("c1", "shell", "no", error=True, compact="shell rm x"),
    RetryEntry("openai/b", "openai/a failed (503): busy", 2.0, 1),
    UserEntry("make it y", joins=True),
    AssistantEntry("", "hm"),
    ReminderEntry("Your answer was empty", "empty"),
    AssistantEntry("Nothing was done.", "so be it \x1b[2J"),
    ApprovalEntry("gone", "once"),
)
LINES = [
    "› Tidy up",
    "I will.",
    "you did not allow: shell rm x (keep it)",
    "✗ shell: rm x → shell rm x",
    "openai/a failed (503): busy; trying openai/b in 2 s",
    "› make it y",
    "(the model was told: Your answer was empty)",
    "Nothing was done.",
    "you allowed once: gone",
]


@pytest.fixture
def shown(workspace: Workspace) -> Path:
    session = transcript.create(workspace.sessions)
    for entry in SAID:
        session.append(entry)
    session.close()
    return workspace.root


def output(place: Path, *more: str) -> str:
    (session,) = (place / ".assistant" / "sessions").glob("*.jsonl")
    done = CliRunner().invoke(cli, ["-w", str(place), "sessions", "show", session.stem, *more])
    assert done.exit_code == 0, done.output
    return done.output


def test_what_happened_in_the_middle_of_a_turn_is_shown(shown: Path) -> None:
    assert output(shown).splitlines() == LINES


def test_thoughts_are_shown_if_they_are_wanted(shown: Path) -> None:
    told = output(shown, "--thoughts")
    assert [line for line in told.splitlines() if line not in LINES] == [
        "shall I?",
        "hm",
        "so be it \\u{1b}[2J",
    ]
    assert told.index("shall I?") < told.index("I will.")


def test_as_json_every_entry_is_there(shown: Path) -> None:
    assert len(output(shown, "--json").splitlines()) == len(SAID) + 1

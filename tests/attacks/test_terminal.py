"""What others wrote cannot steer the terminal, nor hide in it, whichever command shows it."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from assistant import events
from assistant.cli import memory_text, session_text
from assistant.cli.chat import headless
from assistant.cli.chat.markdown import rendered
from assistant.cli.chat.plain import PlainScreen
from assistant.cli.chat.screen import Kind
from assistant.cli.chat.turn_view import TurnView
from assistant.display import as_json, exactly, spelled
from assistant.events import Event
from assistant.memory.base import Passage, Recall, Remembered
from assistant.session import listing, transcript
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    NoticeEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.workspace.folder import Workspace
from tests.attacks.cases import HARMLESS, STEERING

every_trick = pytest.mark.parametrize("trick", STEERING.values(), ids=STEERING.keys())
STEERS = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ROOT = Path(__file__).resolve().parent.parent.parent


class Screen(io.StringIO):
    """What the program takes for a terminal, so that nothing is stripped on the way."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What was written, less the colours that the program itself sets."""
        return COLOUR.sub("", self.getvalue())


@contextlib.contextmanager
def terminal() -> Iterator[Screen]:
    """Standard output and error are one screen."""
    screen = Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        yield screen


def is_clean(shown: str) -> bool:
    """Nothing but text and line ends; the colours that the program itself sets aside."""
    return not any(unicodedata.category(char) in STEERS and char != "\n" for char in shown)


@every_trick
def test_what_steers_is_spelled_out(trick: str) -> None:
    assert is_clean(spelled(f"a {trick} b"))
    assert is_clean(exactly(trick))
    assert trick not in spelled(f"a {trick} b")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_people_write_is_left_alone(text: str) -> None:
    assert spelled(text) == text


def passage(text: str) -> Passage:
    return Passage("p", text, text, f"memory/{text}.md", 1, 1, 0, 1, (text,), None, origin=text)


@every_trick
def test_recall_and_remember(trick: str) -> None:
    found = passage(f"- harbour {trick} pilot")
    with terminal() as screen:
        memory_text.show_recall(Recall("q", (found,), near_misses=(found,)), why=True)
        memory_text.show_written(Remembered("stored", "f1", "MEMORY.md", 1, "x", (found,)))
    assert "harbour" in screen.shown and is_clean(screen.shown)


@pytest.mark.parametrize("text", [text for text in HARMLESS if "\t" not in text])
def test_a_heading_is_shown_as_it_is_written(text: str) -> None:
    with terminal() as screen:
        memory_text.show_recall(Recall("q", (replace(passage("a"), heading=("Memory", text)),)))
    assert text in screen.shown


def test_a_files_name_breaks_no_line() -> None:
    with terminal() as screen:
        memory_text.show_recall(
            Recall("q", (replace(passage("a"), source="a\nMEMORY.md:1  b.md", score=1.0),))
        )
    assert screen.shown.splitlines()[0].startswith("a\\u{a}MEMORY.md:1  b.md:1")


@every_trick
def test_sessions(trick: str, workspace: Workspace) -> None:
    with_title = transcript.create(workspace.sessions)
    with_title.append(UserEntry(f"harbour {trick} pilot"))
    with_title.append(AttachmentEntry(f"Input {trick}", f"harbour {trick} pilot"))
    with_title.append(AssistantEntry(f"harbour {trick} pilot"))
    with_title.append(ToolResultEntry("c1", "look", "x", compact=f"harbour {trick}"))
    with_title.append(NoticeEntry(f"harbour {trick}"))
    entries = with_title.entries
    with_title.close()
    with terminal() as screen:
        session_text.show_sessions(listing.sessions(workspace.sessions))
        for line in session_text.session_lines(entries):
            typer.echo(line)
    assert screen.shown.count("harbour") == 6 and is_clean(screen.shown)


def turn(trick: str) -> Iterator[Event]:
    """A turn in which everything that can be said says it."""
    said = f"harbour {trick} pilot"
    yield events.Recalled((f"memory/{said}.md:1",), 1)
    yield events.ToolStarted("c1", "look", {}, said)
    yield events.ToolFinished("c1", "look", said, error=False, compact=said)
    yield events.MessageJoined(said, interrupting=True)
    yield events.ApprovalDecided("c1", "look", said, "no", said)
    yield events.Reminded(said)
    yield events.Notice(said)
    yield events.Retrying(said, said, 1.0, 1)
    yield events.FactsCaptured((said,), 1)
    yield events.ReasoningDelta(said)
    yield events.TextDelta(f"{said}\n\n# {said}\n\n[{said}](https://evil.example/)\n\n")
    yield events.TurnFailed(said, said)
    yield events.TurnFinished(said)


@every_trick
def test_a_turn_without_a_terminal(trick: str) -> None:
    with terminal() as screen:
        headless.print_turns([turn(trick)])
    assert "harbour" in screen.shown and is_clean(screen.shown)


class Page(PlainScreen):
    """A screen that keeps what is put up, as a terminal in colour is sent it."""

    size = (200, 50)

    def render(self, markdown: str) -> str:
        return rendered(markdown, 200)

    def put(self, text: str, kind: Kind = "block") -> None:
        typer.echo(text)


def seen(*turn: Event) -> str:
    """What a turn writes to a terminal."""
    with terminal() as screen:
        view = TurnView(Page("› "))
        for event in turn:
            view.show(event)
        view.flush()
    return screen.getvalue()


@every_trick
def test_a_turn_in_a_terminal(trick: str) -> None:
    shown = COLOUR.sub("", seen(*turn(trick)))
    assert "harbour" in shown and is_clean(shown)


def test_a_link_shows_where_it_leads() -> None:
    shown = seen(events.TextDelta("See [your bank](https://evil.example/) now.\n\n"))
    assert "evil.example" in shown and "\x1b]8;" not in shown


@pytest.mark.parametrize("trick", ["\x7f", "\x9b2J", "\x9d0;x\x9c", "\x1b[2J"])
def test_json_carries_no_control_character(trick: str) -> None:
    with terminal() as screen:
        typer.echo(as_json({"text": trick}))
    assert json.loads(screen.shown) == {"text": trick}
    assert is_clean(screen.shown)


def test_the_command_itself(workspace: Workspace) -> None:
    """Through the real process: a passage, a file's name, an error."""
    (workspace.root / "memory").mkdir()
    name = workspace.root / "memory" / "\x1b[2J.md"
    name.write_text(f"- The harbour pilot {''.join(STEERING.values())} is Ines\n", encoding="utf-8")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "assistant.cli.main", "--no-daemon", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=600
        )
        return done.stdout + done.stderr

    place = str(workspace.root)
    shown = run("-w", place, "recall", "harbour pilot")
    assert "Ines" in shown and is_clean(shown)
    assert is_clean(run("-w", f"{place}/\x1b[2J", "recall", "x"))

"""Naming and deleting sessions, and taking them along."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.errors import SessionError
from assistant.messages import ToolCall
from assistant.session import keeping, transcript
from assistant.session.entries import (
    AssistantEntry,
    InterruptedEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.listing import markdown, sessions
from assistant.session.transcript import Transcript


@pytest.fixture
def said(tmp_path: Path) -> Transcript:
    """An open session in which something was said."""
    session = transcript.create(tmp_path)
    session.append(UserEntry("Look for the key. Quickly."))
    call = ToolCall("c1", "shell", {"command": "ls"})
    session.append(AssistantEntry("I look.", tool_calls=(call,)))
    session.append(ToolResultEntry("c1", "shell", "key\ndoor", compact="2 lines"))
    session.append(AssistantEntry("It is *there*."))
    return session


def test_an_open_session_can_be_renamed_and_goes_on(tmp_path: Path, said: Transcript) -> None:
    keeping.rename(tmp_path, said.session, " The  key ")
    said.append(UserEntry("Thanks"))
    assert sessions(tmp_path)[0].title == "The key"
    assert [each.type for each in said.entries[-2:]] == ["title", "user"]


def test_locks_of_closed_sessions_go_and_what_was_sent_a_month_ago(
    tmp_path: Path, said: Transcript
) -> None:
    (tmp_path / "old.lock").touch()
    for name, days in (("old", 31), ("new", 29)):
        path = tmp_path / f"{name}.prompts"
        path.touch()
        when = (datetime.now() - timedelta(days=days)).timestamp()
        os.utime(path, (when, when))
    keeping.sweep(tmp_path, datetime.now().astimezone())
    left = {path.name for path in tmp_path.glob("*.*") if path.name[0] != "."}
    assert left == {"new.prompts", f"{said.session}.lock", f"{said.session}.jsonl"}
    said.append(UserEntry("And on"))


def test_a_title_cannot_be_empty(tmp_path: Path, said: Transcript) -> None:
    with pytest.raises(SessionError, match="cannot be empty"):
        keeping.rename(tmp_path, said.session, " ")


def test_a_deleted_session_leaves_nothing_and_an_open_one_is_not_deleted(
    tmp_path: Path, said: Transcript
) -> None:
    with pytest.raises(SessionError, match="is open in another chat"):
        keeping.delete(tmp_path, said.session)
    with said.reading():
        pass
    said.close()
    keeping.delete(tmp_path, said.session[-3:])
    assert not list(tmp_path.glob(f"{said.session}*"))


def test_a_session_becomes_a_markdown_document(said: Transcript) -> None:
    said.append(InterruptedEntry("stopped"))
    assert markdown(said.entries) == (
        "# Look for the key.\n\n## You\n\nLook for the key. Quickly.\n\n## Assistant\n\n"
        "I look.\n\n> shell: 2 lines\n\nIt is *there*.\n\n> (stopped)\n"
    )
    said.append(TitleEntry("Keys"))
    assert markdown(said.entries).startswith("# Keys\n")

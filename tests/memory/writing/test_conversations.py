"""Forgotten in conversations too: by their words, by their entries, byte for byte."""

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from assistant.disk import locking
from assistant.errors import SessionError
from assistant.memory.writing.remains import conversations, prompts
from assistant.memory.writing.words import Words
from assistant.messages import ToolCall
from assistant.session import transcript
from assistant.session.entries import (
    AssistantEntry,
    CapturedFact,
    CaptureEntry,
    CitedPassage,
    CompactionEntry,
    RecalledEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.workspace.folder import APPENDING

FACT = "The safe opens with zanzibar-17"
SAID = Words([FACT])


def purge(directory: Path, cited: Mapping[str, Collection[str]]) -> int:
    """Purge the sessions; how many files that changed."""
    with ExitStack() as held:
        files = list(conversations(directory, SAID, cited, held))
        for path, data in files:
            path.write_bytes(data)
        return len(files)


@pytest.fixture
def session(tmp_path: Path) -> transcript.Transcript:
    """One in which the fact is everywhere, beside things to keep."""
    made = transcript.create(tmp_path)
    call = ToolCall("c1", "remember", {"fact": FACT})
    for entry in (
        UserEntry(f"Remember that {FACT.lower()}!\nAnd water the plants."),
        AssistantEntry("", tool_calls=(call,)),
        ToolResultEntry("c1", "remember", f"Stored: {FACT}"),
        AssistantEntry("With zanzibar-17 the safe opens, noted."),
        UserEntry("What is our secret word, in short?"),
        RecalledEntry((CitedPassage("p", "MEMORY.md:3", f"- {FACT}"),), 9),
        AssistantEntry("z a n z i b a r, one seven"),
        CaptureEntry("e4", (CapturedFact(FACT, "owner", (), matters_for=("zanzibar trips",)),)),
        CompactionEntry(f"- The owner: plants.\n- You: {FACT}", "e4", 1, 9, 1),
    ):
        made.append(entry)
    made.close()
    return made


def test_no_byte_of_the_words_stays_and_the_rest_does(
    tmp_path: Path, session: transcript.Transcript
) -> None:
    picture = tmp_path / f"{session.session}.pictures" / "0.png"
    picture.parent.mkdir()
    picture.write_bytes(b"a photograph of the safe")
    before = transcript.read(tmp_path, session.session)
    assert purge(tmp_path, {}) == 2
    assert picture.read_bytes() == b""
    assert b"zanzibar" not in b"".join(map(Path.read_bytes, tmp_path.glob("*.*l*"))).lower()
    after = transcript.read(tmp_path, session.session)
    assert [(entry.id, entry.type, entry.time) for entry in after] == [
        (entry.id, entry.type, entry.time) for entry in before
    ]
    said = [entry.text for entry in after if isinstance(entry, UserEntry)]
    assert said == [
        "Remember that (forgotten)!\nAnd water the plants.", "What is our secret word, in short?"
    ]  # fmt: skip
    assert purge(tmp_path, {}) == 0


def test_entries_that_the_fact_was_taken_from_lose_what_they_say(
    tmp_path: Path, session: transcript.Transcript
) -> None:
    purge(tmp_path, {session.session: {"e7"}, "another": {"e1"}})
    seventh = transcript.read(tmp_path, session.session)[7]
    assert isinstance(seventh, AssistantEntry)
    assert seventh.text == "(forgotten)"


def test_a_session_without_the_words_keeps_every_byte(tmp_path: Path) -> None:
    made = transcript.create(tmp_path)
    made.append(UserEntry("The safe is heavy; zanzibar is an island"))
    made.close()
    assert made.path
    before = made.path.read_bytes()
    assert purge(tmp_path, {}) == 0
    assert made.path.read_bytes() == before


def test_an_open_session_is_named_and_nothing_is_changed(
    tmp_path: Path, session: transcript.Transcript
) -> None:
    other = transcript.reopen(tmp_path, session.session)
    assert session.path
    before = session.path.read_bytes()
    with pytest.raises(SessionError, match=session.session):
        purge(tmp_path, {})
    assert session.path.read_bytes() == before
    other.close()
    assert purge(tmp_path, {}) == 1


def test_what_was_typed_at_the_prompt_goes_entry_by_entry(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    keep = "\n# 2026-11-21 10:00:00\n+hello\n+there\n"
    path.write_text(f"{keep}\n# 2026-11-21 10:01:00\n+/remember {FACT}\n{keep}", encoding="utf-8")
    for found, data in prompts(path, SAID):
        found.write_bytes(data)
    text = path.read_text("utf-8")
    assert "zanzibar" not in text
    assert text.count("+hello\n+there\n") == 2
    assert list(prompts(path, SAID)) == []
    assert list(prompts(tmp_path / "none", SAID)) == []


def test_nothing_is_added_to_any_session_while_one_is_purged(
    session: transcript.Transcript, tmp_path: Path
) -> None:
    with ExitStack() as held:
        assert list(conversations(tmp_path, SAID, {}, held))
        assert locking.try_lock(tmp_path / APPENDING) is None
    with ExitStack() as held:
        assert not list(conversations(tmp_path, Words(["nobody said this"]), {}, held))
        lock = locking.try_lock(tmp_path / APPENDING)
        assert lock is not None
        lock.release()

"""Past conversations: what of them is indexed, and that it is found, cited and forgotten."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.memory.base import SESSIONS, Query, Recall
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.local import LocalMemory
from assistant.memory.sources.conversations import read, rendered
from assistant.memory.sources.library import Library
from assistant.session import transcript
from assistant.session.adopting import Message, adopt, find
from assistant.session.entries import (
    AssistantEntry,
    AttachmentEntry,
    CitedPassage,
    CompactionEntry,
    Entry,
    RecalledEntry,
    TitleEntry,
    ToolResultEntry,
    UserEntry,
)
from assistant.session.transcript import session_ids
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace

PLUMBER = "The plumber is Okonkwo, she comes on Thursdays"


def left(place: Workspace, *entries: Entry) -> str:
    """A session that holds these; its id."""
    session = transcript.create(place.sessions)
    for entry in entries:
        session.append(entry)
    session.close()
    return session.session


@pytest.fixture
def memory(workspace: Workspace, embedder: PolyglotEmbedder) -> Iterator[LocalMemory]:
    opened = LocalMemory(workspace, Settings(), embedder)
    yield opened
    opened.close()


def search(memory: LocalMemory, words: str) -> Recall:
    return memory.recall(Query(words, k=3, within=SESSIONS))


def test_a_message_stays_one_item_whatever_markdown_it_holds() -> None:
    lines = [
        {
            "type": "user",
            "id": "e1",
            "time": "2026-03-01T12:00:00Z",
            "text": "Why?\n# Because\n```",
        },
        {"type": "tool_result", "id": "e2", "time": "", "content": "secret listing"},
        {"type": "user", "id": "e3", "time": "2026-03-01T12:01:00Z", "text": "wait", "joins": True},
        {"type": "assistant", "id": "e4", "time": "2026-03-02T12:00:00Z", "text": "So."},
    ]
    data = b"{torn\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    conversation = read(data)
    text, places = rendered(conversation)
    assert [(said.turn, said.day) for _, said in places] == [
        (1, "2026-03-01"),
        (1, "2026-03-01"),
        (1, "2026-03-02"),
    ]
    assert [text.split("\n")[line - 1] for line, _ in places] == [
        "- You: Why?",
        "- You: wait",
        "- Assistant: So.",
    ]
    assert "  # Because\n  ```\n" in text
    assert "listing" not in text


@pytest.mark.parametrize(("parent", "asked"), [("", "You"), ("20260101-000000-abc", "Assistant")])
def test_what_a_subtask_was_asked_is_not_the_owner_s(
    tmp_path: Path, parent: str, asked: str
) -> None:
    session = transcript.Transcript("20260101-000000-abc.1", tmp_path / "it.jsonl", parent=parent)
    session.append(UserEntry("Find the boat"))
    session.append(AssistantEntry("In the harbour"))
    session.close()
    conversation = read((tmp_path / "it.jsonl").read_bytes())
    assert conversation.title == "Find the boat"
    assert [message.speaker for message in conversation.said] == [asked, "Assistant"]


def test_turns_are_found_by_words_and_by_meaning_and_cited(
    workspace: Workspace, memory: LocalMemory
) -> None:
    cited = RecalledEntry((CitedPassage("x", "MEMORY.md:3", "The zebra fact"),))
    name = left(
        workspace,
        UserEntry("Plan my week"),
        AssistantEntry("Gladly."),
        UserEntry(PLUMBER),
        cited,
        ToolResultEntry("c1", "shell", "zebra listing"),
        AttachmentEntry("Picture 1 of shell", "(a zebra)", "0.png", call_id="c1"),
        AssistantEntry("Noted."),
        CompactionEntry("They spoke of craftsmen", "e6", 2, 900, 10),
        TitleEntry("Repairs"),
    )
    left(workspace, UserEntry("A recipe for rye bread"), AssistantEntry("Flour, water, salt."))
    for words in ("okonkwo", "who repairs the pipes at home?"):
        best = search(memory, words).passages[0]
        assert (best.source, best.start_line, best.heading) == (name, 2, ("Repairs",))
        assert PLUMBER in best.text and best.date
    assert all("zebra" not in each.text for each in search(memory, "zebra").passages)
    assert memory.recall(Query("okonkwo plumber")).passages == ()  # memory itself knows nothing


def test_what_is_added_purged_or_deleted_is_so_at_once(
    workspace: Workspace, memory: LocalMemory
) -> None:
    name = left(workspace, UserEntry(PLUMBER))
    assert search(memory, "plumber").passages
    transcript.borrow(workspace.sessions, name).append(UserEntry("The gardener is Tanaka"))
    assert search(memory, "gardener Tanaka").passages[0].start_line == 2
    memory.purge((), past=[PLUMBER], sessions=True)
    assert all("Okonkwo" not in each.text for each in search(memory, "plumber").passages)
    held = [path for path in workspace.index.rglob("*") if path.is_file()]
    assert held and not any(b"Okonkwo" in path.read_bytes() for path in held)
    (workspace.sessions / f"{name}.jsonl").unlink()
    assert search(memory, "gardener Tanaka").passages == ()


def is_indexed(workspace: Workspace, words: bytes) -> bool:
    return any(words in path.read_bytes() for path in workspace.sessions_index.glob("catalog.db*"))


def test_they_are_indexed_as_soon_as_memory_is_open(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    left(workspace, UserEntry("The gardener is Tanaka"))
    library = Library(workspace, Settings(), embedder)
    library.refresh()
    deadline = time.monotonic() + 60
    while not is_indexed(workspace, b"Tanaka"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    library.close()


def test_they_are_indexed_before_anybody_asks(
    workspace: Workspace, embedder: PolyglotEmbedder
) -> None:
    library = Library(workspace, Settings(), embedder, ahead_seconds=0.01)
    for said in (PLUMBER, "The gardener is Tanaka"):
        left(workspace, UserEntry(said))
        words = said.split()[-1].encode()
        deadline = time.monotonic() + 60
        while not is_indexed(workspace, words):
            assert time.monotonic() < deadline
            library.refresh()
            time.sleep(0.01)
    library.close()


def imported(place: Workspace, *messages: Message) -> str:
    """A conversation that was imported; its id."""
    name = str(len(session_ids(place.sessions)))
    adopt(place.sessions, "ChatGPT", name, messages, read=False)
    place.imported.touch()
    session = find(place.sessions, "ChatGPT", name)
    assert session
    return session


def in_a_turn(memory: LocalMemory, words: str, *without: str) -> list[str]:
    """The addresses of what past conversations give to a turn."""
    search(memory, words)  # waits until they are indexed
    found = memory.recall(Query(words, turn=True, without=without)).passages
    return [passage.citation for passage in found if passage.source.startswith("20")]


def test_a_turn_gets_what_an_imported_conversation_says_one_passage_of_each(
    workspace: Workspace, memory: LocalMemory
) -> None:
    (workspace.root / "MEMORY.md").write_text("# Memory\n\n- Lena paints in oil\n")
    first = imported(workspace, UserEntry(PLUMBER), UserEntry("Okonkwo, the plumber, has a van"))
    question = "on which day does the plumber Okonkwo come?"
    asked = imported(workspace, UserEntry(question))
    second = imported(workspace, UserEntry("Call the plumber Okonkwo about the boiler"))
    assert in_a_turn(memory, question) == [f"{first}:1", f"{second}:1"]
    assert in_a_turn(memory, question, SESSIONS) == []
    assert f"{first}:1" not in in_a_turn(memory, PLUMBER)
    assert asked not in str(in_a_turn(memory, PLUMBER))
    assert memory.recall(Query(question)).passages[0].source == "MEMORY.md"


def test_what_was_said_here_is_no_turns_for_its_owner_may_have_taken_it_out_of_memory(
    workspace: Workspace, memory: LocalMemory
) -> None:
    (workspace.root / "MEMORY.md").write_text("# Memory\n\n- Lena paints in oil\n")
    imported(workspace, UserEntry("A recipe for rye bread, please"))
    left(workspace, UserEntry(PLUMBER), AttachmentEntry("log", PLUMBER))
    adopt(workspace.sessions, "Claude Code", "c", [UserEntry(PLUMBER)])
    assert search(memory, "when does the plumber come?").passages
    assert in_a_turn(memory, "when does the plumber Okonkwo come?") == []


def test_a_conversation_that_fits_no_better_than_a_fact_stays_out_of_a_turn(
    workspace: Workspace, memory: LocalMemory
) -> None:
    (workspace.root / "MEMORY.md").write_text(f"# Memory\n\n- {PLUMBER}\n")
    imported(workspace, UserEntry("What a lovely morning"), AssistantEntry("Indeed it is"))
    assert in_a_turn(memory, "when does the plumber come?") == []
    assert in_a_turn(memory, "which wine goes with fish?") == []

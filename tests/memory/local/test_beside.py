"""Whoever reads waits for no writer, and for no large file."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from assistant.memory.base import Fact, Query, Recall
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.refresh import LARGE
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.support.hashing import HashingEmbedder

PATIENCE = 60
BULK = f"<!-- {'The harbour log. ' * (LARGE // 17)} -->\n\n"


class Held(HashingEmbedder):
    """Embeds nothing about the harbour until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.let_go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if any("harbour master" in text for text in texts) and len(texts) > 1:
            self.reached.set()
            assert self.let_go.wait(PATIENCE)
        return super().embed(texts)


@pytest.fixture
def embedder() -> Held:
    return Held()


@pytest.fixture
def memory(workspace: Workspace, embedder: Held) -> Iterator[LocalMemory]:
    opened = LocalMemory(workspace, Settings(), embedder, resident=True)
    opened.remember([Fact("The spare key is with Ada")])
    yield opened
    embedder.let_go.set()
    opened.close()


def ask(memory: LocalMemory, words: str) -> Recall:
    return memory.recall(Query(words))


def test_recall_answers_while_a_large_file_is_indexed_and_says_so(
    workspace: Workspace, memory: LocalMemory, embedder: Held
) -> None:
    large = workspace.root / "memory" / "log.md"
    large.parent.mkdir()
    large.write_text(f"{BULK}- The harbour master is Ole\n- The tide is at noon\n")
    found = ask(memory, "Who has the spare key?")
    assert found.passages[0].text == "- The spare key is with Ada"
    assert found.behind == ("memory/log.md",)
    assert "memory/log.md" in found.notices[0]
    assert embedder.reached.wait(PATIENCE)
    (stored,) = memory.remember([Fact("The boat leaves at seven")])
    assert stored.id
    assert ask(memory, "When does the boat leave?").passages[0].id == stored.id
    embedder.let_go.set()
    ends = time.monotonic() + PATIENCE
    while (found := ask(memory, "Who is the harbour master?")).behind:
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert found.passages[0].text == "- The harbour master is Ole"
    assert not found.notices


def test_reading_waits_for_no_write(workspace: Workspace, memory: LocalMemory) -> None:
    """A program has the memory file open: a write waits for it, and recall does not."""
    waits = threading.Event()
    with (workspace.root / "MEMORY.md").open("a"):
        writer = threading.Thread(target=_try, args=(memory, waits))
        writer.start()
        assert waits.wait(PATIENCE)
        assert ask(memory, "Who has the spare key?").passages
        assert memory.log()[0].text == "The spare key is with Ada"
        assert memory.waiting() == ()
        assert writer.is_alive()
    writer.join(PATIENCE)


def _try(memory: LocalMemory, begun: threading.Event) -> None:
    begun.set()
    memory.remember([Fact("The well has dried up")])


def test_a_reader_sees_one_state_whatever_is_written_meanwhile(
    workspace: Workspace, memory: LocalMemory
) -> None:
    catalog = memory.index.store.catalog
    with catalog.reading():
        before = catalog.count(), len(catalog.layout()), catalog.generation
        writer = threading.Thread(target=memory.remember, args=([Fact("A new one")],))
        writer.start()
        writer.join(PATIENCE)
        assert (catalog.count(), len(catalog.layout()), catalog.generation) == before
        assert not catalog.is_latest
    assert catalog.count() == before[0] + 1

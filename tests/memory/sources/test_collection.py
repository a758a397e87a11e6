"""Corpora beside memory while they are indexed: large files a stretch at a time, nobody waits."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from assistant.memory.base import Query
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.sources import conversations
from assistant.memory.sources.collection import Collection
from assistant.memory.sources.conversations import Conversations
from assistant.memory.text.chunk import Chunker
from assistant.session import transcript
from assistant.session.entries import UserEntry
from assistant.settings.sections import IndexSettings, MemorySettings
from assistant.workspace.folder import Workspace
from tests.memory.index.reading import of_source
from tests.support.hashing import HashingEmbedder

MESSAGES = 400
"""Of a conversation that takes some four stretches."""


class Counting(HashingEmbedder):
    """Counts the texts of each call; those of a large session wait until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if any("barge" in text for text in texts):
            self.may_go_on.wait(60)
        self.calls.append(len(texts))
        return super().embed(texts)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


def left(workspace: Workspace, said: Sequence[str]) -> str:
    """The file of a session in which this was said."""
    session = transcript.create(workspace.sessions)
    for each in said:
        session.append(UserEntry(each))
    session.close()
    return f"{session.session}.jsonl"


def large(workspace: Workspace) -> str:
    said = (
        f"The barge {n} lies in harbour {n * 7}, " + f"berth {n} " * 70 for n in range(MESSAGES)
    )
    return left(workspace, [*said, "The pilot is Umarov"])


def opened(workspace: Workspace, embedder: Counting) -> Synchronizer:
    return Synchronizer(
        Conversations(workspace),
        embedder,
        IndexSettings(),
        read=conversations.text,
    )


@pytest.fixture
def collection(workspace: Workspace, embedder: Counting) -> Iterator[Collection]:
    index = opened(workspace, embedder)
    made = Collection("sessions", Conversations(workspace), index, embedder, MemorySettings())
    yield made
    embedder.may_go_on.set()
    made.close()


def test_a_large_file_that_is_broken_off_is_gone_on_with_and_nothing_embedded_twice(
    workspace: Workspace, embedder: Counting
) -> None:
    name = large(workspace)
    index, rounds = opened(workspace, embedder), 0
    made = 0

    def stop() -> bool:
        return len(embedder.calls) > made

    while index.refresh(stop=stop).left:
        made = len(embedder.calls)
        assert index.store.catalog.count() == 0
        rounds += 1
        if rounds == 1:  # what is left is indexed after another start
            index.close()
            index = opened(workspace, embedder)
    held = of_source(index.store.catalog, name)
    text = conversations.text(name, (workspace.sessions / name).read_bytes())
    wanted = Chunker(embedder.count_tokens, embedder.max_tokens)(text, name)
    assert held == [*wanted]
    assert rounds >= 1 and max(embedder.calls) < MESSAGES / 2
    assert embedder.embedded <= len({chunk.plain for chunk in held}) + 2  # and its headings
    index.close()


def test_nobody_waits_for_a_large_session_and_the_others_are_indexed_before_it(
    workspace: Workspace, embedder: Counting, collection: Collection
) -> None:
    large(workspace)
    left(workspace, ["The gardener is Tanaka"])
    embedder.may_go_on.clear()
    deadline = time.monotonic() + 60
    while not (found := collection.recall(Query("gardener Tanaka"), wait=False)):
        assert time.monotonic() < deadline
    assert "Tanaka" in found[0].text
    (notice,) = collection.notices
    assert notice.startswith("sessions: 1 of 2 still being indexed")
    embedder.may_go_on.set()
    while collection.unread:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "Umarov" in collection.recall(Query("the pilot Umarov"))[0].text
    assert collection.notices == ()

"""Memory beside a Chroma server, whatever becomes of that."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assistant.errors import MemoryFailure
from assistant.memory.base import Fact, MemoryStatus, Query
from assistant.memory.index.chroma import WRITE_TIMEOUT, ServerStore, collection_name
from assistant.memory.index.dense import DenseIndex
from assistant.memory.local import LocalMemory
from assistant.settings.sections import IndexSettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.support.chroma import ChromaServer, wrong_server
from tests.support.hashing import HashingEmbedder

FACTS = [f"Guest {n} of the inn left parcel {n * 7919 % 10007}" for n in range(50)]
PATIENCE = 60
GARBAGE = json.dumps({"ids": [["a", "b"]], "distances": [["near", None]], "heartbeat": 7}).encode()
WRONG = {
    "hangs": None,
    "noise": b"\x00\xff no HTTP at all\r\n\r\n",
    "garbage": b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(GARBAGE), GARBAGE),
    "refuses": b"HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\n{}",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChromaServer]:
    made = ChromaServer(tmp_path / "server")
    yield made
    made.stop()


@pytest.fixture
def guests(workspace: Workspace) -> Workspace:
    text = "".join(f"- {fact}\n" for fact in FACTS)
    (workspace.root / "MEMORY.md").write_text(text, encoding="utf-8")
    return workspace


def opened(workspace: Workspace, url: str, told: list[str] | None = None) -> LocalMemory:
    settings = Settings(index=IndexSettings(url=url))
    told = [] if told is None else told
    return LocalMemory(workspace, settings, HashingEmbedder(), notify=told.append)


def finds(memory: LocalMemory) -> bool:
    """Whether recall finds a fact by its words, sooner than a write would give up."""
    begun = time.monotonic()
    found = memory.recall(Query(FACTS[7]))
    return found.passages[0].text.endswith(FACTS[7]) and time.monotonic() - begun < WRITE_TIMEOUT


def reached(memory: LocalMemory, holds: Callable[[MemoryStatus], bool]) -> bool:
    """Whether the state of memory comes to be so."""
    ends = time.monotonic() + PATIENCE
    while not (so := holds(memory.status())) and time.monotonic() < ends:
        time.sleep(0.1)
    return so


def is_whole(state: MemoryStatus) -> bool:
    assert state.server
    return not state.server.lacks and not state.server.trouble


@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_gone_wrong_costs_no_answer_and_is_told_once(
    guests: Workspace, wrong: str
) -> None:
    told: list[str] = []
    with wrong_server(WRONG[wrong]) as url:
        memory = opened(guests, url, told)
        memory.refresh()
        assert finds(memory)
        assert finds(memory)
        written = memory.remember([Fact("The well has dried up")])
        assert written[0].status == "stored"
        assert memory.rebuild().chunks == len(FACTS) + 1
        state = memory.status()
        assert state.server
        assert state.server.url == url
        assert state.server.trouble
        assert state.server.lacks == len(FACTS) + 1
        assert finds(memory)
        memory.close()
    assert [url in each for each in told] == [True]


def test_a_server_that_went_and_came_back_empty_is_filled_again(
    guests: Workspace, server: ChromaServer
) -> None:
    server.start()
    told: list[str] = []
    memory = opened(guests, server.url, told)
    assert reached(memory, is_whole)
    assert finds(memory)
    server.wipe()
    assert finds(memory)
    assert memory.rebuild().chunks == len(FACTS)
    assert "cannot be reached" in memory.status().notices[-1]
    server.start()
    assert reached(memory, is_whole)
    assert finds(memory)
    assert sum("cannot be reached" in each for each in told) == 1
    memory.close()


@pytest.mark.slow
def test_what_a_server_lost_is_told_each_time_and_filled_though_nobody_asks(
    guests: Workspace, server: ChromaServer
) -> None:
    server.start()
    told: list[str] = []
    memory = opened(guests, server.url, told)
    assert reached(memory, is_whole)
    dense = memory.index.store.dense
    for times in (1, 2):
        server.wipe()
        server.start()
        ends = time.monotonic() + 30
        while dense.trouble or not _holds(dense, len(FACTS)):
            assert time.monotonic() < ends
            time.sleep(0.5)
        assert finds(memory)
        assert sum("filled again" in each for each in told) == times
    memory.close()


def _holds(dense: DenseIndex, count: int) -> bool:
    with contextlib.suppress(MemoryFailure):
        return dense.count() == count
    return False


def test_a_server_that_hangs_once_it_was_open_is_told_of_soon(
    guests: Workspace, server: ChromaServer
) -> None:
    server.start()
    memory = opened(guests, server.url)
    assert reached(memory, is_whole)
    server.hang()
    assert finds(memory)
    with pytest.raises(MemoryFailure, match="does not answer in time"):
        memory.unowned()
    assert memory.rebuild().chunks == len(FACTS)
    memory.close()


def test_threads_that_open_a_server_at_once_find_it_open(server: ChromaServer) -> None:
    server.start()
    store = ServerStore(IndexSettings(url=server.url), {"root": "x"}, Path("x"))
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: store.count(), range(8))) == {0}
    store.close()


def test_vectors_of_another_dimension_on_the_server_are_replaced(
    guests: Workspace, server: ChromaServer
) -> None:
    import chromadb

    server.start()
    memory = opened(guests, server.url)
    assert reached(memory, is_whole)
    mine = collection_name(memory.index.store.owner)
    client = chromadb.HttpClient(port=int(server.url.rsplit(":", 1)[1]))
    for _ in range(20):  # memory may heal between any two of these
        with contextlib.suppress(chromadb.errors.NotFoundError):
            client.delete_collection(mine)
        with contextlib.suppress(chromadb.errors.ChromaError):
            other = client.create_collection(mine, embedding_function=None)
            other.upsert(ids=["x"], embeddings=[[1.0, 0.0, 0.0]])
            break
    else:
        pytest.fail("no collection of another dimension could be put in place")
    client.close()  # type: ignore[attr-defined]
    assert finds(memory)
    assert reached(memory, is_whole)
    assert finds(memory)
    memory.close()


def test_collections_that_nobody_owns_are_listed_and_removed(
    guests: Workspace, server: ChromaServer, tmp_path: Path
) -> None:
    server.start()
    other = Workspace(tmp_path / "other")
    other.root.mkdir()
    (other.root / "MEMORY.md").write_text("- Once\n", encoding="utf-8")
    for workspace in (other, guests):
        memory = opened(workspace, server.url)
        assert reached(memory, is_whole)
        assert memory.unowned() == ()
        if workspace is other:
            memory.close()
    other.root.rename(tmp_path / "elsewhere")
    assert [each.vectors for each in memory.unowned()] == [1]
    assert [each.vectors for each in memory.unowned(remove=True)] == [1]
    assert memory.unowned() == () and is_whole(memory.status())
    memory.close()


def test_without_a_server_there_are_no_collections(guests: Workspace) -> None:
    memory = LocalMemory(guests, Settings(), HashingEmbedder())
    with pytest.raises(MemoryFailure, match="in the workspace"):
        memory.unowned()
    assert memory.status().server is None
    memory.close()

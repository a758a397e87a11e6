"""What grows with a memory and what does not, in counts: statements, files read, embeddings."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from assistant.memory.base import Fact, Query
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.local import LocalMemory
from assistant.memory.search.recall import Recaller
from assistant.memory.text.markdown import plain
from assistant.memory.writing import edits
from assistant.settings.sections import IndexSettings, MemorySettings
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from scripts.benchmark.facts import facts, queries, write_many, write_single
from tests.support.hashing import HashingEmbedder

FACTS = 4000
OPENED: list[str] | None = None


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if OPENED is not None and event == "open" and str(arguments[0]).endswith(".md"):
        OPENED.append(Path(str(arguments[0])).name)


sys.addaudithook(_listen)


@contextmanager
def files_opened() -> Iterator[list[str]]:
    """The names of the markdown files that Python opens meanwhile."""
    global OPENED
    OPENED = names = []
    try:
        yield names
    finally:
        OPENED = None


def opened(root: Path, size: int) -> tuple[Synchronizer, HashingEmbedder]:
    (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    write_many(root, facts(size))
    embedder = HashingEmbedder()
    index = Synchronizer(Workspace(root), embedder, IndexSettings())
    index.refresh()
    index.store.dense.drain()
    return index, embedder


@contextmanager
def traced(index: Synchronizer) -> Iterator[list[str]]:
    """The SQL statements that run on the catalog meanwhile, without FTS5's own."""
    seen: list[str] = []
    with index.store.catalog.database.using() as db:
        db.set_trace_callback(lambda each: None if each.startswith("--") else seen.append(each))
    yield seen
    with index.store.catalog.database.using() as db:
        db.set_trace_callback(None)


def statements(index: Synchronizer, embedder: HashingEmbedder, asked: list[str]) -> int:
    """The most SQL statements that one of these recalls runs on the catalog."""
    recaller = Recaller(index.store, embedder, MemorySettings())
    recaller.recall(Query(asked[0]))  # what is worked out once in a process
    most = 0
    with traced(index) as seen:
        for query in asked:
            seen.clear()
            assert recaller.recall(Query(query)).passages
            most = max(most, len(seen))
    return most


def test_a_recall_runs_as_many_statements_in_a_large_memory_as_in_a_small_one(
    tmp_path: Path,
) -> None:
    most = {}
    for size in (100, FACTS):
        root = tmp_path / str(size)
        root.mkdir()
        index, embedder = opened(root, size)
        most[size] = statements(index, embedder, queries(facts(size), 40))
        index.close()
    assert most[FACTS] <= 30
    assert most[FACTS] <= most[100] + 10


def settle(index: Synchronizer) -> None:
    """Refresh until every file is old enough to be trusted by its stat, and none is opened."""
    while True:
        with files_opened() as names:
            index.refresh()
        if not names:
            return


@pytest.mark.parametrize("edited", ["0000.md", pytest.param("0002.md", marks=pytest.mark.slow)])
def test_an_edit_reads_its_own_file_and_embeds_its_own_line(tmp_path: Path, edited: str) -> None:
    index, embedder = opened(tmp_path, FACTS)
    settle(index)
    before = embedder.embedded
    path = tmp_path / "memory" / edited
    head, rest = path.read_text(encoding="utf-8").split("\n- ", 1)
    path.write_text(f"{head}\n- The spare key hangs in the shed.\n- {rest}", encoding="utf-8")
    with files_opened() as names:
        done = index.refresh()
    index.close()
    assert done.changed == (f"memory/{edited}",)
    assert embedder.embedded - before == 1
    assert set(names) == {edited}


@pytest.mark.slow
def test_an_answer_after_an_edit_reads_the_vectors_of_what_chroma_was_not_told(
    tmp_path: Path,
) -> None:
    index, embedder = opened(tmp_path, FACTS)
    line = "The spare key hangs in the shed."
    with (tmp_path / "memory" / "0001.md").open("a", encoding="utf-8") as file:
        file.write(f"- {line}\n")
    index.refresh()
    catalog, dense = index.store.catalog, index.store.dense
    layout, vector = catalog.layout(), embedder.embed([line])[0]
    with traced(index) as seen:
        places, cosines = dense.nearest(layout, vector, 5)
    assert catalog.chunks(layout.rowid[places[:1]].tolist())[0].plain == line
    assert cosines[0] > 0.99
    read = [each for each in seen if "JOIN vectors v ON v.id = n.value" in each]
    assert sum(each.count(",") for each in read) < 10
    index.close()


def test_a_remember_reads_its_file_as_often_as_the_guard_needs(workspace: Workspace) -> None:
    """Read for the draft, at the swap, and for the index."""
    path = workspace.root / "MEMORY.md"
    path.write_text("# Memory\n\n" + "- A fact that takes its place\n" * 2_000, encoding="utf-8")
    memory = LocalMemory(workspace, Settings(), HashingEmbedder())
    memory.remember([Fact("The first one makes the heading")])
    unsettled = ["?"]
    while unsettled:  # until the file is old enough to be trusted by its stat
        with files_opened() as unsettled:
            memory.refresh()
    with files_opened() as names:
        memory.remember([Fact("The spare key hangs in the shed")])
    memory.close()
    assert names == ["MEMORY.md"] * 3


def test_status_parses_no_block_again_while_an_erased_fact_is_offered(workspace: Workspace) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text("# Memory\n\n" + "".join(f"- Crate {n}\n" for n in range(500)), "utf-8")
    memory = LocalMemory(workspace, Settings(), HashingEmbedder())
    memory.remember([Fact("The first one makes the heading")])
    older = path.read_bytes()
    memory.remember([Fact("The spare key hangs in the shed")])
    path.write_bytes(older)
    assert memory.erased()
    parsed = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal parsed
        parsed += event == "call" and frame.f_code is plain.__code__

    sys.setprofile(count)
    try:
        assert any("The spare key" in notice for notice in memory.status().notices)
    finally:
        sys.setprofile(None)
        memory.close()
    assert parsed < 5


def test_a_batch_looks_through_a_section_once(workspace: Workspace) -> None:
    path = write_single(workspace.root, facts(1000))
    memory = LocalMemory(workspace, Settings(), HashingEmbedder())
    memory.remember([Fact("The first one makes the heading")])
    folded = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal folded
        if event == "call" and frame.f_code is edits._folded.__code__:
            folded += len(frame.f_locals["text"])

    sys.setprofile(count)
    try:
        memory.remember([Fact(f"Crate {n} holds apples") for n in range(20)])
    finally:
        sys.setprofile(None)
        memory.close()
    assert 0 < folded < path.stat().st_size


@pytest.mark.slow
def test_a_purge_does_not_wait_until_chroma_is_filled_after_the_last(tmp_path: Path) -> None:
    index, _ = opened(tmp_path, FACTS)
    dense = index.store.dense
    again = threading.Thread(target=dense.refill)
    told: list[int] = []

    def progress(what: str, done: int, total: int) -> None:
        told.append(done)
        if not again.is_alive():
            again.start()
            again.join(0.2)

    dense.refill()
    dense.drain(progress)
    again.join()
    assert told and max(told) < FACTS
    dense.drain()
    assert dense.count() == index.store.catalog.count()
    index.close()

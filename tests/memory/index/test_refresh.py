"""The index follows the files: real files, real SQLite, real Chroma."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from assistant.disk.storage import stat_of
from assistant.errors import StorageError
from assistant.memory.embedding.embedder import Vectors
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index import refresh
from assistant.memory.index.catalog import Catalog
from assistant.memory.index.corpus import TICK_NS, UNPROVEN, decoded, file_clock_ns, read_file
from assistant.memory.index.layout import Rows
from assistant.memory.index.refresh import GROUP, INDEXING, Synchronizer
from assistant.memory.index.store import SPARE_PER_CHUNK, SPARE_VECTORS
from assistant.memory.index.vector_cache import cache_path
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from tests.memory.index.reading import all_vectors, of_source, rows_of, state
from tests.support.hashing import HashingEmbedder

Open = Callable[..., Synchronizer]


@pytest.fixture
def hashing() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def told() -> list[str]:
    """The notices of the indexes that `start` opens."""
    return []


@pytest.fixture
def start(workspace: Workspace, hashing: HashingEmbedder, told: list[str]) -> Iterator[Open]:
    """Opens the index of the workspace; all are closed at the end."""
    opened: list[Synchronizer] = []

    def begin(embedder: object = hashing, **options: object) -> Synchronizer:
        index = Synchronizer(workspace, embedder, IndexSettings(), notify=told.append, **options)  # type: ignore[arg-type]
        opened.append(index)
        return index

    yield begin
    for index in opened:
        index.close()


def write(workspace: Workspace, text: str, source: str = "MEMORY.md") -> None:
    path = workspace.root / source
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def many(count: int) -> str:
    """A memory of so many facts under dated headings."""
    lines = ["# Memory\n"]
    for number in range(count):
        if number % 50 == 0:
            lines.append(f"\n## Remembered -- 2026-{number // 50 % 12 + 1:02}-01\n")
        lines.append(f"- fact {number}: {number * 7919 % 10007} met {number * 31 % 997}\n")
    return "".join(lines)


def plains(index: Synchronizer, source: str = "MEMORY.md") -> list[str]:
    return [chunk.plain for chunk in of_source(index.store.catalog, source)]


def ids(index: Synchronizer) -> list[str]:
    return [
        chunk.id
        for name in index.store.catalog.sources()
        for chunk in of_source(index.store.catalog, name)
    ]


def cached(path: Path) -> int:
    """The vectors in a cache that is not open."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])


def nearest(index: Synchronizer, vector: Vectors, limit: int) -> tuple[Rows, Vectors]:
    """The rows of the nearest chunks and their cosines."""
    layout = index.store.catalog.layout()
    places, cosines = index.store.dense.nearest(layout, vector, limit)
    return layout.rowid[places], cosines


def agrees(index: Synchronizer, workspace: Workspace) -> None:
    """Every range reproduces its text, and Chroma holds exactly the catalog's chunks."""
    for source in workspace.sources():
        text = (workspace.root / source).read_bytes().decode().removeprefix("\ufeff")
        lines = text.replace("\r\n", "\n").split("\n")
        for chunk in of_source(index.store.catalog, source):
            assert text[chunk.start_char : chunk.end_char] == chunk.text
            span = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
            assert chunk.text.replace("\r\n", "\n") in span
    index.store.dense.drain()
    assert index.store.dense.count() == index.store.catalog.count()
    assert index.store.catalog.outbox.size == 0


def test_a_file_is_found_changed_and_gone(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, "- tea\n- coffee\n")
    write(workspace, "- Anna\n", "memory/people.md")
    assert index.refresh().changed == ("MEMORY.md", "memory/people.md")
    assert plains(index) == ["tea", "coffee"]
    write(workspace, "- tea\n- cake\n")
    (workspace.root / "memory" / "people.md").unlink()
    assert set(index.refresh().changed) == {"MEMORY.md", "memory/people.md"}
    assert plains(index) == ["tea", "cake"]
    assert list(index.store.catalog.sources()) == ["MEMORY.md"]
    agrees(index, workspace)


def test_nothing_changed_costs_nothing(
    workspace: Workspace, start: Open, hashing: HashingEmbedder
) -> None:
    index = start()
    write(workspace, many(20))
    index.refresh()
    generation, embedded = index.store.catalog.generation, hashing.embedded
    os.utime(workspace.root / "MEMORY.md", (1, 1))
    for _ in range(3):
        assert index.refresh().changed == ()
    assert index.store.catalog.generation == generation
    assert hashing.embedded == embedded


def test_two_saves_within_a_tick_of_the_clock_are_both_seen(
    workspace: Workspace, start: Open
) -> None:
    index = start()
    path = workspace.root / "MEMORY.md"
    write(workspace, "- code 4711\n")
    index.refresh()
    before = path.stat()
    with path.open("r+") as file:
        file.write("- code 4712\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    index.refresh()
    assert plains(index) == ["code 4712"]


def test_a_file_just_written_is_read_again_and_one_at_rest_is_not(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    before = file_clock_ns()
    path.write_text("- code 4711\n", encoding="utf-8")
    assert before <= path.stat().st_mtime_ns  # no later than a change made from now on
    stat, _ = read_file(str(path))
    assert stat.inode == UNPROVEN
    time.sleep(TICK_NS / 1e9 + 0.05)
    stat, _ = read_file(str(path))
    assert stat == stat_of(str(path))


def test_a_line_at_the_top_embeds_itself_alone(
    workspace: Workspace, start: Open, hashing: HashingEmbedder
) -> None:
    index = start()
    write(workspace, many(5000))
    index.refresh()
    rows = rows_of(index.store.catalog)
    total, made = index.store.catalog.vectors.embedded_total, hashing.embedded
    write(workspace, "- a new line\n\n" + many(5000))
    assert index.refresh().embedded <= 12
    assert index.store.catalog.vectors.embedded_total - total <= 12
    assert hashing.embedded - made <= 12
    after = rows_of(index.store.catalog)
    assert {id_: after[id_] for id_ in rows} == rows
    agrees(index, workspace)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ranges_are_exact_with_a_mark_and_either_newline(
    workspace: Workspace, start: Open, newline: str
) -> None:
    index = start()
    write(workspace, "\ufeff" + many(30).replace("\n", newline))
    index.refresh()
    write(workspace, "\ufeff- first 🙂" + newline + many(30).replace("\n", newline) + "- no end")
    index.refresh()
    assert index.store.catalog.count() == 32
    agrees(index, workspace)


def test_a_renamed_heading_embeds_nothing(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, "## Tea\n\n- green\n- black\n")
    index.refresh()
    write(workspace, "## Drinks\n\n- green\n- black\n")
    assert index.refresh().embedded == 0
    assert of_source(index.store.catalog, "MEMORY.md")[0].heading == ("Drinks",)
    agrees(index, workspace)


def test_the_same_text_is_embedded_once(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, "## A\n\n- tea\n- tea\n\n## B\n\n- tea\n")
    write(workspace, "- tea\n", "memory/more.md")
    assert index.refresh().embedded == 1
    assert index.store.catalog.count() == 4
    agrees(index, workspace)


@pytest.mark.parametrize(
    ("data", "why", "read"),
    [
        (b"- caf\xe9\n- tea\n", "byte 5", ["caf\ufffd", "tea"]),
        (b"- a\0b\n- tea\n", "zero byte at 3", ["a\ufffdb", "tea"]),
        ("- tea\n".encode("utf-16"), "zero byte at 3", ["old"]),
    ],
)
def test_of_a_file_that_is_no_text_what_can_be_read_is_indexed(
    workspace: Workspace, start: Open, data: bytes, why: str, read: list[str]
) -> None:
    index = start()
    write(workspace, "- old\n", "memory/bad.md")
    index.refresh()
    (workspace.root / "memory" / "bad.md").write_bytes(data)
    write(workspace, "- new\n")
    for _ in range(2):
        (notice,) = index.refresh().faults
        assert "memory/bad.md" in notice
        assert why in notice
        assert "Save it as UTF-8" in notice
    assert plains(index) == ["new"]
    assert plains(index, "memory/bad.md") == read
    write(workspace, "- mended\n", "memory/bad.md")
    assert index.refresh().faults == ()
    assert plains(index, "memory/bad.md") == ["mended"]


def test_a_fault_is_told_as_long_as_it_lasts_and_its_file_is_not_read_again(
    workspace: Workspace, start: Open
) -> None:
    readings = []

    def read(name: str, data: bytes) -> str:
        readings.append(name)
        return decoded(name, data)

    index = start(read=read)
    write(workspace, "<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n")
    time.sleep(TICK_NS / 1e9 + 0.05)
    for _ in range(3):
        (fault,) = index.refresh().faults
        assert fault.startswith("MEMORY.md has an unresolved merge conflict (line 1)")
    index.close()
    index = start(read=read)
    assert index.refresh().faults == (fault,)
    assert readings == ["MEMORY.md"]
    (workspace.root / "MEMORY.md").write_bytes(b"\0" * 100)
    (fault,) = index.refresh().faults
    assert fault.startswith("MEMORY.md is not UTF-8 text (a zero byte at 0)")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, "- old\n", "memory/closed.md")
    index.refresh()
    (workspace.root / "memory" / "closed.md").chmod(0)
    write(workspace, "- newer\n")
    os.utime(workspace.root / "memory" / "closed.md", (1, 1))
    (notice,) = index.refresh().faults
    assert "memory/closed.md cannot be read" in notice
    assert plains(index, "memory/closed.md") == ["old"]


def test_a_deleted_index_is_made_again_with_the_same_ids(
    workspace: Workspace, start: Open, told: list[str]
) -> None:
    index = start()
    write(workspace, many(120))
    index.refresh()
    index.store.dense.drain()
    before = ids(index)
    while workspace.index.exists():  # Chroma's own threads may still write
        shutil.rmtree(workspace.index, ignore_errors=True)
    index.refresh()
    assert any("deleted" in notice for notice in told)
    assert ids(index) == before
    agrees(index, workspace)


@pytest.mark.parametrize("alive", [True, False])
def test_a_deleted_chroma_is_filled_again_without_embedding(
    workspace: Workspace, start: Open, told: list[str], hashing: HashingEmbedder, alive: bool
) -> None:
    index = start()
    write(workspace, many(120))
    index.refresh()
    index.store.dense.drain()
    made, total = hashing.embedded, index.store.catalog.vectors.embedded_total
    if not alive:
        index.close()
    shutil.rmtree(workspace.index / "chroma")
    if not alive:
        index = start()
    index.refresh()
    query = hashing.embed(["fact 7"])[0]
    assert len(nearest(index, query, 5)[0]) == 5
    agrees(index, workspace)
    assert any("filled again" in notice for notice in told)
    assert hashing.embedded == made + 1
    assert index.store.catalog.vectors.embedded_total == total


def test_a_rebuild_embeds_nothing_and_keeps_the_ids(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, many(120))
    index.refresh()
    before = ids(index)
    done = index.rebuild()
    assert (done.changed, done.embedded) == (("MEMORY.md",), 0)
    assert ids(index) == before
    agrees(index, workspace)


@pytest.mark.parametrize("name", ["catalog.db", "chroma/chroma.sqlite3", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damage_to_any_file_is_mended_and_told(
    workspace: Workspace, start: Open, told: list[str], name: str, damage: str
) -> None:
    index = start()
    write(workspace, many(300))
    index.refresh()
    index.store.dense.drain()
    before = ids(index)
    index.close()
    path = workspace.index / name
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(data[:half] if damage == "cut" else bytes(b ^ 0xFF for b in data))
    (workspace.index / "catalog.sum").unlink()
    (workspace.index / "chroma.open").touch()
    index = start()
    index.refresh()
    assert ids(index) == before
    agrees(index, workspace)
    index.refresh()
    assert name == "manifest.json" or told
    assert all("\n" not in notice for notice in told)


@pytest.mark.parametrize("tries", [8, pytest.param(150, marks=pytest.mark.slow)])
def test_a_bit_that_flips_in_a_closed_index_hides_nothing(
    workspace: Workspace, start: Open, told: list[str], tries: int
) -> None:
    write(workspace, many(400))
    index = start()
    index.refresh()
    before = state(index.store.catalog)
    index.close()
    path, draw = workspace.index / "catalog.db", random.Random(3)
    for _ in range(tries):
        data = bytearray(path.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        told.clear()
        index = start()
        index.refresh()
        assert state(index.store.catalog) == before
        assert told
        index.close()


@pytest.mark.parametrize("name", ["catalog.db", "chroma", "manifest.json", "catalog.sum"])
def test_what_lies_in_the_way_of_the_catalog_is_replaced(
    workspace: Workspace, start: Open, name: str
) -> None:
    write(workspace, many(20))
    index = start()
    index.refresh()
    index.store.dense.drain()
    before = ids(index)
    index.close()
    path = workspace.index / name
    path.unlink() if path.is_file() else shutil.rmtree(path)
    path.write_text("in the way") if name == "chroma" else path.mkdir()
    index = start()
    index.refresh()
    assert ids(index) == before
    agrees(index, workspace)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_in_the_place_of_the_index_gives_way(
    workspace: Workspace, start: Open, kind: str
) -> None:
    write(workspace, many(20))
    workspace.private.mkdir()
    if kind == "file":
        workspace.index.write_text("in the way")
    else:
        workspace.index.symlink_to("/unplugged/index")
    index = start()
    assert index.refresh().changed == ("MEMORY.md",)
    agrees(index, workspace)


@pytest.mark.parametrize("key", ["root", "machine", "user", "embedder", "schema"])
def test_an_index_from_elsewhere_is_not_used(
    workspace: Workspace, start: Open, told: list[str], key: str
) -> None:
    index = start()
    write(workspace, "- tea\n")
    index.refresh()
    index.close()
    path = workspace.index / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: "other"}))
    index = start()
    done = index.refresh()
    assert (done.changed, done.embedded) == (("MEMORY.md",), 0)  # the vectors lie elsewhere
    assert "rebuilt" in told[0]


def test_no_index_is_made_where_the_workspace_was(workspace: Workspace, start: Open) -> None:
    """Not even where Chroma, which was just being opened, has made its folder anew."""
    index = start()
    index.refresh()
    index.store.dense.drain()
    workspace.root.rename(workspace.root.with_name("moved"))
    (workspace.index / "chroma").mkdir(parents=True)
    with pytest.raises(StorageError, match="no longer the folder"):
        index.refresh()
    assert {path.name for path in workspace.index.rglob("*")} <= {"chroma"}


@pytest.mark.parametrize("alive", [True, False])
def test_a_deleted_index_comes_back_with_no_embedding(
    workspace: Workspace, start: Open, hashing: HashingEmbedder, alive: bool
) -> None:
    index = start()
    write(workspace, many(50))
    index.refresh()
    before, made = ids(index), hashing.embedded
    if not alive:
        index.close()
    shutil.rmtree(workspace.index)
    if not alive:
        index = start()
    assert index.refresh().changed == ("MEMORY.md",)
    assert (ids(index), hashing.embedded) == (before, made)
    agrees(index, workspace)


@pytest.mark.parametrize("how", ["gone", "garbled", "another's"])
def test_vectors_that_are_lost_are_made_again_and_told(
    workspace: Workspace, start: Open, told: list[str], hashing: HashingEmbedder, how: str
) -> None:
    index = start()
    write(workspace, many(50))
    index.refresh()
    before, made = ids(index), hashing.embedded
    index.close()
    vectors = cache_path(workspace.root)
    if how == "garbled":
        vectors.write_bytes(b"no database" * 999)
    else:
        vectors.unlink()
    if how == "another's":
        other = Catalog(workspace.root / "other.db", vectors)
        other.vectors.put([b"k" * 16] * 1, hashing.embed(["x"]), 1)
        other.close()
        made += 1
    index = start()
    index.refresh()
    assert "rebuilt" in told[0]
    assert (ids(index), hashing.embedded) == (before, 2 * made - (how == "another's"))
    agrees(index, workspace)


def test_the_cache_of_vectors_is_private_bounded_and_reached_by_a_scrub(
    workspace: Workspace, start: Open
) -> None:
    index = start()
    write(workspace, many(1500))
    index.refresh()
    vectors = cache_path(workspace.root)
    assert vectors.stat().st_mode & 0o077 == vectors.parent.stat().st_mode & 0o077 == 0
    write(workspace, "- tea\n")
    index.close()
    index = start()
    index.refresh()
    index.close()
    assert cached(vectors) == 1 + SPARE_VECTORS + SPARE_PER_CHUNK
    index = start()
    index.scrub()
    assert cached(vectors) == 1


def test_another_model_makes_another_index(workspace: Workspace, start: Open) -> None:
    write(workspace, "- tea\n")
    index = start()
    index.refresh()
    index.close()
    index = start(HashingEmbedder(32))
    assert index.refresh().embedded == 1
    assert all_vectors(index.store.catalog).shape == (1, 32)
    agrees(index, workspace)


def test_new_content_is_shown_to_the_observer_once(workspace: Workspace, start: Open) -> None:
    seen: list[tuple[str, str, str]] = []
    index = start(on_change=lambda source, text, digest: seen.append((source, text, digest)))
    write(workspace, "- tea\n")
    index.refresh()
    index.refresh()
    assert seen == [("MEMORY.md", "- tea\n", sha256(b"- tea\n").hexdigest())]


def test_progress_is_told_and_ends_at_the_total(workspace: Workspace, start: Open) -> None:
    steps: list[tuple[str, int, int]] = []
    write(workspace, many(2000))
    start().refresh(lambda *step: steps.append(step))
    *embedded, files = steps
    done = [done for _, done, _ in embedded]
    assert len(done) > 2 and done == sorted({0, *done, 2000})
    assert {total for _, _, total in embedded} == {2000} and files == (INDEXING, 1, 1)


def test_progress_is_told_where_nothing_is_embedded(workspace: Workspace, start: Open) -> None:
    write_notes(workspace, 250)
    index = start()
    index.refresh()
    steps: list[tuple[str, int, int]] = []
    assert index.rebuild(lambda *step: steps.append(step)).embedded == 0
    files = [done for what, done, total in steps if (what, total) == (INDEXING, 251)]
    assert len(files) > 1 and files == sorted(files)


def test_a_search_sees_what_chroma_was_not_told_yet(
    workspace: Workspace, start: Open, hashing: HashingEmbedder
) -> None:
    index = start()
    write(workspace, many(200))
    index.refresh()
    dense = index.store.dense
    dense.drain()
    with dense._delivering:  # as long as this is held, Chroma is told nothing
        for number in range(20):
            write(workspace, many(200) + f"- pangolin number {number}\n")
            index.refresh()
            rows, cosines = nearest(index, hashing.embed([f"pangolin number {number}"])[0], 3)
            (best, *_) = index.store.catalog.chunks(rows.tolist())
            assert best.plain == f"pangolin number {number}"
            assert cosines[0] == pytest.approx(1.0, abs=1e-3)
        assert dense.count() == 200 and dense._in_step
    agrees(index, workspace)


def test_chroma_and_the_scan_agree(
    workspace: Workspace, start: Open, embedder: PolyglotEmbedder
) -> None:
    write(workspace, many(100))
    index = start(embedder)
    index.refresh()
    query = embedder.embed(["whom did number 42 meet?"])[0]
    rows, cosines = nearest(index, query, 10)
    index.store.dense.drain()
    again, approximate = nearest(index, query, 10)
    assert again.tolist() == rows.tolist()
    np.testing.assert_allclose(cosines, approximate, atol=2e-3)


class Recording(HashingEmbedder):
    """Keeps what it was given together."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return super().embed(texts)


def write_notes(workspace: Workspace, count: int) -> None:
    """So many files of four facts each."""
    for note in range(count):
        facts = "".join(f"- fact {note * 4 + n} met {note * 31 + n}\n" for n in range(4))
        write(workspace, facts, f"memory/note{note}.md")


def test_small_files_are_embedded_and_written_in_groups(workspace: Workspace, start: Open) -> None:
    write_notes(workspace, 120)
    recording = Recording()
    index = start(recording)
    assert len(index.refresh().changed) == 121
    groups = 1 + 120 * 5 // GROUP  # four facts and the file's name
    assert len(recording.batches) == groups and index.store.catalog.generation == groups
    assert max(map(len, recording.batches)) < GROUP + 5
    said = [text for batch in recording.batches for text in batch]
    assert len(said) == len({*said}) and recording.embedded == len(said)
    agrees(index, workspace)


def test_nothing_is_embedded_again_after_an_interruption(workspace: Workspace, start: Open) -> None:
    write_notes(workspace, 60)
    recording = Recording()
    index = start(recording)

    def some(names: list[str]) -> list[str]:
        known = index.store.catalog.sources()
        return [name for name in names if name not in known][:7]

    rounds = 0
    while index.refresh(order=some).changed:
        rounds += 1
    assert (rounds, index.refresh().changed) == (9, ())
    said = [text for batch in recording.batches for text in batch]
    assert len(said) == len({*said})


@pytest.mark.parametrize("parts", [1, 300])
def test_a_kill_while_indexing_costs_no_more_than_what_is_under_way(
    workspace: Workspace, start: Open, parts: int
) -> None:
    if parts == 1:
        write(workspace, many(2000))
    else:
        write_notes(workspace, parts)
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.support.hashing import HashingEmbedder\n"
        "from assistant.memory.index.refresh import GROUP, INDEXING, Synchronizer\n"
        "from assistant.settings.sections import IndexSettings\n"
        "from assistant.workspace.folder import Workspace\n"
        "calls = [1 if sys.argv[2] == '1' else 6]\n"
        "def stop(what, done, total):\n"
        f"    calls[0] -= what != {INDEXING!r}\n"
        "    if calls[0] < 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "index = Synchronizer(Workspace(Path(sys.argv[1])), HashingEmbedder(), IndexSettings())\n"
        "index.refresh(stop)"
    )
    command = [sys.executable, "-c", script, str(workspace.root), str(parts)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    index = start()
    # what 32,768 characters hold, or three groups of 52 notes
    total, kept = (2000, 1492) if parts == 1 else (1200, 3 * 4 * 52)
    assert index.refresh().embedded == total - kept
    assert index.store.catalog.vectors.embedded_total == total
    agrees(index, workspace)


def test_a_purge_leaves_nothing_of_a_fact(workspace: Workspace, start: Open) -> None:
    index = start()
    write(workspace, "- tea\n- the xylophone stands in the attic\n")
    index.refresh()
    index.store.dense.drain()
    write(workspace, "- tea\n")
    index.scrub()
    everything = b"".join(p.read_bytes() for p in workspace.index.rglob("*") if p.is_file())
    assert b"xylophon" not in everything.lower()
    agrees(index, workspace)


def test_the_index_is_private_and_has_a_size(workspace: Workspace, start: Open) -> None:
    index = start()
    index.refresh()
    assert workspace.index.stat().st_mode & 0o077 == 0
    assert (workspace.index / "catalog.db").stat().st_mode & 0o077 == 0
    assert index.store.size() > 4096


def test_the_size_is_known_while_a_folder_of_the_index_is_thrown_away(
    workspace: Workspace, start: Open
) -> None:
    index, doomed = start(), [workspace.index / "old"]
    index.refresh()
    doomed[0].mkdir()

    def throw_away(event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.scandir" and doomed and str(arguments[0]) == str(doomed[0]):
            doomed.pop().rmdir()

    sys.addaudithook(throw_away)
    assert index.store.size() > 4096
    assert not doomed


class Held(HashingEmbedder):
    """Embeds once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.began = threading.Event(), threading.Event()
        self.at_once = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.at_once:
            self.at_once -= 1
            return super().embed(texts)
        self.began.set()
        assert self.may.wait(60)
        return super().embed(texts)


def test_nobody_is_answered_from_an_empty_index_while_another_fills_it(
    start: Open, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it holds something, the answer comes from what it holds."""
    monkeypatch.setattr(refresh, "PATIENCE", 0.0)
    write(workspace, "- The spare key hangs in the shed.\n")
    embedder = Held()
    index = start(embedder)
    with ThreadPoolExecutor() as threads:
        filling = threads.submit(index.refresh)
        assert embedder.began.wait(60)
        asking = threads.submit(index.refresh_unless_busy)
        assert not asking.done()
        embedder.may.set()
        assert filling.result().embedded == 1
        assert asking.result() is not None
        embedder.may.clear()
        embedder.began.clear()
        write(workspace, "- The spare key hangs in the shed.\n- The boiler is serviced in May.\n")
        filling = threads.submit(index.refresh)
        assert embedder.began.wait(60)
        assert index.refresh_unless_busy() is None
        embedder.may.set()
        assert filling.result().embedded == 1


def test_an_index_of_which_some_files_are_there_is_asked_at_once(
    start: Open, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "PATIENCE", 0.0)
    for name in ("a", "b", "c"):
        write(workspace, "".join(f"- {name} {n}\n" for n in range(GROUP)), f"memory/{name}.md")
    embedder = Held()
    embedder.at_once = 1
    index = start(embedder)
    with ThreadPoolExecutor() as threads:
        filling = threads.submit(index.refresh)
        assert embedder.began.wait(60)
        while not index.store.catalog.count():
            assert not filling.done()
            time.sleep(0.01)
        assert index.refresh_unless_busy() is None
        embedder.may.set()
        assert filling.result().embedded == 3 * GROUP

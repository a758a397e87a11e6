"""Chroma, embedded and as a real server."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import MemoryFailure
from assistant.memory.embedding.embedder import Vectors, normalized
from assistant.memory.index.chroma import (
    EmbeddedStore,
    ServerStore,
    VectorsDamaged,
    VectorStore,
)
from assistant.settings.sections import IndexSettings
from tests.support.hashing import HashingEmbedder

VECTORS: Vectors = normalized(np.random.default_rng(1).normal(size=(2500, 16)).astype(np.float32))
IDS = [f"id{number}" for number in range(len(VECTORS))]
Make = Callable[[Path], VectorStore]


@pytest.fixture(params=["embedded", "server"])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes the store of a workspace, embedded or on a real server."""
    if request.param == "embedded":
        return embedded
    settings = IndexSettings(url=request.getfixturevalue("chroma").url)
    return lambda folder: ServerStore(settings, {"root": str(folder)}, folder)


def embedded(folder: Path) -> EmbeddedStore:
    return EmbeddedStore(folder / "chroma", {"root": "x"})


@pytest.fixture
def store(tmp_path: Path, make: Make) -> Iterator[VectorStore]:
    opened = make(tmp_path)
    yield opened
    opened.close()


def test_what_is_put_is_found_nearest_first(store: VectorStore) -> None:
    store.upsert(IDS, VECTORS)
    assert store.count() == len(IDS)
    ids, cosines = store.query(VECTORS[7], 10)
    assert ids[0] == "id7"
    expected = np.sort(VECTORS @ VECTORS[7])[::-1]
    np.testing.assert_allclose(cosines[0], expected[0], atol=1e-4)
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
    exact = dict(zip(IDS, (VECTORS @ VECTORS[7]).tolist(), strict=True))
    np.testing.assert_allclose(cosines, [exact[id_] for id_ in ids], atol=1e-4)


@pytest.mark.slow
def test_a_text_that_stands_apart_is_nearly_always_found_by_its_own_words(tmp_path: Path) -> None:
    hashing = HashingEmbedder()
    alike = hashing.embed([f"fact {n}: {n * 7919 % 10007} met {n * 31 % 997}" for n in range(200)])
    apart = hashing.embed([f"pangolin number {n}" for n in range(4)])
    missed = 0
    for seed in range(24):
        store = EmbeddedStore(tmp_path / f"chroma{seed}", {"root": "x"})
        order = np.random.default_rng(seed).permutation(len(alike))
        for some in np.split(order, 4):
            store.upsert([f"alike{n}" for n in some], alike[some])
        for number in range(4):
            store.upsert([f"apart{number}"], apart[number : number + 1])
            store.delete([f"apart{number - 1}"])
            missed += store.query(apart[number], 3)[0][0] != f"apart{number}"
        store.close()
    assert missed <= 5  # of 96; some 12 with Chroma's own settings, one or none with ours


def test_upserting_replaces_and_deleting_removes(store: VectorStore) -> None:
    store.upsert(IDS[:3], VECTORS[:3])
    store.upsert(IDS[:1], VECTORS[9:10])
    assert store.query(VECTORS[9], 1)[0] == ["id0"]
    store.delete(["id0", "never there"])
    store.delete([])
    assert sorted(store.query(VECTORS[0], 5)[0]) == ["id1", "id2"]


def test_more_is_asked_than_there_is(store: VectorStore) -> None:
    assert store.query(VECTORS[0], 5)[0] == []
    store.upsert(IDS[:2], VECTORS[:2])
    assert len(store.query(VECTORS[0], 50)[0]) == 2


def test_a_reset_empties_it(store: VectorStore) -> None:
    store.upsert(IDS[:5], VECTORS[:5])
    store.reset()
    assert store.count() == 0
    store.upsert(IDS[:1], VECTORS[:1])
    assert store.count() == 1


def test_names_keep_workspaces_apart(tmp_path: Path, make: Make) -> None:
    stores = [make(tmp_path / name) for name in ("a", "b")]
    stores[0].upsert(IDS[:2], VECTORS[:2])
    assert [each.count() for each in stores] == [2, 0]
    for each in stores:
        each.close()


def test_closed_it_can_be_opened_again(tmp_path: Path) -> None:
    for expected in (0, 1, 1):
        store = embedded(tmp_path)
        assert store.count() == expected
        store.upsert(IDS[:1], VECTORS[:1])
        store.close()
        with pytest.raises(MemoryFailure, match="closed"):
            store.count()
    assert not (tmp_path / "chroma.open").exists()


def test_a_deleted_directory_is_noticed(tmp_path: Path) -> None:
    store = embedded(tmp_path)
    store.upsert(IDS[:5], VECTORS[:5])
    assert not store.lost()
    shutil.rmtree(tmp_path / "chroma")
    assert store.lost()
    store.reset()
    assert not store.lost()
    assert store.count() == 0
    store.close()


def test_after_a_kill_it_is_thrown_away(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; import numpy as np\n"
        "from assistant.memory.index.chroma import EmbeddedStore\n"
        "store = EmbeddedStore(Path(sys.argv[1]), {'root': 'x'})\n"
        "store.upsert(['a', 'b'], np.eye(2, 16, dtype=np.float32)); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "chroma")], check=False)
    assert done.returncode == 9
    store = embedded(tmp_path)
    assert store.count() == 0
    store.close()


def test_damaged_data_is_told_and_can_be_replaced(tmp_path: Path) -> None:
    store = embedded(tmp_path)
    store.upsert(IDS[:5], VECTORS[:5])
    store.close()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"garbage " * 4000)
    store = embedded(tmp_path)
    with pytest.raises(VectorsDamaged):
        store.count()
    assert not store.ready
    store.reset()
    assert store.count() == 0
    store.close()


def test_nothing_is_made_where_the_workspace_was(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / ".assistant" / "index").mkdir(parents=True)
    store = embedded(root / ".assistant" / "index")
    root.rename(tmp_path / "moved")
    with pytest.raises(MemoryFailure, match="gone"):
        store.upsert(IDS[:1], VECTORS[:1])
    store.close()
    assert not root.exists()


def test_a_server_that_is_down_names_the_setting(tmp_path: Path) -> None:
    store = ServerStore(IndexSettings(url="http://127.0.0.1:9"), {"root": "x"}, tmp_path)
    with pytest.raises(MemoryFailure, match=r"127\.0\.0\.1:9") as raised:
        store.count()
    assert "index.url" in raised.value.cure
    store.close()


def test_closing_what_was_deleted_meanwhile_is_no_error(tmp_path: Path) -> None:
    store = embedded(tmp_path / "index")
    store.upsert(IDS[:10], VECTORS[:10])
    shutil.rmtree(tmp_path / "index")
    assert store.lost()
    store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_chroma_is_given_no_memory_that_holds_what_was_there_before(tmp_path: Path) -> None:
    """It writes unused memory to its files, where a purged vector was found once."""
    store = EmbeddedStore(tmp_path / "chroma", {"root": "x"})
    store.wait()
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    for size in (10_000, 100_000):
        place = library.malloc(size)
        assert ctypes.string_at(place, size).count(0x5A) == size  # glibc gives the complement
        library.free(place)
    store.close()


def test_what_reports_on_chroma_is_left_out_and_stays_there_for_others() -> None:
    said = """
import sys
from assistant.memory.index import chroma
chroma._load()
assert "chromadb" in sys.modules and "grpc" not in sys.modules
from opentelemetry.exporter.otlp.proto.grpc import trace_exporter
assert trace_exporter.OTLPSpanExporter is not None
"""
    subprocess.run([sys.executable, "-c", said], check=True)

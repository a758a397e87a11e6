"""Every file of the index cut or garbled, and its owner killed in the middle of native work.

Each time memory mends itself: the same ids, nothing missing, the owner told in one line.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.memory import client
from assistant.memory.base import Memory, Query
from assistant.memory.embedder import HashingEmbedder
from assistant.memory.service import LocalMemory
from assistant.settings import Settings
from assistant.workspace import Workspace

FACTS = [f"Guest {n} of the inn left parcel {n * 7919 % 10007}" for n in range(1100)]
"""More than Chroma keeps in its log before it writes its graph to files."""
ASKED = FACTS[::157]
PATIENCE = 90
"""Seconds until damage that is found in the background must have been told."""


class Inn:
    """A workspace, its index as it lies there while its owner runs, and what is recalled of it."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder / "workspace")
        self.workspace.root.mkdir()
        text = "".join(f"- {fact}\n" for fact in FACTS[:-1])
        path = self.workspace.root / "MEMORY.md"
        path.write_text(text, encoding="utf-8")
        self.image = folder / "image"
        memory = client.connect(self.workspace, {})
        memory.rebuild()  # returns when Chroma holds everything
        path.write_text(f"{text}- {FACTS[-1]}\n", encoding="utf-8")
        self.ids = ids(memory)
        shutil.copytree(self.workspace.index, self.image)
        memory.close()
        end_daemon(self.workspace)

    def files(self, name: str) -> Path:
        """The one file of the index of this name."""
        (found,) = self.workspace.index.rglob(name)
        return found

    def reset(self) -> None:
        """The index as it lay there, its owner killed."""
        shutil.rmtree(self.workspace.index, ignore_errors=True)
        shutil.copytree(self.image, self.workspace.index)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Inn:
    return Inn(tmp_path_factory.mktemp("inn").resolve())


@pytest.fixture
def inn(built: Inn) -> Iterator[Inn]:
    built.reset()
    yield built
    end_daemon(built.workspace)


def end_daemon(workspace: Workspace) -> None:
    status = client.daemon_status(workspace)
    if status is not None:
        os.kill(status.pid, signal.SIGKILL)


def ids(memory: Memory) -> list[str]:
    """The ids of some facts, each the best for its own words."""
    best = [memory.recall(Query(fact)).passages[0] for fact in ASKED]
    assert [passage.text for passage in best] == [f"- {fact}" for fact in ASKED]
    return [passage.id for passage in best]


def told(memory: Memory) -> tuple[str, ...]:
    """The notices, once there is one."""
    deadline = time.monotonic() + PATIENCE
    while not (notices := memory.status().notices) and time.monotonic() < deadline:
        memory.recall(Query(ASKED[0]))
    return notices


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


QUICK = [("catalog.db-wal", cut), ("data_level0.bin", cut), ("header.bin", flipped)]
NAMES = (
    "catalog.db", "catalog.db-wal", "chroma.sqlite3",
    "data_level0.bin", "header.bin", "length.bin", "link_lists.bin",
)  # fmt: skip
CASES = [
    pytest.param(
        name, damage, unclean, id=f"{name}-{damage.__name__}-{'killed' if unclean else 'closed'}",
        marks=[] if unclean and (name, damage) in QUICK else [pytest.mark.slow],
    )
    for name in NAMES for damage in (cut, flipped) for unclean in (True, False)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "damage", "unclean"), CASES)
def test_a_damaged_file_changes_no_answer(
    inn: Inn, name: str, damage: object, unclean: bool
) -> None:
    """`closed`: the damage came after a clean exit, so that nothing makes memory look closely."""
    assert callable(damage)
    path = inn.files(name)
    assert path.stat().st_size or name == "link_lists.bin"
    path.write_bytes(damage(path.read_bytes()) or b"x")
    if not unclean:
        for marker in inn.workspace.index.glob("*.open"):
            marker.unlink()
    memory = client.connect(inn.workspace, {})
    assert ids(memory) == inn.ids
    notices = told(memory) if name not in SILENT else memory.status().notices
    assert notices or name in SILENT
    assert all("\n" not in notice for notice in notices)
    assert ids(memory) == inn.ids
    assert memory.status().chunks == len(FACTS)
    memory.close()


SILENT = {"catalog.db", "catalog.db-wal", "link_lists.bin"}
"""What is lost with one of these may be had from another, or is not needed: nothing to tell then.
That a damaged catalog without a log is told, `test_sync.py` shows."""

KILLED = """
import signal, sys
from pathlib import Path
from assistant.memory.embedder import HashingEmbedder
from assistant.memory.service import LocalMemory
from assistant.settings import Settings
from assistant.workspace import Workspace
memory = LocalMemory(Workspace(Path(sys.argv[1])), Settings(), HashingEmbedder())
memory.rebuild()
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
while True:
    memory.rebuild()
"""


@pytest.mark.parametrize(
    "seconds",
    [0.05, *(pytest.param(n / 50, marks=pytest.mark.slow) for n in range(1, 40, 2))],
)
def test_an_owner_killed_while_chroma_works_leaves_nothing_wrong(inn: Inn, seconds: float) -> None:
    command = [sys.executable, "-c", KILLED, str(inn.workspace.root), str(seconds)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGALRM
    memory = LocalMemory(inn.workspace, Settings(), HashingEmbedder())
    assert ids(memory) == inn.ids
    assert memory.status().chunks == len(FACTS)
    memory.rebuild()
    assert ids(memory) == inn.ids
    memory.close()

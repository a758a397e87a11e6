"""Every file of the index cut or garbled, and its owner killed in the middle of native work.

Each time memory mends itself: the same ids, nothing missing, the owner told in one line.
"""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.memory.base import Keeper, Query, Recall
from assistant.memory.daemon import client, lifecycle
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import pid, running
from tests.support.hashing import HashingEmbedder

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
        self.images = {state: folder / state for state in ("killed", "closed")}
        memory = client.connect(self.workspace, {})
        memory.rebuild()  # returns when Chroma holds everything
        path.write_text(f"{text}- {FACTS[-1]}\n", encoding="utf-8")
        self.ids = ids(memory)
        daemon = pid(self.workspace)
        os.kill(daemon, signal.SIGSTOP)  # its files as a kill at this moment would leave them
        shutil.copytree(self.workspace.index, self.images["killed"])
        os.kill(daemon, signal.SIGCONT)
        memory.close()
        lifecycle.ask_to_yield(self.workspace)
        shutil.copytree(self.workspace.index, self.images["closed"])

    def files(self, name: str) -> Path:
        """The one file of the index of this name."""
        (found,) = self.workspace.index.rglob(name)
        return found

    def reset(self, state: str) -> None:
        """The index as it lay there when its owner was killed, or had closed it."""
        shutil.rmtree(self.workspace.index, ignore_errors=True)
        shutil.copytree(self.images[state], self.workspace.index)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Inn:
    return Inn(tmp_path_factory.mktemp("inn").resolve())


@pytest.fixture
def inn(built: Inn) -> Iterator[Inn]:
    built.reset("killed")
    yield built
    end_daemon(built.workspace)


def end_daemon(workspace: Workspace) -> None:
    """Kill it, and return once it is gone."""
    process = running(workspace)
    if process is not None:
        os.kill(process, signal.SIGKILL)
        lock = lifecycle.claim(workspace)
        assert lock is not None
        lock.release()


def answer(memory: Keeper, fact: str) -> Recall:
    """What is recalled, once no file is behind: a busy machine takes long to index again."""
    deadline = time.monotonic() + PATIENCE
    while (found := memory.recall(Query(fact))).behind and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def ids(memory: Keeper) -> list[str]:
    """The ids of some facts, each the best for its own words."""
    best = [answer(memory, fact).passages[0] for fact in ASKED]
    assert [passage.text for passage in best] == [f"- {fact}" for fact in ASKED]
    return [passage.id for passage in best]


def told(memory: Keeper) -> tuple[str, ...]:
    """The notices, once there is one."""
    deadline = time.monotonic() + PATIENCE
    while not (notices := memory.status().notices) and time.monotonic() < deadline:
        memory.recall(Query(ASKED[0]))
    return notices


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in data)


QUICK = [
    ("catalog.db-wal", cut, "killed"), ("header.bin", flipped, "closed"),
]  # fmt: skip
NAMES = (
    "catalog.db", "catalog.db-wal", "chroma.sqlite3",
    "data_level0.bin", "header.bin", "length.bin", "link_lists.bin",
)  # fmt: skip
CASES = [
    pytest.param(
        name, damage, state, id=f"{name}-{damage.__name__}-{state}",
        marks=[] if (name, damage, state) in QUICK else [pytest.mark.slow],
    )
    for name in NAMES for damage in (cut, flipped) for state in ("killed", "closed")
    if (name, state) != ("catalog.db-wal", "closed")  # a clean exit folds it into the catalog
]  # fmt: skip
SILENT = {
    (name, "killed") for name in ("catalog.db", "catalog.db-wal", "length.bin", "link_lists.bin")
}
"""Nothing to tell then: what is lost with the catalog or its log may be had from the other, and
Chroma answers the same without the two. After a clean exit their checksums tell all the same."""


@pytest.mark.parametrize(("name", "damage", "state"), CASES)
def test_a_damaged_file_changes_no_answer(
    inn: Inn, name: str, damage: Callable[[bytes], bytes], state: str
) -> None:
    inn.reset(state)
    path = inn.files(name)
    assert path.stat().st_size or name == "link_lists.bin"
    path.write_bytes(damage(path.read_bytes()) or b"x")
    with contextlib.closing(client.connect(inn.workspace, {})) as memory:
        assert ids(memory) == inn.ids
        silent = (name, state) in SILENT
        notices = memory.status().notices if silent else told(memory)
        assert notices or silent
        assert all("\n" not in notice for notice in notices)
        assert ids(memory) == inn.ids
        assert memory.status().chunks == len(FACTS)


KILLED = """
import signal, sys
from pathlib import Path
from tests.support.hashing import HashingEmbedder
from assistant.memory.local import LocalMemory
from assistant.settings.tree import Settings
from assistant.workspace.folder import Workspace
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
    opened = LocalMemory(inn.workspace, Settings(), HashingEmbedder())
    with contextlib.closing(opened) as memory:
        assert ids(memory) == inn.ids
        assert memory.status().chunks == len(FACTS)
        memory.rebuild()
        assert ids(memory) == inn.ids


DATA = "UPDATE chunks SET data = replace(data, {})"  # it becomes text, too
FLIPS = {
    "text": DATA.format("'Sardinha', 'Sardanha'"),
    "status": DATA.format("'current', 'superseded'"),
    "date": DATA.format("'2026-03-14', '2026-03-15'"),
    "heading": DATA.format("'Boats', 'Coats'"),
    "words": "UPDATE chunks SET plain = replace(plain, 'Sardinha', 'Sardinh')",
    "days": "UPDATE chunks SET days = substr(days, 2) WHERE days IS NOT NULL",
    "columns": "UPDATE sources SET layout = CAST(substr(layout, 1, length(layout) - 4)"
    " || x'00000001' AS BLOB)",
}


@pytest.mark.parametrize("flipped", FLIPS)
def test_what_is_read_of_the_catalog_for_an_answer_is_as_it_was_written(
    workspace: Workspace, flipped: str
) -> None:
    path = workspace.root / "MEMORY.md"
    path.write_text(
        "# Boats\n\n## Seen -- 2026-03-14\n\n- The boat is called Sardinha\n\n"
        "## Races\n\n- The regatta is on 2027-01-05\n",
        encoding="utf-8",
    )

    def answers(memory: LocalMemory) -> object:
        boats = memory.recall(Query("boat called Sardinha")).passages
        return boats, memory.due("2027-01-01", "2027-01-31")

    with contextlib.closing(LocalMemory(workspace, Settings(), HashingEmbedder())) as memory:
        before = answers(memory)
    (workspace.index / "catalog.sum").unlink()  # as after a kill
    with contextlib.closing(sqlite3.connect(workspace.index / "catalog.db")) as db, db:
        assert db.execute(FLIPS[flipped]).rowcount
    with contextlib.closing(LocalMemory(workspace, Settings(), HashingEmbedder())) as memory:
        assert answers(memory) == before
        assert any("index was damaged" in notice for notice in memory.status().notices)

"""That no file changed is taken from the kernel, and only where that is proof."""

import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assistant.disk.mounts import file_system
from assistant.memory.embedding.embedder import HashingEmbedder
from assistant.memory.index.reading import RACY_NS, is_alone_unchanged
from assistant.memory.index.sqlite.catalog import Source
from assistant.memory.index.sqlite.rows import Stat
from assistant.memory.index.still import LOCAL, Stillness
from assistant.memory.index.sync import Synchronizer
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Survey, Workspace

FOLDERS = ["", "memory", "memory/empty"]
SEEN = file_system(Path(os.environ.get("TMPDIR", "/tmp"))) in LOCAL


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory" / "empty").mkdir(parents=True)
    (tmp_path / "MEMORY.md").write_text("- Ada likes tea.\n", encoding="utf-8")
    (tmp_path / "memory" / "day.md").write_text("- Ada likes rye.\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def still(root: Path) -> Iterator[Stillness]:
    stillness = Stillness(root)
    for _ in range(2):
        stillness.begin()
        stillness.prove(FOLDERS, whole=True)
    yield stillness
    stillness.close()


def in_place(root: Path) -> None:
    with (root / "memory" / "day.md").open("r+b") as file:
        file.write(b"- Eve")


def in_place_with_its_times(root: Path) -> None:
    path = root / "memory" / "day.md"
    before = path.stat()
    in_place(root)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def by_rename(root: Path) -> None:
    (root / ".new").write_text("- Eve likes rye.\n", encoding="utf-8")
    (root / ".new").replace(root / "MEMORY.md")


def through_a_map(root: Path) -> None:
    with (root / "MEMORY.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[2:5] = b"Eve"


def new_in_an_empty_folder(root: Path) -> None:
    (root / "memory" / "empty" / "new.md").write_text("- New.\n", encoding="utf-8")


def gone(root: Path) -> None:
    (root / "memory" / "day.md").unlink()


def unreadable(root: Path) -> None:
    (root / "memory").chmod(0o300)


def another_in_its_place(root: Path) -> None:
    root.rename(root.with_name("moved"))
    root.mkdir()


CHANGES = [
    in_place, in_place_with_its_times, by_rename, through_a_map, new_in_an_empty_folder, gone,
    unreadable, another_in_its_place,
]  # fmt: skip


@pytest.mark.skipif(not SEEN, reason="the kernel does not see every change here")
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_ends_it_at_once(
    change: Callable[[Path], None], root: Path, still: Stillness
) -> None:
    (root / "MEMORY.md").read_bytes()
    assert still.lasts() and still.lasts()
    change(root)
    assert not still.lasts()
    assert not still.lasts()


def test_it_is_not_proven_by_a_look_before_the_kernel_was_asked(root: Path) -> None:
    still = Stillness(root)
    still.begin()
    still.prove(FOLDERS, whole=True)
    assert not still.lasts()
    still.begin()
    still.prove([*FOLDERS, "memory/gone"], whole=True)
    assert not still.lasts()
    still.close()


def test_a_file_of_two_names_or_a_link_is_looked_at(tmp_path: Path) -> None:
    path, other = tmp_path / "a.md", tmp_path / "b.md"
    path.write_text("- Ada likes tea.\n", encoding="utf-8")
    found = path.stat()
    stat = Stat(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = Source("a.md", stat, "", found.st_ctime_ns + 2 * RACY_NS, 1)
    assert is_alone_unchanged(str(path), known)
    other.symlink_to(path)
    assert not is_alone_unchanged(str(other), known)
    other.unlink()
    other.hardlink_to(path)
    assert not is_alone_unchanged(str(path), known)


@dataclass(frozen=True)
class Counted(Workspace):
    """A workspace that counts how often its files are listed."""

    surveys: list[int] = field(default_factory=list)

    def survey(self) -> Survey:
        self.surveys.append(1)
        return super().survey()


@pytest.mark.skipif(not SEEN, reason="the kernel does not see every change here")
def test_files_are_looked_at_again_only_when_something_changed(root: Path) -> None:
    workspace = Counted(root)
    index = Synchronizer(workspace, HashingEmbedder(), IndexSettings(), aside=True)
    index.refresh()
    time.sleep(RACY_NS / 1e9 + 0.1)
    for _ in range(3):
        index.refresh()
    before = len(workspace.surveys)
    for _ in range(3):
        index.refresh()
    assert len(workspace.surveys) == before
    in_place_with_its_times(root)
    assert index.refresh().changed == ("memory/day.md",)
    index.close()

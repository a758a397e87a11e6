"""The watcher on real files."""

import queue
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.memory.daemon.watcher import Watcher
from assistant.workspace.folder import Workspace
from tests.support.odd import deep_folders, leave_odd_entries

PATIENCE = 60.0
QUIET = 0.4

Start = Callable[[], "Signals"]


class Signals:
    """What a watcher reported, to be waited for."""

    def __init__(self) -> None:
        self._queue: queue.Queue[None] = queue.Queue()

    def put(self) -> None:
        self._queue.put(None)

    def wait(self) -> None:
        """Return at the next signal, having taken those that come with it."""
        self._queue.get(timeout=PATIENCE)
        self.settle()

    def settle(self) -> None:
        while not self.quiet(QUIET):
            pass

    def quiet(self, seconds: float) -> bool:
        try:
            self._queue.get(timeout=seconds)
        except queue.Empty:
            return True
        return False


@pytest.fixture
def start(workspace: Workspace) -> Iterator[Start]:
    running: list[Watcher] = []

    def begin() -> Signals:
        signals = Signals()
        running.append(Watcher(workspace, signals.put))
        signals.settle()
        return signals

    yield begin
    for watcher in running:
        watcher.stop()


def test_whatever_way_an_editor_saves(workspace: Workspace, start: Start) -> None:
    file, temporary = workspace.root / "MEMORY.md", workspace.root / ".MEMORY.md.swp"
    signals = start()
    file.write_text("# Memory\n- in place\n")
    signals.wait()
    temporary.write_text("# Memory\n- renamed\n")
    temporary.replace(file)
    signals.wait()
    file.rename(workspace.root / "MEMORY.md~")
    signals.wait()
    file.write_text("- again\n")
    signals.wait()
    file.unlink()
    signals.wait()


def test_memory_made_later_deleted_and_made_again(workspace: Workspace, start: Start) -> None:
    folder = workspace.root / "memory"
    signals = start()
    for _ in range(2):
        folder.mkdir()
        signals.settle()
        (folder / "people").mkdir()
        signals.settle()
        (folder / "people" / "anna.md").write_text("- Anna likes tea\n")
        signals.wait()
        (folder / "people" / "anna.md").write_text("- Anna likes green tea\n")
        signals.wait()
        shutil.rmtree(folder)
        signals.wait()


def test_a_folder_moved_in(workspace: Workspace, tmp_path: Path, start: Start) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a.md").write_text("- moved\n")
    signals = start()
    outside.rename(workspace.root / "memory")
    signals.wait()
    (workspace.root / "memory" / "a.md").write_text("- moved, then changed\n")
    signals.wait()


def test_odd_entries_do_not_blind_the_watch(workspace: Workspace, start: Start) -> None:
    with deep_folders(workspace.root):
        leave_odd_entries(workspace.root / "memory")
        signals = start()
        (workspace.root / "MEMORY.md").write_text("saved")
        signals.wait()


def test_our_own_reads_and_writes_are_no_change(workspace: Workspace, start: Start) -> None:
    (workspace.root / "memory").mkdir()
    (workspace.root / "memory" / "a.md").write_text("- a\n")
    (workspace.private / "index").mkdir(parents=True)
    signals = start()
    for _ in range(3):
        (workspace.root / "MEMORY.md").read_text()
        list((workspace.root / "memory").rglob("*.md"))
        (workspace.root / "memory" / "a.md").read_text()
        (workspace.private / "index" / "catalog.db").write_text("x")
        (workspace.root / "unrelated.txt").write_text("x")
    assert signals.quiet(1.0)


def test_nothing_is_reported_after_stop(workspace: Workspace) -> None:
    signals = Signals()
    Watcher(workspace, signals.put).stop()
    (workspace.root / "MEMORY.md").write_text("- late\n")
    assert signals.quiet(QUIET)

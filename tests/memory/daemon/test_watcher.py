"""The watcher on real files, by native events and by polling."""

import queue
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assistant.memory.daemon.watcher import Watch, on_network, watch
from assistant.workspace.folder import Workspace
from tests.support.odd import deep_folders, leave_odd_entries

PATIENCE = 20.0
QUIET = 0.4
POLL = 0.1

Start = Callable[[], "Signals"]


class Signals:
    """What a watch told, to be waited for."""

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


@pytest.fixture(params=["never", "always"])
def start(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Start]:
    """Starts a watch of the workspace, native or polling."""
    running: list[Watch] = []

    def begin() -> Signals:
        signals = Signals()
        running.append(watch(workspace, signals.put, request.param, POLL))
        signals.settle()
        return signals

    yield begin
    for each in running:
        each.stop()


def test_a_save_in_place(workspace: Workspace, start: Start) -> None:
    signals = start()
    (workspace.root / "MEMORY.md").write_text("# Memory\n- new\n")
    signals.wait()


def test_a_save_by_rename(workspace: Workspace, start: Start) -> None:
    signals = start()
    temporary = workspace.root / ".MEMORY.md.swp"
    temporary.write_text("# Memory\n- renamed\n")
    temporary.replace(workspace.root / "MEMORY.md")
    signals.wait()


def test_a_save_that_moves_the_old_file_away(workspace: Workspace, start: Start) -> None:
    signals = start()
    (workspace.root / "MEMORY.md").rename(workspace.root / "MEMORY.md~")
    signals.wait()


def test_a_file_deleted_and_made_again(workspace: Workspace, start: Start) -> None:
    signals = start()
    (workspace.root / "MEMORY.md").unlink()
    signals.wait()
    (workspace.root / "MEMORY.md").write_text("- again\n")
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


def test_odd_entries_do_not_blind_the_watch(workspace: Workspace) -> None:
    signals = Signals()
    with deep_folders(workspace.root):
        leave_odd_entries(workspace.root / "memory")
        running = watch(workspace, signals.put, "never")
        (workspace.root / "MEMORY.md").write_text("saved")
        signals.wait()
        running.stop()


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


def test_a_burst_is_one_signal(workspace: Workspace) -> None:
    signals = Signals()
    running = watch(workspace, signals.put, "never")
    with (workspace.root / "MEMORY.md").open("w") as file:
        for number in range(50):
            file.write(f"- {number}\n")
            file.flush()
    signals._queue.get(timeout=PATIENCE)
    extra = 0
    while not signals.quiet(QUIET):
        extra += 1
    running.stop()
    assert extra <= 3


def test_nothing_is_told_after_stop(workspace: Workspace) -> None:
    signals = Signals()
    watch(workspace, signals.put, "never").stop()
    (workspace.root / "MEMORY.md").write_text("- late\n")
    assert signals.quiet(QUIET)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/home/anna/notes", False), ("/home/anna/my share/x", True), ("/mnt/c/notes", True)],
)
def test_network_file_systems_are_known_by_their_mount(
    tmp_path: Path, path: str, expected: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\nserver:/x /home/anna/my\\040share nfs4 rw 0 0\n"
        "C:\\134 /mnt/c 9p rw 0 0\n"
    )
    assert on_network(Path(path), mounts) is expected


def test_auto_takes_native_events_on_a_local_disk(workspace: Workspace) -> None:
    running = watch(workspace, lambda: None, "auto")
    polling = running.polling
    running.stop()
    assert polling is on_network(workspace.root)

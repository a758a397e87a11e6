"""No byte of another program's is lost when a file is replaced, whatever it does meanwhile."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.disk import storage
from assistant.disk.exchange import Guard, writers
from assistant.errors import StorageError
from assistant.memory.writing.draft import Snapshot, read_file, replace_files
from tests.support.faults import FailingDisk, using
from tests.support.files import adorn, adornments

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2 and leases")
BRIEFLY = 0.05


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    (place / "f").write_bytes(b"old")
    return place / "f"


def alone(path: Path) -> bool:
    return list(path.parent.iterdir()) == [path]


def save(path: Path, data: bytes = b"ours", *, seen: bytes = b"old") -> bool:
    """Replace a file that was seen with these bytes, if it still has them."""
    there = read_file(path)
    return replace_files([(Snapshot(path, seen, there.stat), data)], patience=BRIEFLY)


class PlainDisk(storage.Disk):
    """A disk that cannot swap files, as some network ones."""

    def exchange(self, source: Path, target: Path) -> bool:
        return False


class BusyDisk(storage.Disk):
    """Lets something happen at the last moment: after the last look at the file."""

    def __init__(self, happen: Callable[[], object]) -> None:
        self._happen: Callable[[], object] | None = happen

    def exchange(self, source: Path, target: Path) -> bool:
        happen, self._happen = self._happen, None
        if happen is not None:
            happen()
        return super().exchange(source, target)


@pytest.mark.parametrize("disk", [storage.Disk(), PlainDisk()])
def test_a_file_that_is_not_as_it_was_seen_is_left(path: Path, disk: storage.Disk) -> None:
    with using(disk):
        assert not save(path, seen=b"else")
        assert path.read_bytes() == b"old"
        assert save(path)
        assert save(path.with_name("new"), seen=b"")
    assert path.read_bytes() == path.with_name("new").read_bytes() == b"ours"
    path.with_name("new").unlink()
    assert alone(path)


def test_a_file_that_was_made_meanwhile_is_left(path: Path) -> None:
    assert not replace_files([(Snapshot(path, b"", None), b"ours")])
    assert path.read_bytes() == b"old"
    assert alone(path)


@needs_linux
def test_a_save_by_rename_at_the_last_moment_is_put_back(path: Path) -> None:
    def rename() -> None:
        path.with_name("saved").write_bytes(b"theirs")
        path.with_name("saved").replace(path)

    with using(BusyDisk(rename)):
        assert not save(path)
    assert path.read_bytes() == b"theirs"
    assert alone(path)


def being_opened(path: Path) -> bool:
    """Whether somebody waits to open the file for writing."""
    inode = str(path.stat().st_ino)
    lines = Path("/proc/locks").read_text().splitlines()
    return any("BREAKING" in line and inode in line for line in lines)


@needs_linux
def test_a_save_in_place_at_the_last_moment_is_put_back(path: Path) -> None:
    program = f"with open({str(path)!r}, 'wb') as file: file.write(b'theirs')"
    editors = []

    def begin() -> None:
        editors.append(subprocess.Popen([sys.executable, "-c", program]))
        while not being_opened(path):
            assert editors[0].poll() is None

    with using(BusyDisk(begin)):
        assert not save(path)
    assert editors[0].wait() == 0
    assert path.read_bytes() == b"theirs"
    assert alone(path)


@needs_linux
@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC])
def test_a_file_that_is_open_for_writing_is_not_replaced(path: Path, flags: int) -> None:
    editor = os.open(path, flags)
    held = path.read_bytes()
    inode = path.stat().st_ino
    with pytest.raises(StorageError, match=f"f is open for writing in .*process {os.getpid()}"):
        save(path, seen=held)
    assert (path.read_bytes(), path.stat().st_ino) == (held, inode)
    assert alone(path)
    os.write(editor, b"theirs")
    os.close(editor)
    assert b"theirs" in path.read_bytes()
    assert save(path, seen=path.read_bytes())


@needs_linux
def test_a_save_that_is_under_way_is_waited_for_with_a_word(path: Path) -> None:
    results: list[bool] = []
    told = threading.Event()
    said: list[str] = []

    def tell(what: str) -> None:
        said.append(what)
        told.set()

    with path.open("rb+", buffering=0) as editor:  # it has the file open, and writes later
        replacing = threading.Thread(
            target=lambda: results.append(
                replace_files([(read_file(path), b"ours")], tell, patience=60)
            )
        )
        replacing.start()
        told.wait()
        assert path.read_bytes() == b"old"
        editor.write(b"theirs")
    replacing.join()
    assert results == [False]
    assert path.read_bytes() == b"theirs"
    assert len(said) == 1
    assert "Waiting for" in said[0]
    assert alone(path)


@needs_linux
def test_of_several_files_none_is_touched_while_one_is_open(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"old")
    with other.open("ab"), pytest.raises(StorageError, match="other is open"):
        replace_files([(read_file(path), b"ours"), (read_file(other), b"ours")], patience=BRIEFLY)
    assert path.read_bytes() == other.read_bytes() == b"old"


@needs_linux
def test_who_reads_a_file_is_no_writer(path: Path) -> None:
    with path.open("rb"):
        assert writers(path) == []
        assert save(path)
    with path.open("ab"):
        assert [f"process {os.getpid()}" in each for each in writers(path)] == [True]


@needs_linux
def test_a_guard_notices_who_wants_to_write(path: Path) -> None:
    guard = Guard(path)
    assert guard.take()
    assert guard.undisturbed()
    editor = subprocess.Popen([sys.executable, "-c", f"open({str(path)!r}, 'ab').close()"])
    while not being_opened(path):
        assert editor.poll() is None
    assert not guard.undisturbed()
    guard.close()
    assert editor.wait() == 0


@pytest.mark.parametrize("linked", [False, True])
def test_all_that_a_file_has_stays(path: Path, linked: bool) -> None:
    before = adorn(path)
    other = path.parent / "link"
    if linked:
        other.hardlink_to(path)
    assert save(path)
    assert adornments(path) == before
    assert path.read_bytes() == b"ours"
    if linked:
        assert other.samefile(path)


def test_a_file_with_other_names_is_whole_when_the_disk_fails(path: Path) -> None:
    path.with_name("link").hardlink_to(path)
    for nth in range(1, 20):
        path.write_bytes(b"old")
        with using(FailingDisk(nth, errno.ENOSPC)) as disk:
            try:
                save(path)
            except StorageError:
                assert path.read_bytes() in (b"old", b"ours")
        assert sorted(each.name for each in path.parent.iterdir()) == ["f", "link"]
        if disk.calls < nth:
            break
    assert nth > 4
    assert path.read_bytes() == b"ours"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_not_read(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)
    with pytest.raises(StorageError):
        read_file(path)


def test_what_is_too_large_to_be_indexed_is_not_read(path: Path) -> None:
    os.truncate(path, storage.LARGEST + 1)
    with pytest.raises(StorageError, match="larger than 256 MB"):
        read_file(path)

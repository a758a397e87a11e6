"""Files that survive: the old bytes or the new, never a part of either."""

import errno
import os
import stat
from pathlib import Path

import pytest

from assistant.disk import storage
from assistant.errors import StorageError
from tests.support.faults import FailingDisk, using
from tests.support.files import adorn, adornments


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir() if each.name not in ("home", "cache"))


def test_the_home_of_an_unknown_user_is_a_plain_name() -> None:
    assert storage.expanded("~/notes") == Path.home() / "notes"
    assert storage.expanded("~no-such-user/notes") == Path("~no-such-user/notes")


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_replace_that_fails_leaves_one_version_and_no_other_file(
    tmp_path: Path, code: int
) -> None:
    path = tmp_path / "f"
    for nth in range(1, 100):
        path.write_bytes(b"old")
        disk = FailingDisk(nth, code)
        with using(disk):
            try:
                storage.replace(path, b"new!")
            except StorageError:
                assert path.read_bytes() in {b"old", b"new!"}
            else:
                break
        assert names(tmp_path) == ["f"]
    assert nth == 5, "write, sync, rename and the directory's sync can fail"
    assert path.read_bytes() == b"new!"


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_an_append_that_fails_adds_nothing(tmp_path: Path, code: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\n")
    for nth in (1, 2):
        with using(FailingDisk(nth, code)), pytest.raises(StorageError):
            storage.append(path, b"two\n")
        assert path.read_bytes() == b"one\n"
        with using(FailingDisk(nth, code)), pytest.raises(StorageError):
            storage.append(tmp_path / "new", b"one\n")
        assert not (tmp_path / "new").exists()
    storage.append(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_replace_keeps_the_mode_and_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"a")
    real.chmod(0o640)
    link.symlink_to(real)
    storage.replace(link, b"b")
    assert link.is_symlink()
    assert real.read_bytes() == b"b"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_new_files_are_private(tmp_path: Path) -> None:
    storage.replace(tmp_path / "a", b"")
    storage.append(tmp_path / "b", b"")
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"} == {0o600}


def test_replace_keeps_owner_attributes_and_access_control_lists(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a")
    before = adorn(path)
    storage.replace(path, b"b")
    assert adornments(path) == before


def test_sweep_takes_only_what_a_killed_replace_left(tmp_path: Path) -> None:
    for name in ("a.md", f".a.md.x{storage.TEMPORARY}", ".a.md.swp", f".b.md.x{storage.TEMPORARY}"):
        (tmp_path / name).touch()
    storage.sweep(tmp_path / "a.md")
    assert names(tmp_path) == [".a.md.swp", f".b.md.x{storage.TEMPORARY}", "a.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named_with_a_cure(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="Check its permissions"):
        storage.replace(folder / "f", b"x")


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        storage.replace(tmp_path / "gone" / "f", b"x")
    with pytest.raises(StorageError, match="cannot be read"):
        storage.read(tmp_path)

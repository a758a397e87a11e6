"""What a turn changes is put back to the byte, what somebody changed since is left, and no path is
followed through a link."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.workspace import checkpoints
from assistant.workspace.checkpoints import Checkpoints, PassedOver, load, too_much

State = dict[str, tuple[int, str | bytes | None]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with files, a folder in a folder, an empty one, and a link."""
    root = tmp_path.resolve() / "root"
    (root / "diary/2026").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "diary/may.md").write_text("May was warm.\n")
    (root / "diary/2026/june").write_bytes(b"\x00\xff")
    (root / "list.txt").write_text("milk\n")
    (root / "run.sh").write_text("true\n")
    (root / "run.sh").chmod(0o755)
    (root / "latest").symlink_to("diary/may.md")
    return root


def state(root: Path) -> State:
    """All that is below a folder."""
    found: State = {}
    for path in sorted(root.rglob("*")):
        name, mode = str(path.relative_to(root)), path.lstat().st_mode
        if path.is_symlink():
            found[name] = mode, str(path.readlink())
        else:
            found[name] = mode, path.read_bytes() if path.is_file() else None
    return found


def destroyed(root: Path) -> None:
    (root / "diary/may.md").unlink()
    (root / "diary/2026/june").unlink()
    (root / "diary/2026").rmdir()
    (root / "diary").rmdir()
    (root / "diary").write_text("a file now\n")


def rewritten(root: Path) -> None:
    status = (root / "list.txt").stat()
    (root / "list.txt").write_text("MILK\n")
    os.utime(root / "list.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    (root / "run.sh").chmod(0o600)


def moved(root: Path) -> None:
    (root / "diary").rename(root / "journal")
    (root / "latest").unlink()
    (root / "latest").symlink_to("list.txt")
    (root / "empty").rmdir()


def added(root: Path) -> None:
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_text("x")


@pytest.mark.parametrize("change", [destroyed, rewritten, moved, added])
def test_what_a_command_did_is_put_back(
    root: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    before, kept = state(root), Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        change(root)
    assert state(root) != before
    checkpoint = load(tmp_path / "kept", "s", "e1")
    assert checkpoint.changed()
    assert checkpoint.restore()[1] == []
    assert state(root) == before
    assert not (tmp_path / "kept/s.e1").exists()


def test_the_first_file_of_an_empty_folder_goes(root: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root / "empty"]):
        (root / "empty/first").write_text("x")
    load(tmp_path / "kept", "s", "e1").restore()
    assert list((root / "empty").iterdir()) == []


def test_folders_that_were_made_for_a_file_go_with_it(root: Path, tmp_path: Path) -> None:
    before, kept = state(root), Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root / "new/deep/file"]):
        added(root)
    load(tmp_path / "kept", "s", "e1").restore()
    assert state(root) == before


def test_several_commands_of_a_turn_are_taken_back_to_its_beginning(
    root: Path, tmp_path: Path
) -> None:
    before, kept = state(root), Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    for change in (rewritten, added, destroyed):
        with kept.around([root]), kept.around([root / "list.txt"]):
            change(root)
    load(tmp_path / "kept", "s", "e1").restore()
    assert state(root) == before


def test_a_killed_command_is_taken_back_too(root: Path, tmp_path: Path) -> None:
    before, kept = state(root), Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        rewritten(root)
        moved(root)
    with kept.around([root / "list.txt"]):
        (root / "list.txt").write_text("by the model\n")
    with kept.around([root]):
        shutil.rmtree(root / "journal")
        (root / "list.txt").unlink()
        (root / "empty").mkdir()  # and here it is killed: nothing is compared yet
        assert load(tmp_path / "kept", "s", "e1").restore()[1] == []
        assert state(root) == before


def test_what_is_taken_back_is_kept(root: Path, tmp_path: Path) -> None:
    """After a kill nobody knows what the turn had changed, and what is the owner's work since."""
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        rewritten(root)
        added(root)  # and here it is killed
        (root / "diary/may.md").write_text("my own, since\n")
        load(tmp_path / "kept", "s", "e1").restore()
        found = {path.read_text() for path in (tmp_path / "kept/undone.s.e1/files").iterdir()}
    assert (root / "diary/may.md").read_text() == "May was warm.\n"
    assert found == {"my own, since\n", "MILK\n", "true\n", "x"} and not (root / "new").exists()


def test_what_somebody_changed_since_is_left(root: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        rewritten(root)
        added(root)
    kept.end()
    (root / "list.txt").write_text("my own\n")
    (root / "new/mine").write_text("mine")
    restored, left = load(tmp_path / "kept", "s", "e1").restore()
    assert left == [str(root / "list.txt"), str(root / "new")]
    assert (root / "list.txt").read_text() == "my own\n"
    assert (root / "new/mine").exists() and not (root / "new/deep").exists()
    assert str(root / "run.sh") in restored


def test_what_changed_nothing_leaves_nothing(root: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        (root / "list.txt").write_text("milk\n")
    assert not list((tmp_path / "kept").iterdir())
    kept.end()
    with kept.around([root]):
        destroyed(root)
    assert not list((tmp_path / "kept").iterdir())


def test_nothing_is_read_or_written_through_a_link(root: Path, tmp_path: Path) -> None:
    keys, kept = tmp_path / "keys", Checkpoints(tmp_path / "kept")
    keys.mkdir()
    (keys / "may.md").write_text("secret")
    (root / "keys").symlink_to(keys)
    kept.begin("s", "e1")
    with kept.around([root]):
        (root / "diary/may.md").write_text("planted")
    diary, aside = root / "diary", root / "aside"
    diary.rename(aside)
    diary.symlink_to(keys)
    checkpoint = load(tmp_path / "kept", "s", "e1")
    assert checkpoint.restore() == ([], [str(root / "diary/may.md")])
    assert (keys / "may.md").read_text() == "secret"
    copies = (tmp_path / "kept").rglob("files/*")
    assert not any(b"secret" in copy.read_bytes() for copy in copies)


def test_what_is_too_much_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert too_much([root]) == ""
    monkeypatch.setattr(checkpoints, "MOST_FILES", 3)
    assert too_much([root]) == "there are more than 3 files"
    assert too_much([root], lambda path: path.endswith("diary")) != ""
    monkeypatch.setattr(checkpoints, "MOST_FILES", 100)
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 5)
    assert "MB" in too_much([root])


def test_checkpoints_go_after_a_while_and_when_they_are_too_many(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Checkpoints(tmp_path / "kept")
    for turn in ("e1", "e2", "e3"):
        kept.begin("s", turn)
        with kept.around([root / "list.txt"]):
            (root / "list.txt").write_text(f"milk for {turn}\n" * 10)
    old = time.time() - checkpoints.KEPT_SECONDS - 1
    os.utime(tmp_path / "kept/s.e1", (old, old))
    kept.begin("s", "e4")
    with kept.around([root / "list.txt"]):
        (root / "list.txt").write_text("")
    assert {each.name for each in (tmp_path / "kept").iterdir()} == {"s.e2", "s.e3", "s.e4"}
    monkeypatch.setattr(checkpoints, "KEPT_BYTES", 1)
    kept.begin("s", "e5")
    with kept.around([root / "list.txt"]):
        (root / "list.txt").write_text("bread\n")
    assert len(list((tmp_path / "kept").iterdir())) <= 2


def test_what_changes_after_the_turn_is_not_the_turns(root: Path, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):  # a job that goes on
        (root / "list.txt").write_text("by the job\n")
        kept.end()
        (root / "list.txt").write_text("by the owner\n")
        (root / "new.txt").write_text("by the owner\n")
    restored, left = load(tmp_path / "kept", "s", "e1").restore()
    assert (restored, left) == ([], [str(root / "list.txt")])
    assert (root / "list.txt").read_text() == (root / "new.txt").read_text() == "by the owner\n"


@pytest.mark.parametrize("runs_on", [True, False])
def test_what_a_job_deletes_after_its_turn_is_restored_and_nothing_else(
    root: Path, tmp_path: Path, runs_on: bool
) -> None:
    kept = Checkpoints(tmp_path / "kept")
    (root / "mine.txt").write_text("by hand\n")
    kept.begin("s", "e1")

    def check() -> None:
        restored, left = load(tmp_path / "kept", "s", "e1").restore()
        assert str(root / "diary/may.md") in restored
        assert left == [str(root / "mine.txt")]
        assert (root / "diary/may.md").exists() and (root / "mine.txt").read_text() == "mine\n"

    with kept.around([root]):
        kept.end()
        kept.begin("s", "e2")
        shutil.rmtree(root / "diary")
        (root / "mine.txt").write_text("mine\n")
        if runs_on:
            check()
            shutil.rmtree(root / "diary")
    check()
    assert load(tmp_path / "kept", "s", "e1").restore()[0] == []


def killed(root: Path, kept: Path, change: Callable[[Path], None]) -> None:
    """A turn whose process is killed after the command has changed something."""
    passed_over = PassedOver(frozenset([str(root / "MEMORY.md")]), names=frozenset(["venv"]))
    checkpoints = Checkpoints(kept)
    checkpoints.begin("s", "e2")
    running = checkpoints.around([root], passed_over)
    running.__enter__()
    change(root)
    (root / "MEMORY.md").write_text("by the program\n")
    (root / "venv").mkdir()
    (root / "venv/python").write_text("x")


@pytest.mark.parametrize("change", [destroyed, rewritten, moved, added])
@pytest.mark.parametrize("resumed", [True, False])
def test_what_a_killed_command_did_is_put_back(
    root: Path, tmp_path: Path, change: Callable[[Path], None], resumed: bool
) -> None:
    before = state(root)
    killed(root, tmp_path / "kept", change)
    expected = {**before, **{p: s for p, s in state(root).items() if p[:4] in ("MEMO", "venv")}}
    if resumed:
        again = Checkpoints(tmp_path / "kept")
        again.begin("s", "e2")
        with again.around([root / "later.txt"]):
            (root / "later.txt").write_text("x")
        again.end()
        (root / "mine.txt").write_text("by the owner\n")
    assert load(tmp_path / "kept", "s", "e2").restore()[1] == []
    assert (root / "mine.txt").exists() == resumed
    (root / "mine.txt").unlink(missing_ok=True)
    assert state(root) == expected
    assert not (tmp_path / "kept/s.e2").exists()


def test_what_an_earlier_turn_made_does_not_come_back_for_a_killed_one(
    root: Path, tmp_path: Path
) -> None:
    before, kept = state(root), Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        added(root)
    killed(root, tmp_path / "kept", lambda _: None)
    Checkpoints(tmp_path / "kept").begin("s", "e2")
    assert not load(tmp_path / "kept", "s", "e2").changed()
    load(tmp_path / "kept", "s", "e1").restore()
    assert not load(tmp_path / "kept", "s", "e2").changed()
    assert before.items() <= state(root).items() and not (root / "new").exists()


def test_a_name_that_is_no_text_is_kept_like_others(root: Path, tmp_path: Path) -> None:
    odd = root / os.fsdecode(b"caf\xe9.txt")
    odd.write_bytes(b"before")
    kept = Checkpoints(tmp_path / "kept")
    kept.begin("s", "e1")
    with kept.around([root]):
        odd.unlink()
    assert load(tmp_path / "kept", "s", "e1").restore() == ([str(odd)], [])
    assert odd.read_bytes() == b"before"

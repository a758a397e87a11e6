"""Checkpoints: the files that a turn changes, as they were before it, for undo.

    .assistant/checkpoints/SESSION.TURN/manifest.jsonl   a line for each path
                                        files/N          a file's former content

Code that may change files announces it (`Checkpoints.around`): existing files are copied first,
and compared afterwards; copies of unchanged files are dropped. A process that is killed in between
leaves all its copies, and they are compared when the turn is undone. Symbolic links are never
followed, neither when copying nor when restoring.
"""

import hashlib
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Literal

import msgspec

from assistant.disk import storage

MOST_BYTES = 100_000_000
MOST_FILES = 20_000
"""The most that is copied before one command; a larger change cannot be undone."""
KEPT_SECONDS = 14 * 24 * 60 * 60
KEPT_BYTES = 200_000_000
"""How long checkpoints are kept, and their total size; the oldest are removed first."""

MADE_BY_TOOLS = frozenset(
    ["node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"]
)
"""Folders that are not copied before a command: tools regenerate their content."""

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Kind = Literal["file", "link", "directory", "nothing"]
Filter = Callable[[str], bool]


def nothing(path: str) -> bool:
    """Skip nothing."""
    return False


@dataclass(frozen=True, slots=True)
class State:
    """What is at a path. `digest` is that of a file's bytes, or a link's target.

    `stamp` is the inode, size and times; equal stamps mean equal content.
    """

    kind: Kind
    mode: int = 0
    digest: str = ""
    stamp: tuple[int, ...] = ()

    def is_like(self, other: "State") -> bool:
        """Return whether both have the same content."""
        if self.kind == other.kind == "directory":
            return True
        return (self.kind, self.digest, self.mode) == (other.kind, other.digest, other.mode)


NOTHING = State("nothing")


@dataclass(frozen=True, slots=True)
class Change:
    """A path before a turn, with the name of its copy, and after; None if not compared yet."""

    path: str
    before: State
    copy: str = ""
    after: State | None = None

    @property
    def is_file(self) -> bool:
        """Whether a file or a link is or was there, not a folder."""
        kinds = {self.before.kind, self.after.kind if self.after else "nothing"}
        return bool(kinds & {"file", "link"})


@dataclass(eq=False, slots=True)
class Watched:
    """The paths that a running call may change, and their state before it."""

    before: dict[str, Change]
    paths: Sequence[Path]
    passed_over: Filter


@dataclass(slots=True)
class Checkpoint:
    """What one turn changed, by path. `pending` holds what the running calls may change."""

    folder: Path
    changes: dict[str, Change] = field(default_factory=dict)
    pending: list[Watched] = field(default_factory=list)

    @property
    def files(self) -> Path:
        """The folder of the copies."""
        return self.folder / "files"

    def save(self) -> None:
        """Write the manifest, or remove the checkpoint if the turn changed nothing."""
        before = (change for pending in self.pending for change in pending.before.values())
        rows = [*self.changes.values(), *before]
        if not rows and not self.pending:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        # Not by msgspec: a name need not be UTF-8.
        lines = b"\n".join(json.dumps(msgspec.to_builtins(row)).encode() for row in rows)
        storage.private_directory(self.folder)
        storage.replace(self.folder / "manifest.jsonl", lines)

    def changed(self) -> list[Change]:
        """Return the changes that are still in effect, by path."""
        states = ((change, state_of(change.path)) for change in self.changes.values())
        return sorted(
            (change for change, now in states if not now.is_like(change.before)),
            key=lambda change: change.path,
        )

    def restore(self) -> tuple[list[str], list[str]]:
        """Put every changed path back as it was before the turn.

        Returns the paths restored and the paths skipped. A path is skipped if it has changed since
        the turn or cannot be restored; it stays in the checkpoint. What the turn created is removed
        first, files before the folders they are in.
        """
        restored, skipped = [], []
        changed = self.changed()
        created = [change for change in reversed(changed) if change.before.kind == "nothing"]
        existing = [change for change in changed if change.before.kind != "nothing"]
        for change in (*created, *existing):
            try:
                if change.after is not None and not state_of(change.path).is_like(change.after):
                    raise OSError("somebody has changed it since")
                self._restore_path(change)
            except OSError:
                skipped.append(change.path)
            else:
                restored.append(change.path)
                del self.changes[change.path]
        self.changes = {path: self.changes[path] for path in skipped}
        self.save()
        return sorted(restored), sorted(skipped)

    def _restore_path(self, change: Change) -> None:
        path, before = Path(change.path), change.before
        with _open_directory(path.parent) as parent:
            status = _stat(path.name, parent)
            is_directory = status is not None and stat.S_ISDIR(status.st_mode)
            if status is not None and stat.S_ISREG(status.st_mode) and before.kind == "nothing":
                self._move_aside(path.name, parent)
            elif is_directory and before.kind != "directory":
                os.rmdir(path.name, dir_fd=parent)
            elif status is not None and before.kind in ("nothing", "link", "directory"):
                os.unlink(path.name, dir_fd=parent)
            match before.kind:
                case "directory":
                    os.mkdir(path.name, before.mode, dir_fd=parent)
                case "link":
                    os.symlink(before.digest, path.name, dir_fd=parent)
                case "file":
                    _write_copy(self.files / change.copy, path.name, parent, before.mode)

    def _move_aside(self, name: str, parent: int) -> None:
        """Move away a file that the turn created: it may be the only copy."""
        aside = self.folder.with_name(f"undone.{self.folder.name}")
        storage.private_directory(aside)
        storage.private_directory(aside / "files")
        os.rename(name, aside / "files" / f"{token_hex(4)}-{name}", src_dir_fd=parent)


class Checkpoints:
    """The checkpoints of a workspace; without a folder nothing is kept. Thread-safe."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._current: Checkpoint | None = None

    def begin(self, session: str, turn: str) -> None:
        """Attribute changes from now on to this turn."""
        if self._folder is not None:
            self._current = load(self._folder, session, turn)

    def end(self) -> None:
        """End the turn: later changes, by the owner or by a job that continues, are not part of
        it. Raises StorageError."""
        checkpoint, self._current = self._current, None
        if checkpoint is None or not checkpoint.pending:
            return
        with storage.reported("copied", checkpoint.folder), self._lock:
            while checkpoint.pending:
                _compare(checkpoint, checkpoint.pending.pop())
            checkpoint.save()

    @contextmanager
    def around(self, paths: Sequence[Path], passed_over: Filter = nothing) -> Iterator[None]:
        """Watch these files and folders, except what is passed over, while they may change.

        Raises StorageError if the existing files cannot be copied.
        """
        checkpoint = self._current
        if checkpoint is None:
            yield
            return
        with storage.reported("copied", checkpoint.folder), self._lock:
            if not checkpoint.files.exists():
                _remove_old(checkpoint.folder.parent)
                storage.private_directory(checkpoint.folder)
                storage.private_directory(checkpoint.files)
            before = {
                path: Change(path, state, copy)
                for path, state, copy in _make_copies(paths, passed_over, checkpoint.files)
            }
            watched = Watched(before, paths, passed_over)
            checkpoint.pending.append(watched)
            checkpoint.save()
        try:
            yield
        finally:
            with storage.reported("copied", checkpoint.folder), self._lock:
                if watched in checkpoint.pending:
                    checkpoint.pending.remove(watched)
                    _compare(checkpoint, watched)
                    checkpoint.save()


def load(folder: Path, session: str, turn: str) -> Checkpoint:
    """Return the checkpoint of a turn, empty if there is none yet."""
    checkpoint = Checkpoint(folder / f"{session}.{turn}")
    for line in storage.read_or_empty(checkpoint.folder / "manifest.jsonl").splitlines():
        change = msgspec.convert(json.loads(line), Change)
        checkpoint.changes[change.path] = change
    return checkpoint


def too_much(paths: Iterable[Path], passed_over: Filter = nothing) -> str:
    """Return why these folders cannot be copied before a command; empty if they can."""
    size = 0
    for count, (path, _, status) in enumerate(_walk(paths, passed_over), 1):
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if count > MOST_FILES:
            return f"there are more than {MOST_FILES:,} files"
        if size > MOST_BYTES:
            return f"the files take more than {MOST_BYTES // 1_000_000} MB"
        needed = os.R_OK | os.X_OK if stat.S_ISDIR(status.st_mode) else os.R_OK
        if not stat.S_ISLNK(status.st_mode) and not os.access(path, needed):
            return f"{path} cannot be read"
    return ""


def state_of(path: str) -> State:
    """Return what is at a path now."""
    with suppress(OSError), _open_directory(Path(path).parent) as parent:
        status = _stat(Path(path).name, parent)
        return _state(Path(path).name, parent, status) if status else NOTHING
    return NOTHING


def _compare(checkpoint: Checkpoint, watched: Watched) -> None:
    """Record what has changed, and delete the copies of everything else."""
    before = watched.before
    stamps = {path: _stamp(status) for path, _, status in _walk(watched.paths, watched.passed_over)}
    for path in dict.fromkeys((*before, *stamps)):
        change = before.get(path, Change(path, NOTHING))
        if stamps.get(path) != change.before.stamp:
            after = state_of(path)
            if not after.is_like(change.before) or path in checkpoint.changes:
                first = checkpoint.changes.get(path, change)
                checkpoint.changes[path] = Change(path, first.before, first.copy, after)
    used_copies = {change.copy for change in checkpoint.changes.values()}
    used_copies |= {change.copy for other in checkpoint.pending for change in other.before.values()}
    for change in before.values():
        if change.copy and change.copy not in used_copies:
            (checkpoint.files / change.copy).unlink(missing_ok=True)


def _make_copies(
    paths: Iterable[Path], passed_over: Filter, destination: Path
) -> Iterator[tuple[str, State, str]]:
    """Copy each path; yield it with its state and the copy's name, and the missing folders of a
    missing file."""
    for path in paths:
        for ancestor in (path, *path.parents):
            if os.path.lexists(ancestor):
                break
            yield str(ancestor), NOTHING, ""
    for full_path, parent, status in _walk(paths, passed_over):
        name = Path(full_path).name
        if stat.S_ISREG(status.st_mode):
            data, copy = _read(name, parent), token_hex(8)
            (destination / copy).write_bytes(data)
            yield full_path, _file(data, status), copy
        else:
            yield full_path, _state(name, parent, status), ""


def _walk(paths: Iterable[Path], passed_over: Filter) -> Iterator[tuple[str, int, os.stat_result]]:
    """Yield each file, link and folder at or below these paths: its path, open folder, and
    status."""
    for path in dict.fromkeys(paths):
        with suppress(OSError), _open_directory(path.parent) as parent:
            status = _stat(path.name, parent)
            if status is None or passed_over(str(path)):
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield str(path), parent, status
                continue
            for folder, folders, names, below in os.fwalk(path.name, dir_fd=parent):
                above = f"{path.parent}/{folder}".replace("//", "/")
                folders[:] = [name for name in folders if not passed_over(f"{above}/{name}")]
                for name in (*folders, *names):
                    status = _stat(name, below)
                    if status and not passed_over(f"{above}/{name}"):
                        yield f"{above}/{name}", below, status


def _state(name: str, parent: int, status: os.stat_result) -> State:
    mode, stamp = stat.S_IMODE(status.st_mode), _stamp(status)
    if stat.S_ISLNK(status.st_mode):
        return State("link", 0, os.readlink(name, dir_fd=parent), stamp)
    if stat.S_ISDIR(status.st_mode):
        return State("directory", mode, "", stamp)
    if stat.S_ISREG(status.st_mode):
        return _file(_read(name, parent), status)
    return NOTHING


def _file(data: bytes, status: os.stat_result) -> State:
    digest = hashlib.sha256(data).hexdigest()
    return State("file", stat.S_IMODE(status.st_mode), digest, _stamp(status))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,)
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _stat(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _read(name: str, parent: int) -> bytes:
    with os.fdopen(os.open(name, REGULAR, dir_fd=parent), "rb") as file:
        return file.read()


def _write_copy(copy: Path, name: str, parent: int, mode: int) -> None:
    """Replace a name by a copy, atomically."""
    temporary = f".{token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(temporary, NEW, 0o600, dir_fd=parent), "wb") as file:
            file.write(copy.read_bytes())
            os.fchmod(file.fileno(), mode)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


@contextmanager
def _open_directory(folder: Path) -> Iterator[int]:
    """Open a folder, refusing links anywhere in its path. Raises OSError."""
    descriptor = os.open("/", DIRECTORY)
    try:
        for name in folder.parts[1:]:
            child = os.open(name, DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_old(folder: Path) -> None:
    """Remove checkpoints that are too old, and the oldest beyond the size limit."""
    aged = [
        (checkpoint.stat().st_mtime, checkpoint)
        for checkpoint in folder.glob("*")
        if checkpoint.is_dir()
    ]
    size = 0
    for age, checkpoint in sorted(aged, reverse=True):
        size += sum(path.stat().st_size for path in checkpoint.glob("files/*"))
        if time.time() - age > KEPT_SECONDS or size > KEPT_BYTES:
            shutil.rmtree(checkpoint, ignore_errors=True)

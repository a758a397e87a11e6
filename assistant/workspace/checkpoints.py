"""Checkpoints: the files that a turn changes, as they were before it, so that it can be undone.

    .assistant/checkpoints/SESSION.TURN/manifest.jsonl   a line for each path
                                        files/N          what a file held

Whoever may change files says where (`Checkpoints.around`): what is there is copied first, and
compared afterwards; what has not changed is dropped. A process that is killed in between leaves
all its copies, and they are compared when the turn is undone. No path is followed through a
symbolic link, neither when it is copied nor when it is put back.
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
"""What is copied before one command; of more it cannot be undone."""
KEPT_SECONDS = 14 * 24 * 60 * 60
KEPT_BYTES = 200_000_000
"""How long checkpoints are kept, and how much of them; the oldest go first."""

MADE_BY_TOOLS = frozenset(
    ["node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"]
)
"""Folders that are not copied before a command: what their tools have made they make again."""

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Kind = Literal["file", "link", "directory", "nothing"]
Filter = Callable[[str], bool]


def nothing(path: str) -> bool:
    """Nothing is passed over."""
    return False


@dataclass(frozen=True, slots=True)
class State:
    """What is at a path. `digest` is that of a file's bytes, or where a link leads.

    `stamp` is its inode, size and times; two of the same stamp are the same.
    """

    kind: Kind
    mode: int = 0
    digest: str = ""
    stamp: tuple[int, ...] = ()

    def is_like(self, other: "State") -> bool:
        """Whether both hold the same."""
        if self.kind == other.kind == "directory":
            return True
        return (self.kind, self.digest, self.mode) == (other.kind, other.digest, other.mode)


NOTHING = State("nothing")


@dataclass(frozen=True, slots=True)
class Change:
    """A path before a turn, with the name of its copy, and after; None if it was not compared."""

    path: str
    before: State
    copy: str = ""
    after: State | None = None

    @property
    def is_file(self) -> bool:
        """Whether a file or a link is or was there, and no folder."""
        kinds = {self.before.kind, self.after.kind if self.after else "nothing"}
        return bool(kinds & {"file", "link"})


@dataclass(eq=False, slots=True)
class Watched:
    """The paths that a call which runs may change, and what was there before it."""

    before: dict[str, Change]
    paths: Sequence[Path]
    passed_over: Filter


@dataclass(slots=True)
class Checkpoint:
    """What one turn changed, by path. `pending` is what the calls that run now may change."""

    folder: Path
    changes: dict[str, Change] = field(default_factory=dict)
    pending: list[Watched] = field(default_factory=list)

    @property
    def files(self) -> Path:
        """Where the copies are."""
        return self.folder / "files"

    def save(self) -> None:
        """Write the manifest; a turn that changed nothing leaves nothing."""
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
        """What is otherwise than before the turn, by path."""
        states = ((change, state_of(change.path)) for change in self.changes.values())
        return sorted(
            (change for change, now in states if not now.is_like(change.before)),
            key=lambda change: change.path,
        )

    def restore(self) -> tuple[list[str], list[str]]:
        """Put back what the turn changed; the paths put back, and those left as they are.

        What somebody has changed since is left, and so is what cannot be put back; both stay in
        the checkpoint. What the turn put into a place goes first, the deepest first.
        """
        restored, left = [], []
        changed = self.changed()
        new = [change for change in reversed(changed) if change.before.kind == "nothing"]
        old = [change for change in changed if change.before.kind != "nothing"]
        for change in (*new, *old):
            try:
                if change.after is not None and not state_of(change.path).is_like(change.after):
                    raise OSError("somebody has changed it since")
                self._put_back(change)
            except OSError:
                left.append(change.path)
            else:
                restored.append(change.path)
                del self.changes[change.path]
        self.changes = {path: self.changes[path] for path in left}
        self.save()
        return sorted(restored), sorted(left)

    def _put_back(self, change: Change) -> None:
        path, before = Path(change.path), change.before
        with _opened(path.parent) as here:
            now = _stat(path.name, here)
            is_directory = now is not None and stat.S_ISDIR(now.st_mode)
            if now is not None and stat.S_ISREG(now.st_mode) and before.kind == "nothing":
                self._put_aside(path.name, here)
            elif is_directory and before.kind != "directory":
                os.rmdir(path.name, dir_fd=here)
            elif now is not None and before.kind in ("nothing", "link", "directory"):
                os.unlink(path.name, dir_fd=here)
            match before.kind:
                case "directory":
                    os.mkdir(path.name, before.mode, dir_fd=here)
                case "link":
                    os.symlink(before.digest, path.name, dir_fd=here)
                case "file":
                    _written(self.files / change.copy, path.name, here, before.mode)

    def _put_aside(self, name: str, here: int) -> None:
        """Take away a file that the turn has put there: it may be the only copy."""
        aside = self.folder.with_name(f"undone.{self.folder.name}")
        storage.private_directory(aside)
        storage.private_directory(aside / "files")
        os.rename(name, aside / "files" / f"{token_hex(4)}-{name}", src_dir_fd=here)


class Checkpoints:
    """The checkpoints of a workspace; without a folder nothing is kept. For any thread."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._current: Checkpoint | None = None

    def begin(self, session: str, turn: str) -> None:
        """What changes from now on, this turn changes."""
        if self._folder is not None:
            self._current = load(self._folder, session, turn)

    def end(self) -> None:
        """The turn is over: what is done from now on, by its owner or by a job that goes on, is
        not its own. Raises StorageError."""
        checkpoint, self._current = self._current, None
        if checkpoint is None or not checkpoint.pending:
            return
        with storage.reported("copied", checkpoint.folder), self._lock:
            while checkpoint.pending:
                _compare(checkpoint, checkpoint.pending.pop())
            checkpoint.save()

    @contextmanager
    def around(self, paths: Sequence[Path], passed_over: Filter = nothing) -> Iterator[None]:
        """Something may change these files, or what is in these folders, but for what is passed
        over. Raises StorageError if what is there cannot be copied."""
        checkpoint = self._current
        if checkpoint is None:
            yield
            return
        with storage.reported("copied", checkpoint.folder), self._lock:
            if not checkpoint.files.exists():
                _tidy(checkpoint.folder.parent)
                storage.private_directory(checkpoint.folder)
                storage.private_directory(checkpoint.files)
            before = {
                path: Change(path, state, copy)
                for path, state, copy in _copied(paths, passed_over, checkpoint.files)
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
    """The checkpoint of a turn, whether there is one yet or not."""
    checkpoint = Checkpoint(folder / f"{session}.{turn}")
    for line in storage.held(checkpoint.folder / "manifest.jsonl").splitlines():
        change = msgspec.convert(json.loads(line), Change)
        checkpoint.changes[change.path] = change
    return checkpoint


def too_much(paths: Iterable[Path], passed_over: Filter = nothing) -> str:
    """Why what is in these folders cannot be copied before a command; empty if it can."""
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
    """What is at a path now."""
    with suppress(OSError), _opened(Path(path).parent) as here:
        status = _stat(Path(path).name, here)
        return _state(Path(path).name, here, status) if status else NOTHING
    return NOTHING


def _compare(checkpoint: Checkpoint, watched: Watched) -> None:
    """Note what has changed; the copies of all else go."""
    before = watched.before
    there = {path: _stamp(status) for path, _, status in _walk(watched.paths, watched.passed_over)}
    for path in dict.fromkeys((*before, *there)):
        change = before.get(path, Change(path, NOTHING))
        if there.get(path) != change.before.stamp:
            after = state_of(path)
            if not after.is_like(change.before) or path in checkpoint.changes:
                first = checkpoint.changes.get(path, change)
                checkpoint.changes[path] = Change(path, first.before, first.copy, after)
    kept = {change.copy for change in checkpoint.changes.values()}
    kept |= {change.copy for other in checkpoint.pending for change in other.before.values()}
    for change in before.values():
        if change.copy and change.copy not in kept:
            (checkpoint.files / change.copy).unlink(missing_ok=True)


def _copied(
    paths: Iterable[Path], passed_over: Filter, to: Path
) -> Iterator[tuple[str, State, str]]:
    """Each path with what is there and the name of its copy; a missing file's missing folders."""
    for path in paths:
        for above in (path, *path.parents):
            if os.path.lexists(above):
                break
            yield str(above), NOTHING, ""
    for found, here, status in _walk(paths, passed_over):
        name = Path(found).name
        if stat.S_ISREG(status.st_mode):
            data, copy = _read(name, here), token_hex(8)
            (to / copy).write_bytes(data)
            yield found, _file(data, status), copy
        else:
            yield found, _state(name, here, status), ""


def _walk(paths: Iterable[Path], passed_over: Filter) -> Iterator[tuple[str, int, os.stat_result]]:
    """Each file, link and folder at or below these paths: its path, open folder, and status."""
    for path in dict.fromkeys(paths):
        with suppress(OSError), _opened(path.parent) as here:
            status = _stat(path.name, here)
            if status is None or passed_over(str(path)):
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield str(path), here, status
                continue
            for folder, folders, names, below in os.fwalk(path.name, dir_fd=here):
                above = f"{path.parent}/{folder}".replace("//", "/")
                folders[:] = [name for name in folders if not passed_over(f"{above}/{name}")]
                for name in (*folders, *names):
                    status = _stat(name, below)
                    if status and not passed_over(f"{above}/{name}"):
                        yield f"{above}/{name}", below, status


def _state(name: str, here: int, status: os.stat_result) -> State:
    mode, stamp = stat.S_IMODE(status.st_mode), _stamp(status)
    if stat.S_ISLNK(status.st_mode):
        return State("link", 0, os.readlink(name, dir_fd=here), stamp)
    if stat.S_ISDIR(status.st_mode):
        return State("directory", mode, "", stamp)
    if stat.S_ISREG(status.st_mode):
        return _file(_read(name, here), status)
    return NOTHING


def _file(data: bytes, status: os.stat_result) -> State:
    digest = hashlib.sha256(data).hexdigest()
    return State("file", stat.S_IMODE(status.st_mode), digest, _stamp(status))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,)
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _stat(name: str, here: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _read(name: str, here: int) -> bytes:
    with os.fdopen(os.open(name, REGULAR, dir_fd=here), "rb") as file:
        return file.read()


def _written(copy: Path, name: str, here: int, mode: int) -> None:
    """Put a copy in the place of a name, at once."""
    fresh = f".{token_hex(8)}.tmp"
    try:
        with os.fdopen(os.open(fresh, NEW, 0o600, dir_fd=here), "wb") as file:
            file.write(copy.read_bytes())
            os.fchmod(file.fileno(), mode)
        os.rename(fresh, name, src_dir_fd=here, dst_dir_fd=here)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh, dir_fd=here)
        raise


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """An open folder; no part of its path may be a link. Raises OSError."""
    here = os.open("/", DIRECTORY)
    try:
        for name in folder.parts[1:]:
            below = os.open(name, DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _tidy(folder: Path) -> None:
    """Remove the checkpoints that are too old, and the oldest of too many."""
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

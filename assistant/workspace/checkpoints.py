"""Checkpoints: copies of the files that a turn changes, made before it, for undo.

    .assistant/checkpoints/SESSION.TURN/manifest.jsonl   a line for each path
                                        files/DIGEST     a file's former content

Code that may change files announces it (`Checkpoints.around`): existing files are copied first and
compared afterwards; copies of unchanged files are dropped. A process that is killed in between
leaves all its copies; they are compared when the turn is resumed or undone, and what is new then
counts as its own. Of the changes by a command that runs on after its turn, undo reverts only
deletions: the rest may be the owner's work. Symbolic links are never followed, neither when
copying nor when restoring.
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Literal

import msgspec

from assistant.disk import storage

MOST_BYTES = 100_000_000
MOST_FILES = 20_000
"""Maximum copied before one command; a larger change cannot be undone."""
KEPT_SECONDS = 14 * 24 * 60 * 60
UNDONE = "undone."
"""The beginning of the name of a folder of files that an undo removed or replaced."""
KEPT_BYTES = 200_000_000
"""Maximum age and total size of the checkpoints; the oldest are removed first."""

MADE_BY_TOOLS = frozenset(
    ["node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"]
)
"""Folders that are not copied before a command: tools regenerate their content."""

Kind = Literal["file", "link", "directory", "nothing", "unknown"]
Filter = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """What a checkpoint may skip, with everything below: by path, also casefolded, or by name."""

    paths: frozenset[str] = frozenset()
    casefolded: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def __call__(self, path: str) -> bool:
        by_path = path in self.paths or path.casefold() in self.casefolded
        return by_path or path.rpartition("/")[2] in self.names


NOTHING_PASSED_OVER = PassedOver()


@dataclass(frozen=True, slots=True)
class State:
    """The state of a path. `digest` is that of a file's bytes, or of a link's target."""

    kind: Kind
    mode: int = 0
    digest: str = ""

    def is_like(self, other: "State") -> bool:
        """Return whether both have the same content."""
        if self.kind == other.kind == "directory":
            return True
        return (self.kind, self.digest, self.mode) == (other.kind, other.digest, other.mode)


NOTHING, UNKNOWN = State("nothing"), State("unknown")


@dataclass(frozen=True, slots=True)
class Change:
    """The state of a path before a turn, and `after` it.

    `after` is None while a running call may still change the path; `late` says that the call runs
    on after the turn. The copy of a file is named by the digest of its bytes.
    """

    path: str
    before: State
    after: State | None = None
    late: bool = False

    @property
    def is_file(self) -> bool:
        """Whether a file or a link, not a folder, is or was there."""
        kinds = {self.before.kind, self.after.kind if self.after else "nothing"}
        return bool(kinds & {"file", "link"})

    @property
    def is_as_left(self) -> bool:
        """Whether the path is unchanged since the turn, or since a call that ran on after it."""
        if self.after is None:
            return True
        now = state_of(self.path)
        return now.is_like(self.after) or (self.late and now == NOTHING)


@dataclass(eq=False, slots=True)
class Watched:
    """The paths that a running call may change, and their stamps from before it."""

    stamps: dict[str, tuple[int, ...]]
    paths: Sequence[Path]
    passed_over: PassedOver

    @property
    def row(self) -> dict[str, object]:
        """What the manifest says of it while it runs."""
        passed_over = msgspec.to_builtins(self.passed_over)
        return {"watched": [*map(str, self.paths)], "passed_over": passed_over}


@dataclass(slots=True)
class Checkpoint:
    """The changes of one turn, by path, and the paths that running calls may change.

    `ended` says that the turn has ended before them, `was_killed` that they were killed with it.
    """

    folder: Path
    changes: dict[str, Change] = field(default_factory=dict)
    running: list[Watched] = field(default_factory=list)
    ended: bool = False
    was_killed: bool = False

    @property
    def files(self) -> Path:
        """The folder of the copies."""
        return self.folder / "files"

    def save(self) -> None:
        """Write the manifest, or remove the checkpoint if the turn changed nothing."""
        if not (self.changes or self.running):
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        changes, running = list(self.changes.values()), [] if self.ended else self.running
        if running:
            changes = [replace(change, after=None) for change in changes]
        # written by json: a name need not be UTF-8
        rows = [*map(msgspec.to_builtins, changes), *(watched.row for watched in running)]
        storage.private_directory(self.folder)
        lines = b"\n".join(json.dumps(row).encode() for row in rows)
        storage.replace(self.folder / "manifest.jsonl", lines)

    def watch(self, paths: Sequence[Path], passed_over: PassedOver) -> Watched:
        """Copy the files at these paths, unless this turn has already done so."""
        watched = Watched(dict.fromkeys(_missing(paths), ()), paths, passed_over)
        for path in watched.stamps:
            self.changes.setdefault(path, Change(path, NOTHING))
        for path, parent, status in _walk(paths, passed_over):
            watched.stamps[path] = _stamp(status)
            if path not in self.changes:
                state = _state(Path(path).name, parent, status, self.files)
                self.changes[path] = Change(path, state)
        self.running.append(watched)
        return watched

    def end(self) -> None:
        """Record the changes by the end of the turn; calls still running can only add deletions."""
        for watched in self.running:
            self._record(watched)
        self.ended = bool(self.running)
        for path, change in self.changes.items() if self.ended else ():
            self.changes[path] = replace(change, after=change.after or change.before, late=True)
        if self.ended:
            self.save()

    def _record(self, watched: Watched) -> None:
        walk = _walk(watched.paths, watched.passed_over)
        now = {path: _stamp(status) for path, _, status in walk}
        for path in {*watched.stamps, *now}:
            if now.get(path) == watched.stamps.get(path):
                continue
            if not self.ended:
                change = self.changes.get(path, Change(path, NOTHING))
                self.changes[path] = replace(change, after=state_of(path))
            elif path in self.changes:
                change, after = self.changes[path], NOTHING
                if path in now:
                    was_changed = change.after and not change.after.is_like(change.before)
                    after = change.after if change.after and was_changed else UNKNOWN
                self.changes[path] = replace(change, after=after)

    def compare(self, watched: Watched) -> None:
        """Record the changes, and when nothing is running any more drop everything else."""
        self.running.remove(watched)
        self._record(watched)
        self.settle()

    def settle(self) -> None:
        """Save the changes; when nothing is running any more, drop everything else."""
        if not self.running:
            self.changes = {p: replace(change, late=False) for p, change in self.changes.items()}
            kept = (c for c in self.changes.values() if c.after and not c.after.is_like(c.before))
            self.changes = {change.path: change for change in kept}
            used = {change.before.digest for change in self.changes.values()}
            for copy in self.files.glob("*"):
                if copy.name not in used:
                    copy.unlink()
        self.save()

    def changed(self) -> list[Change]:
        """Return the changes that are still in effect, by path."""
        states = ((change, state_of(change.path)) for change in self.changes.values())
        return sorted(
            (change for change, now in states if not now.is_like(change.before)),
            key=lambda change: change.path,
        )

    def restore(self) -> tuple[list[str], list[str]]:
        """Restore every changed path to its state before the turn.

        Return the restored and the skipped paths. A path is skipped if it has changed since the
        turn or cannot be restored; it stays in the checkpoint. Paths that the turn created are
        removed first, files before their folders.
        """
        restored, skipped = [], []
        changed = self.changed()
        created = [change for change in reversed(changed) if change.before.kind == "nothing"]
        existing = [change for change in changed if change.before.kind != "nothing"]
        for change in (*created, *existing):
            try:
                if not change.is_as_left:
                    raise OSError("it has been changed since")
                self._restore_path(change)
            except OSError:
                skipped.append(change.path)
            else:
                restored.append(change.path)
        # otherwise its copies are still needed
        if not any(change.late for change in self.changes.values()):
            self.changes = {path: self.changes[path] for path in skipped}
            self.save()
        return sorted(restored), sorted(skipped)

    def _restore_path(self, change: Change) -> None:
        path, before = Path(change.path), change.before
        with _open_directory(path.parent) as parent:
            status = storage.status_in(parent, path.name)
            is_directory = status is not None and stat.S_ISDIR(status.st_mode)
            if status is not None and stat.S_ISREG(status.st_mode):
                self._keep(path.name, parent)
            if is_directory and before.kind != "directory":
                os.rmdir(path.name, dir_fd=parent)
            elif status is not None and before.kind in ("nothing", "link", "directory"):
                os.unlink(path.name, dir_fd=parent)
            match before.kind:
                case "directory":
                    os.mkdir(path.name, before.mode, dir_fd=parent)
                case "link":
                    os.symlink(before.digest, path.name, dir_fd=parent)
                case "file":
                    storage.replace_in(
                        parent, path.name, (self.files / before.digest).read_bytes(), before.mode
                    )

    def _keep(self, name: str, parent: int) -> None:
        """Copy a file that is removed or replaced: it may be the only copy, and after a killed turn
        nobody knows which changes are the owner's work."""
        kept = self.folder.with_name(f"{UNDONE}{self.folder.name}") / "files"
        for folder in (kept.parent, kept):
            storage.private_directory(folder)
        with os.fdopen(os.open(name, storage.REGULAR, dir_fd=parent), "rb") as file:
            (kept / f"{token_hex(4)}-{name}").write_bytes(file.read())


class Checkpoints:
    """The checkpoints of a workspace; without a folder nothing is kept. Thread-safe."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._current: Checkpoint | None = None

    def begin(self, session: str, turn: str) -> None:
        """Attribute changes from now on to this turn. Raises StorageError."""
        if self._folder is not None:
            self._current = checkpoint = load(self._folder, session, turn)
            if checkpoint.was_killed:
                with storage.reported("copied", checkpoint.folder), self._lock:
                    checkpoint.settle()

    def end(self) -> None:
        """End the turn: of later changes, only deletions by jobs that continue belong to it. Raises
        StorageError."""
        checkpoint, self._current = self._current, None
        if checkpoint is not None:
            with storage.reported("copied", checkpoint.folder), self._lock:
                checkpoint.end()

    @contextmanager
    def around(
        self, paths: Sequence[Path], passed_over: PassedOver = NOTHING_PASSED_OVER
    ) -> Iterator[None]:
        """Watch these files and folders, except those passed over, while they may change.

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
            watched = checkpoint.watch(paths, passed_over)
            checkpoint.save()
        try:
            yield
        finally:
            with storage.reported("copied", checkpoint.folder), self._lock:
                checkpoint.compare(watched)


def load(folder: Path, session: str, turn: str) -> Checkpoint:
    """Return the checkpoint of a turn, empty if there is none yet."""
    checkpoint = Checkpoint(folder / f"{session}.{turn}")
    lines = storage.read_or_empty(checkpoint.folder / "manifest.jsonl").splitlines()
    rows = list(map(json.loads, lines))
    for row in rows:
        if "watched" not in row:
            change = msgspec.convert(row, Change)
            after = change.after or state_of(change.path)  # what was running has been killed
            checkpoint.changes[change.path] = replace(change, after=after)
    for row in rows:
        if "watched" in row:
            checkpoint.was_killed = True
            passed_over = msgspec.convert(row["passed_over"], PassedOver)
            for path, _, _ in _walk(map(Path, row["watched"]), passed_over):
                if path not in checkpoint.changes:
                    checkpoint.changes[path] = Change(path, NOTHING, state_of(path))
    return checkpoint


def too_much(paths: Iterable[Path], passed_over: Filter = NOTHING_PASSED_OVER) -> str:
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
    """Return the current state of a path."""
    with suppress(OSError), _open_directory(Path(path).parent) as parent:
        status = storage.status_in(parent, Path(path).name)
        return _state(Path(path).name, parent, status) if status else NOTHING
    return NOTHING


def _missing(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the missing paths, and their missing parent folders."""
    for path in paths:
        for ancestor in (path, *path.parents):
            if os.path.lexists(ancestor):
                break
            yield str(ancestor)


def _walk(paths: Iterable[Path], passed_over: Filter) -> Iterator[tuple[str, int, os.stat_result]]:
    """Yield each file, link and folder at or below these paths: its path, open folder, and
    status."""
    for path in dict.fromkeys(paths):
        with suppress(OSError), _open_directory(path.parent) as parent:
            status = storage.status_in(parent, path.name)
            if status is None or passed_over(str(path)):
                continue
            if not stat.S_ISDIR(status.st_mode):
                yield str(path), parent, status
                continue
            for folder, folders, names, below in os.fwalk(path.name, dir_fd=parent):
                above = f"{path.parent}/{folder}".replace("//", "/")
                folders[:] = [name for name in folders if not passed_over(f"{above}/{name}")]
                for name in (*folders, *names):
                    status = storage.status_in(below, name)
                    if status and not passed_over(f"{above}/{name}"):
                        yield f"{above}/{name}", below, status


def _state(name: str, parent: int, status: os.stat_result, copies: Path | None = None) -> State:
    """Return the state of a name in an open folder, copying a file into the folder `copies`."""
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return State("link", 0, os.readlink(name, dir_fd=parent))
    if stat.S_ISDIR(status.st_mode):
        return State("directory", mode)
    if not stat.S_ISREG(status.st_mode):
        return NOTHING
    with os.fdopen(os.open(name, storage.REGULAR, dir_fd=parent), "rb") as file:
        data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    if copies is not None:
        (copies / digest).write_bytes(data)
    return State("file", mode, digest)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return inode, size and times: equal stamps mean equal content."""
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,)
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextmanager
def _open_directory(folder: Path) -> Iterator[int]:
    """Open a folder, refusing links anywhere in its path. Raises OSError."""
    descriptor = os.open("/", storage.DIRECTORY)
    try:
        for name in folder.parts[1:]:
            child = os.open(name, storage.DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_old(folder: Path) -> None:
    """Remove checkpoints that are too old, and the oldest beyond the size limit; what an undo has
    removed may be the only copy, and is kept until it is too old."""
    aged = [
        (checkpoint.stat().st_mtime, checkpoint)
        for checkpoint in folder.glob("*")
        if checkpoint.is_dir()
    ]
    size = 0
    for age, checkpoint in sorted(aged, reverse=True):
        is_undone = checkpoint.name.startswith(UNDONE)
        if not is_undone:
            size += sum(path.stat().st_size for path in checkpoint.glob("files/*"))
        if time.time() - age > KEPT_SECONDS or (size > KEPT_BYTES and not is_undone):
            shutil.rmtree(checkpoint, ignore_errors=True)

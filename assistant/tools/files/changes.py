"""Changes to files, all of them or none, on exactly the bytes they were worked out from."""

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from assistant.disk import storage
from assistant.display import exactly
from assistant.errors import ToolError
from assistant.memory.base import Origin
from assistant.memory.door import amending
from assistant.tools.files.access import Access
from assistant.tools.files.place import Place
from assistant.tools.files.roots import Roots

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_MODE = 0o666
"""Of a new file, less the owner's umask."""
BOM = "\ufeff"
BY = Origin("assistant")


@dataclass(frozen=True, slots=True)
class Change:
    """A file's bytes before and after; None where there is no file.

    `path` is real and absolute. `mode` is the file's permission bits, None for a new file's.
    """

    path: Path
    shown: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


def held(place: Place) -> tuple[bytes | None, int | None]:
    """What a place holds now: bytes and permission bits, or None and None."""
    status = place.status()
    if status is None:
        return None, None
    return place.read(), stat.S_IMODE(status.st_mode)


def commit(access: Access, changes: Sequence[Change]) -> None:
    """Make the changes. Raises ToolError if one cannot be made, and then none has been.

    Files that steer or remember are changed through the ledger: under its lock, as its own writes
    are, and so that `memory undo` takes the change back.
    """
    guarded = [change for change in changes if access.roots.guarded(change.path)]
    texts = _texts(access.roots, guarded)
    with amending(access.roots.workspace, texts, BY) if texts else nullcontext():
        _commit(access, changes)


def _texts(roots: Roots, changes: Sequence[Change]) -> dict[str, str]:
    """The new texts of those files that are the workspace's, by their names there."""
    root = roots.workspace.root
    return {
        change.path.relative_to(root).as_posix(): (change.after or b"").decode().removeprefix(BOM)
        for change in changes
        if change.path.is_relative_to(root)
    }


def _commit(access: Access, changes: Sequence[Change]) -> None:
    for change in changes:
        with access.at(str(change.path)) as place:
            _check(place, change)
    done: list[Change] = []
    made: list[Path] = []
    try:
        for change in changes:
            with access.at(str(change.path), made) as place:
                _put(place, change)
                done.append(change)
                storage.DISK.sync(place.directory)
    except BaseException as error:
        left = [change.shown for change in reversed(done) if not _put_back(access, change)]
        for directory in reversed(made):
            with suppress(OSError):
                directory.rmdir()
        if left:
            raise ToolError(f"{error}; {', '.join(left)} cannot be put back as before") from error
        raise


def _put_back(access: Access, change: Change) -> bool:
    try:
        with access.at(str(change.path)) as place:
            _put(place, replace(change, before=change.after, after=change.before))
    except (ToolError, OSError):
        return False
    return True


def diff(changes: Sequence[Change]) -> str:
    """The changes as a unified diff, in which nothing can hide."""
    return "\n".join(_one_diff(change) for change in changes)


def _one_diff(change: Change) -> str:
    old, new = (_lines(data) for data in (change.before, change.after))
    header = (
        f"--- {change.shown if change.before is not None else '/dev/null'}",
        f"+++ {change.shown if change.after is not None else '/dev/null'}",
    )
    body = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return "\n".join(exactly(line) for line in (*header, *body))


def _lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", "replace").split("\n") if data else []


def _check(place: Place, change: Change) -> None:
    """Raise ToolError unless the place is the one that was shown, with the bytes shown."""
    if place.name is None:
        raise ToolError(f"{place.shown} is a directory")
    if place.path != change.path or held(place)[0] != change.before:
        raise ToolError(f"{change.shown} has changed in the meantime", "Read it again")


def _put(place: Place, change: Change) -> None:
    """Put the bytes after in the place of those before; a crash leaves the one or the other."""
    _check(place, change)
    assert place.name is not None
    if change.after is None:
        os.unlink(place.name, dir_fd=place.directory)
    else:
        _replace(place, place.name, change, change.after)


def _replace(place: Place, name: str, change: Change, after: bytes) -> None:
    temporary = f".{token_hex(8)}.tmp"
    descriptor = os.open(temporary, NEW_FILE, NEW_MODE, dir_fd=place.directory)
    try:
        try:
            if change.mode is not None:
                os.fchmod(descriptor, change.mode)
            storage.DISK.write(descriptor, after)
            storage.DISK.sync(descriptor)
        finally:
            os.close(descriptor)
        _check(place, change)
        os.rename(temporary, name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        os.unlink(temporary, dir_fd=place.directory)
        raise

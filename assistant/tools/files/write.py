"""Changing files: `write_file`, `edit_file`, `apply_patch`.

Changes are made all or none, on exactly the bytes they were worked out from.
"""

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated

from pydantic import Field

from assistant.disk import storage
from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.memory.base import Origin
from assistant.memory.open import amending
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.files import patch as patches
from assistant.tools.files.access import Access, Place
from assistant.tools.files.read import PathArgument
from assistant.tools.files.roots import Roots
from assistant.tools.schema import tool
from assistant.workspace.checkpoints import Checkpoints

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

    @property
    def verb(self) -> str:
        """What happens to the file."""
        return "Created" if self.before is None else "Deleted" if self.after is None else "Changed"

    @property
    def text(self) -> str:
        """What it says after the change, empty without a file. Raises ToolError for no text."""
        return self._decoded().removeprefix(BOM)

    def saying(self, text: str) -> "Change":
        """The change to this text, a byte-order mark kept. Raises ToolError as `text` does."""
        bom = BOM if self._decoded().startswith(BOM) else ""
        try:
            return replace(self, after=(bom + text).encode())
        except UnicodeEncodeError as error:
            raise ToolError("the text holds half a surrogate pair, which no file can") from error

    def _decoded(self) -> str:
        data = self.after or b""
        try:
            if b"\0" not in data:
                return data.decode()
        except UnicodeDecodeError:
            pass
        raise ToolError(f"{self.shown} is no UTF-8 text", "Change it with the shell, if you must")


def unchanged(access: Access, path: str) -> Change:
    """What a path holds now, as a change that changes nothing."""
    with access.at(path) as place:
        if place.name is None:
            raise ToolError(f"{place.shown} is a directory")
        before = _held(place)
        mode = stat.S_IMODE(status.st_mode) if (status := place.status()) else None
        return Change(place.path, place.shown, before, before, mode)


def _held(place: Place) -> bytes | None:
    return None if place.status() is None else place.read()


def commit(access: Access, changes: Sequence[Change], checkpoints: Checkpoints) -> None:
    """Make the changes. Raises ToolError if one cannot be made, and then none has been.

    Files that steer or remember are changed through the ledger: under its lock, as its own writes
    are, and so that `memory undo` takes the change back. `checkpoints` keep the others.
    """
    root = access.roots.workspace.root
    guarded = [change for change in changes if access.roots.remembers(change.path)]
    texts = {
        change.path.relative_to(root).as_posix(): change.text
        for change in guarded
        if change.path.is_relative_to(root)
    }
    kept = checkpoints.around([change.path for change in changes if change not in guarded])
    with amending(access.roots.workspace, texts, BY) if texts else nullcontext(), kept:
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
                lost = f"{', '.join(left)} cannot be put back as before"
                raise ToolError(f"{error}; {lost}") from error
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
    lines: list[str] = []
    for change in changes:
        sides = (change.before, change.after)
        names = ("/dev/null" if data is None else change.shown for data in sides)
        lines += (f"{sign} {name}" for sign, name in zip(("---", "+++"), names, strict=True))
        old, new = (data.decode("utf-8", "replace").split("\n") if data else [] for data in sides)
        lines += list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return "\n".join(map(exactly, lines))


def _check(place: Place, change: Change) -> str:
    """The name in the place, which must be the one that was shown, with the bytes shown.

    Raises ToolError if it is not.
    """
    if place.name is None:
        raise ToolError(f"{place.shown} is a directory")
    if place.path != change.path or _held(place) != change.before:
        raise ToolError(f"{change.shown} has changed in the meantime", "Read it again")
    return place.name


def _put(place: Place, change: Change) -> None:
    """Put the bytes after in the place of those before; a crash leaves the one or the other."""
    if change.after is None:
        os.unlink(_check(place, change), dir_fd=place.directory)
        return
    temporary = f".{token_hex(8)}.tmp"
    descriptor = os.open(temporary, NEW_FILE, NEW_MODE, dir_fd=place.directory)
    try:
        try:
            if change.mode is not None:
                os.fchmod(descriptor, change.mode)
            storage.DISK.write(descriptor, change.after)
            storage.DISK.sync(descriptor)
        finally:
            os.close(descriptor)
        name = _check(place, change)
        os.rename(temporary, name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        os.unlink(temporary, dir_fd=place.directory)
        raise


PATCHES = "patches"
"""The group of `apply_patch`."""


def writing_tools(
    roots: Roots, redactor: Redactor, checkpoints: Checkpoints | None = None
) -> list[Tool]:
    """`write_file`, `edit_file` and `apply_patch` below these roots."""
    kept = checkpoints or Checkpoints()
    writing, editing, patching = (
        Access(roots, name) for name in ("write_file", "edit_file", "apply_patch")
    )

    def write_file(
        path: PathArgument, text: Annotated[str, Field(description="The whole text.")]
    ) -> Plan:
        """Create a text file, or replace all of one. Missing directories are made."""
        change = unchanged(writing, path).saying(text)
        done = f"Wrote {change.shown} ({len(change.after or b''):,} bytes)."
        return _planned(writing, redactor, kept, [change], done)

    def edit_file(
        path: PathArgument,
        old_text: Annotated[str, Field(min_length=1, description="Text that is there exactly.")],
        new_text: Annotated[str, Field(description="What takes its place.")],
        replace_all: Annotated[bool, Field(description="Every place, not one.")] = False,
    ) -> Plan:
        """Replace a piece of a text file. `old_text` must match exactly, and in one place only."""
        there = unchanged(editing, path)
        if there.before is None:
            raise ToolError(f"there is no file {path}", "Create it with write_file")
        after, count = replaced(there.text, old_text, new_text, replace_all, path)
        done = f"Replaced {counted(count, 'place')} in {there.shown}."
        return _planned(editing, redactor, kept, [there.saying(after)], done)

    def apply_patch(
        patch: Annotated[str, Field(description="A unified diff: ---, +++ and @@ lines.")],
    ) -> Plan:
        """Apply a unified diff to one or more files, or to none of them if a hunk does not fit.

        `--- /dev/null` creates a file, `+++ /dev/null` deletes one, two names rename it.
        """
        changes = _patched(patching, patch)
        done = "\n".join(f"{change.verb} {change.shown}" for change in changes)
        return _planned(patching, redactor, kept, changes, done)

    return [
        *(tool(each, writes=True) for each in (write_file, edit_file)),
        tool(apply_patch, writes=True, group=PATCHES),
    ]


def replaced(before: str, old: str, new: str, every: bool, path: str) -> tuple[str, int]:
    """The text with `old` replaced, and how often. Raises ToolError unless it is unambiguous."""
    if old not in before and "\r\n" in before:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = before.count(old)
    if old == new:
        raise ToolError("old_text and new_text are the same")
    if count == 0:
        raise ToolError(f"old_text was found 0 times in {path}{_nearest(before, old)}")
    if count > 1 and not every:
        raise ToolError(
            f"old_text was found {count} times in {path}",
            "Give more of the text around it, or replace_all",
        )
    return before.replace(old, new), count


def _nearest(text: str, old: str) -> str:
    """Where the first line of what was sought stands in other words of white space."""
    wanted = old.strip().split("\n")[0].strip()
    lines = [n for n, line in enumerate(text.split("\n"), 1) if wanted and wanted in line]
    if not lines:
        return ""
    return f"; its first line is at line {', '.join(map(str, lines[:3]))}: compare the white space"


def _patched(access: Access, text: str) -> list[Change]:
    """The changes of a whole patch, each file once, worked out before any is made."""
    changes: dict[Path, Change] = {}

    def current(path: str) -> Change:
        found = unchanged(access, path)
        return changes.get(found.path, found)

    for patch in patches.parse(text):
        source = None if patch.old is None else current(patch.old)
        if source is not None and source.after is None:
            raise ToolError(f"the patch changes {source.shown}, which is not there")
        after = patches.apply(source.text if source else "", patch)
        if source is not None and patch.new != patch.old:
            changes[source.path] = replace(source, after=None)
        if patch.new is None:
            if after and patch.hunks:
                raise ToolError(f"the patch deletes {patch.name} but leaves lines of it")
            continue
        target = current(patch.new)
        if patch.new != patch.old and target.after is not None:
            raise ToolError(f"the patch creates {target.shown}, which is there already")
        like = source or target
        changes[target.path] = replace(target, after=like.saying(after).after, mode=like.mode)
    return [change for change in changes.values() if change.before != change.after]


def _planned(
    access: Access, redactor: Redactor, kept: Checkpoints, changes: list[Change], done: str
) -> Plan:
    """The plan of making these changes, which ask if they delete, steer or remember."""
    guarded = [change for change in changes if access.roots.guarded(change.path)]
    brought: set[str] = set()
    for change in changes:
        brought |= _check_secrets(redactor, change, guarded=change in guarded)
    executed = sorted(filter(None, (access.roots.executed(change.path) for change in changes)))
    warning = f"Other programs run what {' and '.join(executed)} says.\n" if executed else ""
    deletes = any(change.after is None for change in changes)

    def run() -> ToolResult:
        commit(access, changes, kept)
        return ToolResult(done, compact=done.partition("\n")[0], diff=diff(changes))

    return Plan(
        run,
        Danger.DANGEROUS if guarded or deletes else Danger.MODERATE,
        detail=lambda: warning + diff(changes),
        secrets=tuple(sorted(brought)),
        guarded=bool(guarded),
        places=tuple(str(change.path) for change in changes),
    )


def _check_secrets(redactor: Redactor, change: Change, *, guarded: bool) -> set[str]:
    """The known secrets that a file holds after a change alone: any command can read them there.

    Refuses a stand-in that stands for nothing here, and a secret new to a guarded file.
    """
    before, after = (
        (data or b"").decode("utf-8", "replace") for data in (change.before, change.after)
    )
    unknown = stand_ins(after) - stand_ins(before)
    if unknown:
        raise ToolError(f"{', '.join(sorted(unknown))} is not known here", "Read the file again")
    exposed = redactor.new_stand_ins(after) - redactor.new_stand_ins(before) if guarded else set()
    if exposed:
        names = ", ".join(sorted(exposed))
        raise ToolError(f"{change.shown} would come to hold {names}", "Leave the secret out")
    known = redactor.known().items()
    return {name for name, secret in known if secret in after and secret not in before}

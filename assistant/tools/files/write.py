"""Tools that change files: `write_file`, `edit_file`, `apply_patch`.

Either all changes are made or none, and only to the exact bytes they were planned on.
"""

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assistant.disk import storage
from assistant.display import counted, exactly, in_words
from assistant.errors import ToolError
from assistant.memory.base import Origin
from assistant.memory.open import amending
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.tools.base import Plan, Tool, ToolResult, tool
from assistant.tools.files import patch as patches
from assistant.tools.files.access import Access, Location, Roots
from assistant.tools.files.read import PathArgument
from assistant.workspace.checkpoints import Checkpoints

BOM = "\ufeff"
BY = Origin("assistant")
UNENDED = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Change:
    """A file's bytes before and after; None if the file does not exist.

    `path` is real and absolute. `mode` holds the permission bits, None for a new file.
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
        """The text after the change, empty without a file. Raises ToolError if it is not text."""
        return self._decoded().removeprefix(BOM)

    def saying(self, text: str) -> "Change":
        """Return the change to this text, keeping a byte-order mark. Raises ToolError like
        `text`."""
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
        raise ToolError(f"{self.shown} is not UTF-8 text", "Change it with the shell, if you must")


def unchanged(access: Access, path: str) -> Change:
    """Return the file at a path as a change without effect."""
    with access.at(path) as location:
        if location.name is None:
            raise ToolError(f"{location.shown} is a directory")
        before = _bytes_of(location)
        mode = stat.S_IMODE(status.st_mode) if (status := location.status()) else None
        return Change(location.path, location.shown, before, before, mode)


def _bytes_of(location: Location) -> bytes | None:
    return None if location.status() is None else location.read()


def commit(access: Access, changes: Sequence[Change], checkpoints: Checkpoints) -> None:
    """Make the changes. Raises ToolError if one cannot be made, after reverting the others.

    Files that steer or remember are changed through the ledger, under its lock, so that `memory
    undo` can revert the change. `checkpoints` keep the others.
    """
    root = access.roots.workspace.root
    guarded = [change for change in changes if access.roots.remembers(change.path)]
    texts = {
        change.path.relative_to(root).as_posix(): change.text
        for change in guarded
        if change.path.is_relative_to(root)
    }
    checkpointed = checkpoints.around([change.path for change in changes if change not in guarded])
    with amending(access.roots.workspace, texts, BY) if texts else nullcontext(), checkpointed:
        for change in changes:
            with access.at(str(change.path)) as location:
                _verified_name(location, change)
        applied: list[Change] = []
        made: list[Path] = []
        try:
            for change in changes:
                with access.at(str(change.path), made) as location:
                    _write_change(location, change)
                    applied.append(change)
                    storage.DISK.sync(location.directory)
        except BaseException as error:
            unrestored = [
                change.shown for change in reversed(applied) if not _revert(access, change)
            ]
            for directory in reversed(made):
                with suppress(OSError):
                    directory.rmdir()
            if unrestored:
                lost = f"{', '.join(unrestored)} cannot be restored"
                raise ToolError(f"{error}; {lost}") from error
            raise


def _revert(access: Access, change: Change) -> bool:
    try:
        with access.at(str(change.path)) as location:
            _write_change(location, replace(change, before=change.after, after=change.before))
    except (ToolError, OSError):
        return False
    return True


def diff(changes: Sequence[Change]) -> str:
    """Render the changes as a word diff, with every hidden character visible."""
    lines: list[str] = []
    for change in changes:
        sides = (change.before, change.after)
        names = ("/dev/null" if data is None else change.shown for data in sides)
        lines += (f"{sign} {name}" for sign, name in zip(("---", "+++"), names, strict=True))
        old, new = map(_lines, sides)
        lines += in_words(list(difflib.unified_diff(old, new, lineterm=""))[2:])
    return "\n".join(exactly(row) for line in lines for row in line.split("\n"))


def _lines(data: bytes | None) -> list[str]:
    """Return the lines of a file; the last one gets a second row if it does not end in a line
    feed."""
    *lines, last = (data or b"").decode("utf-8", "replace").split("\n")
    return [*lines, f"{last}\n{UNENDED}"] if last else lines


def _verified_name(location: Location, change: Change) -> str:
    """Return the name of the location, after checking that the file is the one shown, with the same
    bytes.

    Raises ToolError otherwise.
    """
    if location.name is None:
        raise ToolError(f"{location.shown} is a directory")
    if location.path != change.path or _bytes_of(location) != change.before:
        raise ToolError(f"{change.shown} has changed in the meantime", "Read it again")
    return location.name


def _write_change(location: Location, change: Change) -> None:
    """Replace the old bytes by the new ones; a crash leaves one or the other."""
    if change.after is None:
        os.unlink(_verified_name(location, change), dir_fd=location.directory)
        return
    name = _verified_name(location, change)
    check = partial(_verified_name, location, change)
    storage.replace_in(location.directory, name, change.after, change.mode, check)


PATCHES = "patches"
"""The tool group of `apply_patch`."""


def writing_tools(
    roots: Roots, redactor: Redactor, checkpoints: Checkpoints | None = None
) -> list[Tool]:
    """Return `write_file`, `edit_file` and `apply_patch` below these roots."""
    saved = checkpoints or Checkpoints()
    writing, editing, patching = (
        Access(roots, name) for name in ("write_file", "edit_file", "apply_patch")
    )

    def write_file(
        path: PathArgument, text: Annotated[str, Field(description="The whole text.")]
    ) -> Plan:
        """Create a text file, or replace all of one. Missing directories are made."""
        change = unchanged(writing, path).saying(text)
        message = f"Wrote {change.shown} ({len(change.after or b''):,} bytes)."
        return _plan(writing, redactor, saved, [change], message)

    def edit_file(
        path: PathArgument,
        old_text: Annotated[str, Field(min_length=1, description="Text exactly as in the file.")],
        new_text: Annotated[str, Field(description="Its replacement.")],
        replace_all: Annotated[bool, Field(description="All occurrences, not one.")] = False,
    ) -> Plan:
        """Replace a piece of a text file. `old_text` must match exactly, and in one place only."""
        current = unchanged(editing, path)
        if current.before is None:
            raise ToolError(f"there is no file {path}", "Create it with write_file")
        after, count = replaced(current.text, old_text, new_text, replace_all, path)
        message = f"Replaced {counted(count, 'place')} in {current.shown}."
        return _plan(editing, redactor, saved, [current.saying(after)], message)

    def apply_patch(
        patch: Annotated[str, Field(description="A unified diff: ---, +++ and @@ lines.")],
    ) -> Plan:
        """Apply a unified diff to one or more files, or to none of them if a hunk does not fit.

        `--- /dev/null` creates a file, `+++ /dev/null` deletes one, two names rename it.
        """
        changes = _patched(patching, patch)
        message = "\n".join(f"{change.verb} {change.shown}" for change in changes)
        return _plan(patching, redactor, saved, changes, message)

    return [
        *(tool(function, writes=True) for function in (write_file, edit_file)),
        tool(apply_patch, writes=True, group=PATCHES),
    ]


def replaced(before: str, old: str, new: str, every: bool, path: str) -> tuple[str, int]:
    """Return the text with `old` replaced, and the count. Raises ToolError if it is ambiguous."""
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
    """Return a hint at lines that match the first line of `old` except for white space."""
    first_line = old.strip().split("\n")[0].strip()
    lines = [n for n, line in enumerate(text.split("\n"), 1) if first_line and first_line in line]
    if not lines:
        return ""
    return f"; its first line is at line {', '.join(map(str, lines[:3]))}: compare the white space"


def _patched(access: Access, text: str) -> list[Change]:
    """Return the changes of a whole patch, one per file, before any is made."""
    changes: dict[Path, Change] = {}

    def current(path: str) -> Change:
        unchanged_file = unchanged(access, path)
        return changes.get(unchanged_file.path, unchanged_file)

    for patch in patches.parse(text):
        source = None if patch.old is None else current(patch.old)
        if source is not None and source.after is None:
            raise ToolError(f"the patch changes {source.shown}, which does not exist")
        after = patches.apply(source.text if source else "", patch)
        if source is not None and patch.new != patch.old:
            changes[source.path] = replace(source, after=None)
        if patch.new is None:
            if after and patch.hunks:
                raise ToolError(f"the patch deletes {patch.name} but leaves some of its lines")
            continue
        target = current(patch.new)
        if patch.new != patch.old and target.after is not None:
            raise ToolError(f"the patch creates {target.shown}, which exists already")
        template = source or target
        changes[target.path] = replace(
            target, after=template.saying(after).after, mode=template.mode
        )
    return [change for change in changes.values() if change.before != change.after]


def _plan(
    access: Access,
    redactor: Redactor,
    checkpoints: Checkpoints,
    changes: list[Change],
    message: str,
) -> Plan:
    """Return the plan of these changes, which need approval if they delete, steer or remember."""
    guarded = [change for change in changes if access.roots.guarded(change.path)]
    secrets: set[str] = set()
    for change in changes:
        secrets |= _check_secrets(redactor, change, guarded=change in guarded)
    executed = sorted(filter(None, (access.roots.executed(change.path) for change in changes)))
    warning = f"Other programs run what {' and '.join(executed)} says.\n" if executed else ""
    deletes = any(change.after is None for change in changes)

    def run() -> ToolResult:
        commit(access, changes, checkpoints)
        return ToolResult(message, compact=message.partition("\n")[0], diff=diff(changes))

    return Plan(
        run,
        detail=lambda: warning + diff(changes),
        dangerous=bool(guarded) or deletes,
        secrets=tuple(sorted(secrets)),
        guarded=bool(guarded),
        paths=tuple(str(change.path) for change in changes),
    )


def _check_secrets(redactor: Redactor, change: Change, *, guarded: bool) -> set[str]:
    """Return the known secrets that a file contains only after the change: any command can read
    them.

    Raises ToolError for an unknown stand-in, and for a secret that is new to a guarded file.
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
        raise ToolError(f"{change.shown} would then contain {names}", "Leave the secret out")
    secrets = redactor.known().items()
    return {name for name, secret in secrets if secret in after and secret not in before}

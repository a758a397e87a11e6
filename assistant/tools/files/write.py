"""Changing files: `write_file`, `edit_file`, `apply_patch`.

Changes are made all or none, on exactly the bytes they were worked out from.
"""

import difflib
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Annotated

from pydantic import Field

from assistant.disk import storage
from assistant.display import exactly
from assistant.errors import ToolError
from assistant.memory.base import Origin
from assistant.memory.door import amending
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.files import patch as patches
from assistant.tools.files.access import Access, Place
from assistant.tools.files.read import PathArgument
from assistant.tools.files.roots import Roots
from assistant.tools.schema import tool

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
    guarded = [change for change in changes if access.roots.remembers(change.path)]
    texts = _guarded_texts(access.roots, guarded)
    with amending(access.roots.workspace, texts, BY) if texts else nullcontext():
        _commit(access, changes)


def _guarded_texts(roots: Roots, changes: Sequence[Change]) -> dict[str, str]:
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


PATCHES = "patches"
"""The group of `apply_patch`."""
Planning = Callable[[list[Change], str], Plan]
"""The plan of making some changes, and what to say when they are made."""


def writing_tools(roots: Roots, redactor: Redactor) -> list[Tool]:
    """`write_file`, `edit_file` and `apply_patch` below these roots."""
    makers = {"write_file": _write_tool, "edit_file": _edit_tool, "apply_patch": _patch_tool}
    ways = [(make, Access(roots, name)) for name, make in makers.items()]
    return [make(access, partial(_planned, access, redactor)) for make, access in ways]


def _write_tool(access: Access, plan: Planning) -> Tool:
    def write_file(
        path: PathArgument, text: Annotated[str, Field(description="The whole text.")]
    ) -> Plan:
        """Create a text file, or replace all of one. Missing directories are made."""
        change = _change(access, path, lambda before: text)
        done = f"Wrote {change.shown} ({len(change.after or b''):,} bytes)."
        return plan([change], done)

    return tool(write_file, writes=True)


def _edit_tool(access: Access, plan: Planning) -> Tool:
    def edit_file(
        path: PathArgument,
        old_text: Annotated[str, Field(min_length=1, description="Text that is there exactly.")],
        new_text: Annotated[str, Field(description="What takes its place.")],
        replace_all: Annotated[bool, Field(description="Every place, not one.")] = False,
    ) -> Plan:
        """Replace a piece of a text file. `old_text` must match exactly, and in one place only."""
        count = 0

        def edited(before: str | None) -> str:
            nonlocal count
            if before is None:
                raise ToolError(f"there is no file {path}", "Create it with write_file")
            after, count = replaced(before, old_text, new_text, replace_all, path)
            return after

        change = _change(access, path, edited)
        done = f"Replaced {count} place{'s' if count > 1 else ''} in {change.shown}."
        return plan([change], done)

    return tool(edit_file, writes=True)


def _patch_tool(access: Access, plan: Planning) -> Tool:
    def apply_patch(
        patch: Annotated[str, Field(description="A unified diff: ---, +++ and @@ lines.")],
    ) -> Plan:
        """Apply a unified diff to one or more files, or to none of them if a hunk does not fit.

        `--- /dev/null` creates a file, `+++ /dev/null` deletes one, two names rename it.
        """
        changes = _patched(access, patch)
        done = "\n".join(f"{_verb(change)} {change.shown}" for change in changes)
        return plan(changes, done)

    return tool(apply_patch, writes=True, group=PATCHES)


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


def _change(access: Access, path: str, edit: Callable[[str | None], str]) -> Change:
    """The change that `edit` makes to a text file, its byte-order mark kept."""
    with access.at(path) as place:
        if place.name is None:
            raise ToolError(f"{place.shown} is a directory")
        before, mode = held(place)
        text = None if before is None else _text(before, place.shown)
        bom = BOM if text is not None and text.startswith(BOM) else ""
        after = bom + edit(None if text is None else text.removeprefix(BOM))
        return Change(place.path, place.shown, before, _bytes(after), mode)


def _text(data: bytes, shown: str) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{shown} is no UTF-8 text", "Change it with the shell, if you must")


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError("the text holds half a surrogate pair, which no file can") from error


def _patched(access: Access, text: str) -> list[Change]:
    """The changes of a whole patch, each file once, worked out before any is made."""
    changes: dict[Path, Change] = {}
    for each in patches.parse(text):
        _stage(access, each, changes)
    return [change for change in changes.values() if change.before != change.after]


def _stage(access: Access, patch: patches.FilePatch, changes: dict[Path, Change]) -> None:
    source = None if patch.old is None else _current(access, patch.old, changes)
    text = "" if source is None else _held(source)
    bom = BOM if text.startswith(BOM) else ""
    after = patches.apply(text.removeprefix(BOM), patch)
    if source is not None and patch.new != patch.old:
        changes[source.path] = replace(source, after=None)
    if patch.new is None:
        if after and patch.hunks:
            raise ToolError(f"the patch deletes {patch.name} but leaves lines of it")
        return
    target = _current(access, patch.new, changes)
    if patch.new != patch.old and target.after is not None:
        raise ToolError(f"the patch creates {target.shown}, which is there already")
    mode = target.mode if source is None else source.mode
    changes[target.path] = replace(target, after=_bytes(bom + after), mode=mode)


def _held(source: Change) -> str:
    if source.after is None:
        raise ToolError(f"the patch changes {source.shown}, which is not there")
    return _text(source.after, source.shown)


def _current(access: Access, path: str, changes: dict[Path, Change]) -> Change:
    """What a path holds by the changes staged so far, as a change that changes nothing."""
    with access.at(path) as place:
        if place.name is None:
            raise ToolError(f"{place.shown} is a directory")
        if place.path in changes:
            return changes[place.path]
        before, mode = held(place)
        return Change(place.path, place.shown, before, before, mode)


def _planned(access: Access, redactor: Redactor, changes: list[Change], done: str) -> Plan:
    """The plan of making these changes, which ask if they delete, steer or remember."""
    guarded = [change for change in changes if access.roots.guarded(change.path)]
    for change in changes:
        _check_secrets(redactor, change, guarded=change in guarded)
    brought = {each for change in changes for each in _brought(redactor, change)}
    executed = sorted(filter(None, (access.roots.executed(change.path) for change in changes)))
    warning = f"Other programs run what {' and '.join(executed)} says.\n" if executed else ""
    deletes = any(change.after is None for change in changes)

    def run() -> ToolResult:
        commit(access, changes)
        return ToolResult(done, compact=done.partition("\n")[0])

    return Plan(
        run,
        Danger.DANGEROUS if guarded or deletes else Danger.MODERATE,
        detail=lambda: warning + diff(changes),
        secrets=tuple(sorted(brought)),
        guarded=bool(guarded),
        places=tuple(str(change.path) for change in changes),
    )


def _check_secrets(redactor: Redactor, change: Change, *, guarded: bool) -> None:
    """Refuse a stand-in that stands for nothing here, and a secret new to a guarded file."""
    before, after = _texts(change)
    unknown = stand_ins(after) - stand_ins(before)
    if unknown:
        raise ToolError(f"{', '.join(sorted(unknown))} is not known here", "Read the file again")
    exposed = redactor.new_stand_ins(after) - redactor.new_stand_ins(before) if guarded else set()
    if exposed:
        names = ", ".join(sorted(exposed))
        raise ToolError(f"{change.shown} would come to hold {names}", "Leave the secret out")


def _brought(redactor: Redactor, change: Change) -> set[str]:
    """The known secrets that a file holds after a change alone: any command can read them there."""
    before, after = _texts(change)
    known = redactor.known().items()
    return {each for each, secret in known if secret in after and secret not in before}


def _texts(change: Change) -> tuple[str, str]:
    """What the file says before and after."""
    before, after = (
        (data or b"").decode("utf-8", "replace") for data in (change.before, change.after)
    )
    return before, after


def _verb(change: Change) -> str:
    return "Created" if change.before is None else "Deleted" if change.after is None else "Changed"

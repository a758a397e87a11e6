"""Changing files: `write_file`, `edit_file`, `apply_patch`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assistant.errors import ToolError
from assistant.secrets.redactor import Redactor
from assistant.secrets.stand_ins import stand_ins
from assistant.tools.base import Danger, Plan, Tool, ToolResult
from assistant.tools.files import patch as patches
from assistant.tools.files.access import Access
from assistant.tools.files.changes import BOM, Change, commit, diff, held
from assistant.tools.files.read import PathArgument
from assistant.tools.files.roots import Roots
from assistant.tools.schema import tool

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
    deletes = any(change.after is None for change in changes)

    def run() -> ToolResult:
        commit(access, changes)
        return ToolResult(done, compact=done.partition("\n")[0])

    return Plan(
        run,
        Danger.DANGEROUS if guarded or deletes else Danger.MODERATE,
        detail=partial(diff, changes),
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

"""Unified diffs as language models write them: parsed with patience, applied with none.

Libraries (unidiff, whatthepatch) refuse a hunk whose header miscounts its lines, or misplace it;
models miscount all the time. So counts and line numbers are hints here, and the context decides:
each hunk must match its file exactly, in one place only.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.errors import ToolError

NOWHERE = "/dev/null"
HUNK = re.compile(r"@@(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@| ?\.\.\.| )?")
GIT_HEADER = re.compile(
    r'diff --git (?P<old>"(?:[^"\\]|\\.)*"|a/.*?) (?P<new>"(?:[^"\\]|\\.)*"|b/.*)'
)
ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\"}
FENCE = "```"


@dataclass(slots=True)
class Hunk:
    """Lines to find and what to put in their place. `start` is 1-based, None if not given.

    A line is its sign (` `, `-` or `+`) and its text without a newline.
    """

    header: str
    start: int | None
    lines: list[tuple[str, str]] = field(default_factory=list)
    ends_old: bool = False
    ends_new: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that the file must hold."""
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that take their place."""
        return [text for sign, text in self.lines if sign != "-"]


@dataclass(slots=True)
class FilePatch:
    """What happens to one file: `old` None creates it, `new` None deletes it."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path to speak of it by."""
        return self.new or self.old or ""


def parse(text: str) -> list[FilePatch]:
    """The files of a patch, in order. Raises ToolError if it is none."""
    lines = [line.removesuffix("\r") for line in text.strip("\n").split("\n")]
    if lines[0].startswith(FENCE):
        lines = lines[1 : -1 if lines[-1].startswith(FENCE) else None]
    files: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if _is_header(lines, at):
            old, new = _paths(line[4:], lines[at + 1][4:])
            announced = files[-1] if files and not files[-1].hunks else FilePatch(None, None)
            if not {old, new} - {None} <= {announced.old, announced.new}:
                files.append(FilePatch(old, new))
            at += 2
        elif line.startswith("@@"):
            at = _hunk(lines, at, files)
        else:
            _note(line, files)
            at += 1
    files = [file for file in files if file.old != file.new or file.hunks]
    if not files:
        raise ToolError("this is no unified diff", "Give `--- a/FILE`, `+++ b/FILE`, `@@` hunks")
    return files


def apply(text: str, patch: FilePatch) -> str:
    """The text with every hunk of the patch applied. Raises ToolError that names the hunk."""
    lines = io.StringIO(text, newline="\n").readlines()  # only a line feed ends a line
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    bare = [line.rstrip("\r\n") for line in lines]
    at, moved = 0, 0
    result: list[str] = []
    for number, hunk in enumerate(patch.hunks, 1):
        place = _find(bare, hunk, at, moved, f"hunk {number} of {patch.name} ({hunk.header})")
        moved = moved if hunk.start is None else place - _expected(hunk, 0)
        result += lines[at:place]
        at = place
        for sign, line in hunk.lines:
            if sign != "-":  # context as the file has it, additions with its own line ending
                result.append(line + ending if sign == "+" else lines[at])
            at += sign != "+"
    whole = "".join(
        line if line.endswith("\n") else line + ending for line in [*result, *lines[at:]]
    )
    closed = at < len(lines) or not patch.hunks or not (hunk.ends_old or hunk.ends_new)
    keeps_end = (not text or text.endswith("\n")) if closed else not hunk.ends_new
    return whole if keeps_end else whole.removesuffix(ending)


def _note(line: str, files: list[FilePatch]) -> None:
    """Take in a line that is of no hunk: one of git's, or somebody's words."""
    if line.startswith("diff --git "):
        match = GIT_HEADER.fullmatch(line)
        if match is None:
            raise ToolError(f"this header is not understood: {line}")
        old, new = _unquoted(match["old"]), _unquoted(match["new"])
        files.append(FilePatch(old.removeprefix("a/"), new.removeprefix("b/")))
    elif line.startswith(("GIT binary patch", "Binary files ")):
        raise ToolError("binary patches are not supported", "Write such a file otherwise")
    elif not files:
        return
    elif line.startswith("new file mode"):
        files[-1].old = None
    elif line.startswith("deleted file mode"):
        files[-1].new = None
    elif line.startswith("rename from "):
        files[-1].old = _unquoted(line.removeprefix("rename from "))
    elif line.startswith("rename to "):
        files[-1].new = _unquoted(line.removeprefix("rename to "))


def _is_header(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("--- ") and "".join(lines[at + 1 : at + 2]).startswith("+++ ")


def _hunk(lines: Sequence[str], at: int, files: list[FilePatch]) -> int:
    """Take in the hunk whose header stands at a line; where it ends.

    Its own counts tell deleted lines that look like headers, and blank lines that part it from
    what follows.
    """
    match = HUNK.match(lines[at])
    if match is None or not files:
        raise ToolError(f"a hunk stands before any file: {lines[at]}")
    hunk = Hunk(lines[at], int(match[1]) if match[1] else None)
    old, new = _count(match[2], match[1]), _count(match[4], match[3])
    at += 1
    while at < len(lines):
        line, is_counted = lines[at], old <= 0 and new <= 0
        if line and line[0] not in " +-\\":
            break
        if _is_header(lines, at):
            if is_counted or (old, new) != (1, 1):
                break
        elif is_counted and line in ("", "-- "):
            break
        at += 1
        if line.startswith("\\"):
            hunk.ends_old |= hunk.lines[-1:] != [] and hunk.lines[-1][0] != "+"
            hunk.ends_new |= hunk.lines[-1:] != [] and hunk.lines[-1][0] != "-"
            continue
        sign, text = (line[0], line[1:]) if line else (" ", "")
        hunk.lines.append((sign, text))
        old -= sign != "+"
        new -= sign != "-"
    for _ in range(-min(old, new)):
        if hunk.lines and hunk.lines[-1] == (" ", ""):
            hunk.lines.pop()
    files[-1].hunks.append(hunk)
    return at


def _paths(old: str, new: str) -> tuple[str | None, str | None]:
    """The two paths of a header, without git's `a/` and `b/`."""
    first, second = (_unquoted(path.partition("\t")[0].rstrip()) for path in (old, new))
    if first.startswith("a/") and (second.startswith("b/") or second == NOWHERE):
        first, second = first[2:], second.removeprefix("b/")
    elif first == NOWHERE:
        second = second.removeprefix("b/")
    return (None if first == NOWHERE else first), (None if second == NOWHERE else second)


def _unquoted(path: str) -> str:
    """A path as git quotes it (C escapes within quotes), or as it is."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path
    raw = ESCAPE.sub(
        lambda m: bytes([int(m[1], 8) & 255]) if len(m[1]) == 3 else ESCAPED.get(m[1], m[1]),
        path[1:-1].encode(),
    )
    return raw.decode("utf-8", "replace")


def _count(lines: str | None, start: str | None) -> int:
    return 0 if start is None else int(lines) if lines is not None else 1


def _expected(hunk: Hunk, moved: int) -> int:
    """Where the header says the hunk starts, from 0; after line `start` if it only adds."""
    assert hunk.start is not None
    return max(hunk.start - (1 if hunk.old else 0) + moved, 0)


def _find(lines: list[str], hunk: Hunk, at: int, moved: int, name: str) -> int:
    """The one place, from line `at` on, that holds the hunk's old lines."""
    expected = None if hunk.start is None else _expected(hunk, moved)
    if expected is not None and at <= expected <= len(lines) and _matches(lines, hunk, expected):
        return expected
    places = [place for place in range(at, len(lines) + 1) if _matches(lines, hunk, place)]
    if len(places) == 1:
        return places[0]
    if not places or not hunk.old:
        where = at if expected is None else expected
        raise ToolError(f"{name} does not apply: {_difference(lines, hunk.old, where)}")
    found = ", ".join(str(place + 1) for place in places[:5])
    raise ToolError(f"{name} matches in {len(places)} places (lines {found})", "Add context")


def _matches(lines: list[str], hunk: Hunk, place: int) -> bool:
    return lines[place : place + len(hunk.old)] == hunk.old


def _difference(lines: list[str], old: list[str], place: int) -> str:
    for number, wanted in enumerate(old, place):
        if number >= len(lines):
            return f"it expects {wanted!r} at line {number + 1}, where the file has ended"
        if lines[number] != wanted:
            return f"it expects {wanted!r} at line {number + 1}, the file has {lines[number]!r}"
    return f"the file has {len(lines)} lines and the hunk no context to find its place"

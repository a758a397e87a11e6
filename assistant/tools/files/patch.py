"""Parses unified diffs leniently and applies them strictly.

Libraries (unidiff, whatthepatch) reject a hunk whose header miscounts its lines, or misplace it,
and language models miscount all the time. So here counts and line numbers are hints and the context
decides: each hunk must match its file exactly, at one position only.
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


@dataclass(slots=True)
class Hunk:
    """Lines to find and their replacement. `start` is 1-based, None if not given.

    Each line is its sign (` `, `-` or `+`) and its text without a newline.
    """

    header: str
    start: int | None
    lines: list[tuple[str, str]] = field(default_factory=list)
    ends_old: bool = False
    ends_new: bool = False

    @property
    def old(self) -> list[str]:
        """The lines that the file must contain."""
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that replace them."""
        return [text for sign, text in self.lines if sign != "-"]


@dataclass(slots=True)
class FilePatch:
    """The change to one file: `old` is None if it is created, `new` if it is deleted."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.new or self.old or ""


def parse(text: str) -> list[FilePatch]:
    """Return the files of a patch, in order. Raises ToolError if the text is not a patch."""
    lines = [line.removesuffix("\r") for line in text.strip("\n").split("\n")]
    files: list[FilePatch] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if _is_header(lines, index):
            old, new = _paths(line[4:], lines[index + 1][4:])
            current = files[-1] if files and not files[-1].hunks else FilePatch(None, None)
            if not {old, new} - {None} <= {current.old, current.new}:
                files.append(FilePatch(old, new))
            index += 2
        elif line.startswith("@@"):
            index = _read_hunk(lines, index, files)
        else:
            _read_note(line, files)
            index += 1
    files = [file for file in files if file.old != file.new or file.hunks]
    if not files:
        raise ToolError("this is not a unified diff", "Give `--- a/FILE`, `+++ b/FILE`, `@@` hunks")
    return files


def apply(text: str, patch: FilePatch) -> str:
    """Return the text with every hunk applied. Raises ToolError that names the failing hunk."""
    lines = io.StringIO(text, newline="\n").readlines()  # only a line feed ends a line
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    stripped = [line.rstrip("\r\n") for line in lines]
    index, drift = 0, 0
    result: list[str] = []
    for number, hunk in enumerate(patch.hunks, 1):
        position = _find(
            stripped, hunk, index, drift, f"hunk {number} of {patch.name} ({hunk.header})"
        )
        drift = drift if hunk.start is None else position - _expected(hunk, 0)
        result += lines[index:position]
        index = position
        for sign, line in hunk.lines:
            if sign != "-":  # context as in the file, additions with its line ending
                result.append(line + ending if sign == "+" else lines[index])
            index += sign != "+"
    patched = "".join(
        line if line.endswith("\n") else line + ending for line in [*result, *lines[index:]]
    )
    end_untouched = index < len(lines) or not patch.hunks or not (hunk.ends_old or hunk.ends_new)
    keeps_end = (not text or text.endswith("\n")) if end_untouched else not hunk.ends_new
    return patched if keeps_end else patched.removesuffix(ending)


def _read_note(line: str, files: list[FilePatch]) -> None:
    """Read a line outside any hunk: git's metadata, or prose."""
    if line.startswith("diff --git "):
        match = GIT_HEADER.fullmatch(line)
        if match is None:
            raise ToolError(f"this header is not understood: {line}")
        old, new = _unquote(match["old"]), _unquote(match["new"])
        files.append(FilePatch(old.removeprefix("a/"), new.removeprefix("b/")))
    elif line.startswith(("GIT binary patch", "Binary files ")):
        raise ToolError("binary patches are not supported", "Write such a file by other means")
    elif not files:
        return
    elif line.startswith("new file mode"):
        files[-1].old = None
    elif line.startswith("deleted file mode"):
        files[-1].new = None
    elif line.startswith("rename from "):
        files[-1].old = _unquote(line.removeprefix("rename from "))
    elif line.startswith("rename to "):
        files[-1].new = _unquote(line.removeprefix("rename to "))


def _is_header(lines: Sequence[str], index: int) -> bool:
    return lines[index].startswith("--- ") and "".join(lines[index + 1 : index + 2]).startswith(
        "+++ "
    )


def _read_hunk(lines: Sequence[str], index: int, files: list[FilePatch]) -> int:
    """Read the hunk whose header is at `index`, and return the index after it.

    The header's counts distinguish deleted lines that look like headers, and blank lines, from what
    follows.
    """
    match = HUNK.match(lines[index])
    if match is None or not files:
        raise ToolError(f"a hunk comes before any file: {lines[index]}")
    hunk = Hunk(lines[index], int(match[1]) if match[1] else None)
    old, new = _count(match[2], match[1]), _count(match[4], match[3])
    index += 1
    while index < len(lines):
        line, is_counted = lines[index], old <= 0 and new <= 0
        if line and line[0] not in " +-\\":
            break
        if _is_header(lines, index):
            if is_counted or (old, new) != (1, 1):
                break
        elif is_counted and line in ("", "-- "):
            break
        index += 1
        if line.startswith("\\"):
            hunk.ends_old |= hunk.lines[-1:] != [] and hunk.lines[-1][0] != "+"
            hunk.ends_new |= hunk.lines[-1:] != [] and hunk.lines[-1][0] != "-"
            continue
        sign, text = (line[0], line[1:]) if line else (" ", "")
        hunk.lines.append((sign, text))
        old -= sign != "+"
        new -= sign != "-"
    files[-1].hunks.append(hunk)
    return index


def _paths(old: str, new: str) -> tuple[str | None, str | None]:
    """Return the two paths of a header, without git's `a/` and `b/`."""
    first, second = (_unquote(path.partition("\t")[0].rstrip()) for path in (old, new))
    if first.startswith("a/") and (second.startswith("b/") or second == NOWHERE):
        first, second = first[2:], second.removeprefix("b/")
    elif first == NOWHERE:
        second = second.removeprefix("b/")
    return (None if first == NOWHERE else first), (None if second == NOWHERE else second)


def _unquote(path: str) -> str:
    """Decode a path that git has quoted (C escapes within quotes)."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path
    raw = ESCAPE.sub(
        lambda m: bytes([int(m[1], 8) & 255]) if len(m[1]) == 3 else ESCAPED.get(m[1], m[1]),
        path[1:-1].encode(),
    )
    return raw.decode("utf-8", "replace")


def _count(lines: str | None, start: str | None) -> int:
    return 0 if start is None else int(lines) if lines is not None else 1


def _expected(hunk: Hunk, drift: int) -> int:
    """Return the 0-based start that the header gives; after line `start` if it only adds."""
    assert hunk.start is not None
    return max(hunk.start - (1 if hunk.old else 0) + drift, 0)


def _find(lines: list[str], hunk: Hunk, start: int, drift: int, name: str) -> int:
    """Return the only position, from `start` on, where the hunk's old lines match."""
    expected = None if hunk.start is None else _expected(hunk, drift)
    if expected is not None and start <= expected <= len(lines) and _matches(lines, hunk, expected):
        return expected
    places = [
        position for position in range(start, len(lines) + 1) if _matches(lines, hunk, position)
    ]
    if len(places) == 1:
        return places[0]
    if not places or not hunk.old:
        reported = start if expected is None else expected
        raise ToolError(f"{name} does not apply: {_difference(lines, hunk.old, reported)}")
    line_numbers = ", ".join(str(position + 1) for position in places[:5])
    raise ToolError(f"{name} matches in {len(places)} places (lines {line_numbers})", "Add context")


def _matches(lines: list[str], hunk: Hunk, position: int) -> bool:
    return lines[position : position + len(hunk.old)] == hunk.old


def _difference(lines: list[str], old: list[str], position: int) -> str:
    for number, line in enumerate(old, position):
        if number >= len(lines):
            return f"it expects {line!r} at line {number + 1}, where the file has ended"
        if lines[number] != line:
            return f"it expects {line!r} at line {number + 1}, the file has {lines[number]!r}"
    return f"the file has {len(lines)} lines and the hunk has no context to locate it"

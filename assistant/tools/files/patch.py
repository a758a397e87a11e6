"""Unified diffs as language models write them: parsed with patience, applied with none.

Libraries (unidiff, whatthepatch) refuse a hunk whose header miscounts its lines, or misplace it;
models miscount all the time. So counts and line numbers are hints here, and the context decides:
each hunk must match its file exactly, in one place only.
"""

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
    files = _Parser(lines).files()
    if not files:
        raise ToolError("this is no unified diff", "Give `--- a/FILE`, `+++ b/FILE`, `@@` hunks")
    return files


def apply(text: str, patch: FilePatch) -> str:
    """The text with every hunk of the patch applied. Raises ToolError that names the hunk."""
    lines = _split(text)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    bare = [line.rstrip("\r\n") for line in lines]
    at, moved = 0, 0
    result: list[str] = []
    for number, hunk in enumerate(patch.hunks, 1):
        place = _find(bare, hunk, at, moved, f"hunk {number} of {patch.name} ({hunk.header})")
        moved = moved if hunk.start is None else place - _expected(hunk, 0)
        result += lines[at:place]
        at = place + len(hunk.old)
        result += _replaced(lines[place:at], hunk, ending)
    whole = "".join(
        line if line.endswith("\n") else line + ending for line in [*result, *lines[at:]]
    )
    closed = at < len(lines) or not patch.hunks or not (hunk.ends_old or hunk.ends_new)
    keeps_end = (not text or text.endswith("\n")) if closed else not hunk.ends_new
    return whole if keeps_end else whole.removesuffix(ending)


def _split(text: str) -> list[str]:
    """The lines with their endings; only a line feed ends a line."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


class _Parser:
    """Reads the lines of a patch once, front to back."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._files: list[FilePatch] = []

    def files(self) -> list[FilePatch]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                self._git(line)
            elif self._is_header(self._at):
                self._header()
            elif line.startswith("@@"):
                self._hunk(line)
            else:
                self._note(line)
        return [each for each in self._files if each.old != each.new or each.hunks]

    def _git(self, line: str) -> None:
        self._at += 1
        match = GIT_HEADER.fullmatch(line)
        if match is None:
            raise ToolError(f"this header is not understood: {line}")
        old, new = _unquoted(match["old"]), _unquoted(match["new"])
        self._files.append(FilePatch(old.removeprefix("a/"), new.removeprefix("b/")))

    def _note(self, line: str) -> None:
        self._at += 1
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise ToolError("binary patches are not supported", "Write such a file otherwise")
        if not self._files:
            return
        if line.startswith("new file mode"):
            self._files[-1].old = None
        elif line.startswith("deleted file mode"):
            self._files[-1].new = None
        elif line.startswith("rename from "):
            self._files[-1].old = _unquoted(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            self._files[-1].new = _unquoted(line.removeprefix("rename to "))

    def _is_header(self, at: int) -> bool:
        return at + 1 < len(self._lines) and (
            self._lines[at].startswith("--- ") and self._lines[at + 1].startswith("+++ ")
        )

    def _header(self) -> None:
        old, new = _paths(self._lines[self._at][4:], self._lines[self._at + 1][4:])
        self._at += 2
        announced = self._files[-1] if self._files else None
        if announced is not None and not announced.hunks and self._came_from_git(old, new):
            return
        self._files.append(FilePatch(old, new))

    def _came_from_git(self, old: str | None, new: str | None) -> bool:
        """Whether a `diff --git` line just announced the file of this header."""
        announced = self._files[-1]
        return {old, new} - {None} <= {announced.old, announced.new}

    def _hunk(self, header: str) -> None:
        match = HUNK.match(header)
        if match is None or not self._files:
            raise ToolError(f"a hunk stands before any file: {header}")
        self._at += 1
        start = int(match[1]) if match[1] else None
        hunk = Hunk(header, start)
        old, new = _count(match[2], match[1]), _count(match[4], match[3])
        while self._at < len(self._lines) and not self._ends(old, new):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("\\"):
                _mark_end(hunk)
                continue
            sign, text = (line[0], line[1:]) if line else (" ", "")
            hunk.lines.append((sign, text))
            old -= sign != "+"
            new -= sign != "-"
        _trim(hunk, -min(old, new))
        self._files[-1].hunks.append(hunk)

    def _ends(self, old: int, new: int) -> bool:
        """Whether the hunk is over, with `old` and `new` lines left by its own count."""
        line = self._lines[self._at]
        counted = old <= 0 and new <= 0
        if line and line[0] not in " +-\\":
            return True
        if self._is_header(self._at):
            return counted or (old, new) != (1, 1)
        return counted and (not line or line == "-- ")


def _paths(old: str, new: str) -> tuple[str | None, str | None]:
    """The two paths of a header, without git's `a/` and `b/`."""
    first, second = (_unquoted(path.partition("\t")[0].rstrip()) for path in (old, new))
    if first == NOWHERE or first.startswith("a/"):
        if second.startswith("b/"):
            first, second = first.removeprefix("a/"), second.removeprefix("b/")
        elif second == NOWHERE:
            first = first.removeprefix("a/")
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


def _mark_end(hunk: Hunk) -> None:
    if hunk.lines:
        hunk.ends_old |= hunk.lines[-1][0] != "+"
        hunk.ends_new |= hunk.lines[-1][0] != "-"


def _trim(hunk: Hunk, surplus: int) -> None:
    """Drop blank lines after a hunk that its count does not hold: they part it from the next."""
    while surplus > 0 and hunk.lines and hunk.lines[-1] == (" ", ""):
        hunk.lines.pop()
        surplus -= 1


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


def _replaced(there: list[str], hunk: Hunk, ending: str) -> list[str]:
    """The new lines: context as the file has it, additions with the file's own line ending."""
    kept = iter(there)
    result = []
    for sign, text in hunk.lines:
        line = text + ending if sign == "+" else next(kept)
        if sign != "-":
            result.append(line)
    return result

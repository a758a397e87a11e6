"""Finding files by name and by content: `find_files`, `grep`.

Every file is opened the confined way and matched here; ripgrep, where it is installed, only says
which files are worth opening, so both ways give the same results.
"""

import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Annotated

import regex
from pydantic import Field

from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.tools.base import Tool, ToolResult
from assistant.tools.files.read import PathArgument, decoded
from assistant.tools.files.roots import Place, Roots, check_regular, status
from assistant.tools.schema import tool

SKIPPED = frozenset(
    {".assistant", ".git", ".hg", ".venv", "__pycache__", "node_modules", ".mypy_cache"}
)
"""Directories nobody means to search; they can be, by naming them as the path."""
FOUND_LIMIT = 500
"""Files of one search by name."""
MATCH_LIMIT = 200
"""Lines of one search by content."""
LINE_LIMIT = 300
"""Characters shown of a matching line."""
SECONDS = 20.0
"""How long a search may take; a pattern can be made to take for ever."""
BRACES = re.compile(r"\{([^{}]*)\}")
DIALECTS = re.compile(r"&&|--|~~|\[\[|\\[^wWdDsSbBntr.*+?()\[\]{}|^$\\/\-]")
"""What Rust's regular expressions read otherwise than Python's."""


def searching_tools(roots: Roots, ripgrep: str | None = shutil.which("rg")) -> list[Tool]:
    """`find_files` and `grep` below these roots, by way of `ripgrep` if that is its path."""

    def find_files(
        pattern: Annotated[str, Field(min_length=1, description="A glob: *.py, docs/**/*.md")],
        path: PathArgument = ".",
    ) -> ToolResult:
        """Find files by name. A pattern without a slash matches in every directory below."""
        shut: list[OSError] = []
        with roots.at(path) as place:
            paths = [
                _named(place, each)
                for each, _ in _files(roots, place, shut)
                if glob_matches(each, pattern)
            ]
        shown = paths[:FOUND_LIMIT]
        if len(paths) > len(shown):
            shown.append(f"[{len(paths) - len(shown):,} more; give a narrower pattern or path.]")
        shown = (shown or [f"No file matches {pattern}."]) + _shut(shut)
        return ToolResult("\n".join(shown), compact=counted(len(paths), "file"))

    def grep(
        pattern: Annotated[str, Field(min_length=1, description="A regular expression.")],
        path: PathArgument = ".",
        glob: Annotated[str, Field(description="Only files of this glob, such as *.py.")] = "",
        ignore_case: bool = False,
    ) -> ToolResult:
        """Search the lines of text files. Results are file:line: text, in order."""
        compiled = _compiled(pattern, ignore_case)
        with roots.at(path) as place:
            likely = _likely(ripgrep, place, pattern, ignore_case)
            return _grepped(_Search(roots, place, compiled, glob, likely))

    return [tool(find_files), tool(grep)]


def glob_matches(path: str, pattern: str) -> bool:
    """Whether a relative path matches a glob with `*`, `?`, `[…]`, `**` and `{a,b}`."""
    braces = BRACES.search(pattern)
    if braces:
        before, after = pattern[: braces.start()], pattern[braces.end() :]
        return any(glob_matches(path, before + choice + after) for choice in braces[1].split(","))
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    return _parts_match(path.split("/"), pattern.removeprefix("./").split("/"))


def _parts_match(parts: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_parts_match(parts[skip:], patterns[1:]) for skip in range(len(parts) + 1))
    return (
        bool(parts) and fnmatchcase(parts[0], patterns[0]) and _parts_match(parts[1:], patterns[1:])
    )


@dataclass(slots=True)
class _Search:
    """One `grep`. `likely` are the only files worth opening, None if every file is."""

    roots: Roots
    place: Place
    pattern: "regex.Pattern[str]"
    glob: str
    likely: set[str] | None
    skipped: int = 0
    shut: list[OSError] = field(default_factory=list)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each matching line, as its file and `number: text`. Raises ToolError out of time."""
        deadline = time.monotonic() + SECONDS
        for path, directory in _files(self.roots, self.place, self.shut):
            if self.glob and not glob_matches(path, self.glob):
                continue
            if self.likely is not None and path not in self.likely:
                continue
            text = self._text(path, directory)
            for number, line in enumerate(text.split("\n"), 1):
                if self._hit(line.removesuffix("\r"), deadline):
                    yield _named(self.place, path), f"{number}: {_cut(line.strip())}"

    def _text(self, path: str, directory: int) -> str:
        """The text of a file; empty if it is binary or may not be opened."""
        name = path.rpartition("/")[2]
        place = Place(directory, name or self.place.name, self.place.path / path, path)
        try:
            data = place.read()
        except (ToolError, OSError):
            self.skipped += 1
            return ""
        try:
            return decoded(data, path)[0]
        except ToolError:
            return ""

    def _hit(self, line: str, deadline: float) -> bool:
        left = deadline - time.monotonic()
        try:
            if left > 0:
                return self.pattern.search(line, timeout=left) is not None
        except TimeoutError:
            pass
        raise ToolError(f"the search took over {SECONDS:.0f} s", "Give a simpler pattern or a glob")


def _grepped(search: _Search) -> ToolResult:
    shown: list[str] = []
    files: set[str] = set()
    count = 0
    for file, line in search.lines():
        count += 1
        files.add(file)
        if count <= MATCH_LIMIT:
            shown.append(f"{file}:{line}")
    if count > MATCH_LIMIT:
        shown.append(
            f"[{count - MATCH_LIMIT:,} more lines; give a narrower pattern, path or glob.]"
        )
    if not count:
        shown.append("No line matches.")
    if search.skipped:
        skipped = counted(search.skipped, "file")
        shown.append(f"[{skipped} could not be read: too large, hard-linked, or shut.]")
    shown += _shut(search.shut)
    return ToolResult(
        "\n".join(shown),
        compact=f"{counted(count, 'match', 'matches')} in {counted(len(files), 'file')}",
    )


def _compiled(pattern: str, ignore_case: bool) -> "regex.Pattern[str]":
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ToolError(f"this is no regular expression: {error}") from error


def _likely(ripgrep: str | None, place: Place, pattern: str, ignore_case: bool) -> set[str] | None:
    """The files that ripgrep finds a match in; None if it is not there, or reads another dialect.

    It decides nothing: what it names is still opened and matched by `_Search`.
    """
    if ripgrep is None or place.name is not None or DIALECTS.search(pattern):
        return None
    options = ["--no-config", "--no-ignore", "--hidden", "--text", "--crlf", "--no-messages"]
    options += ["--files-with-matches", "--null", *(["--ignore-case"] if ignore_case else [])]
    try:
        done = subprocess.run(
            [ripgrep, *options, "--regexp", pattern, "."],
            cwd=place.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    return {os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0")}


def _files(roots: Roots, place: Place, shut: list[OSError]) -> Iterator[tuple[str, int]]:
    """The regular files at or below a place: relative path, and their open directory.

    Why a directory could not be opened is added to `shut`.
    """
    found = place.status()
    if found is None:
        raise ToolError(f"there is no {place.shown}")
    if place.name is not None:
        check_regular(found, place.shown)
        yield "", place.directory
        return
    for top, directories, names, directory in os.fwalk(onerror=shut.append, dir_fd=place.directory):
        directories[:] = sorted(
            name
            for name in directories
            if name not in SKIPPED and not roots.closed(place.path / top / name)
        )
        for name in sorted(names):
            found = status(name, directory)
            if found is not None and stat.S_ISREG(found.st_mode):
                yield (PurePosixPath(top) / name).as_posix(), directory


def _shut(shut: list[OSError]) -> list[str]:
    return [f"[{len(shut)} directories could not be opened.]"] if shut else []


def _named(place: Place, path: str) -> str:
    return exactly((PurePosixPath(place.shown) / path).as_posix())


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…"

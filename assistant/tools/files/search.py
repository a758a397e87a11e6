"""Finding files by name and by content: `find_files`, `grep`.

Every file is opened the confined way and matched here; ripgrep, where it is installed, only says
which files are worth opening, so both ways give the same results.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import regex
from pydantic import Field

from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.tools.base import Plan, Tool, ToolResult
from assistant.tools.files.access import Access
from assistant.tools.files.place import Place
from assistant.tools.files.read import PathArgument, decoded
from assistant.tools.files.roots import Roots
from assistant.tools.files.tree import Tree
from assistant.tools.globs import Glob, within
from assistant.tools.schema import tool

FOUND_LIMIT = 500
"""Files of one search by name."""
MATCH_LIMIT = 200
"""Lines of one search by content."""
LINE_LIMIT = 300
"""Characters shown of a matching line."""
SECONDS = 20.0
"""How long a search may take; a pattern can be made to take for ever."""
DIALECTS = re.compile(r"&&|--|~~|\[\[|\\[^wWdDsSbBntr.*+?()\[\]{}|^$\\/\-]")
"""What Rust's regular expressions read otherwise than Python's."""


def searching_tools(
    roots: Roots, ripgrep: str | None = shutil.which("rg"), seconds: float = SECONDS
) -> list[Tool]:
    """`find_files` and `grep` below these roots, by way of `ripgrep` if that is its path; a search
    may take so many seconds."""
    finding, searching = Access(roots, "find_files"), Access(roots, "grep")

    def find_files(
        pattern: Annotated[str, Field(min_length=1, description="A glob: *.py, docs/**/*.md")],
        path: PathArgument = ".",
    ) -> Plan:
        """Find files by name. A pattern without a slash matches in every directory below."""
        glob = within(pattern)
        return finding.reading(path, lambda place: _found(Tree(finding, place), glob))

    def grep(
        pattern: Annotated[str, Field(min_length=1, description="A regular expression.")],
        path: PathArgument = ".",
        glob: Annotated[str, Field(description="Only files of this glob, such as *.py.")] = "",
        ignore_case: bool = False,
    ) -> Plan:
        """Search the lines of text files. Results are file:line: text, in order."""
        compiled = _compiled(pattern, ignore_case)
        only = within(glob or "**")

        def search(place: Place) -> ToolResult:
            likely = _likely(ripgrep, place, pattern, ignore_case)
            return _grepped(_Search(Tree(searching, place), compiled, only, likely, seconds))

        return searching.reading(path, search)

    return [tool(each, stoppable=True) for each in (find_files, grep)]


def _found(tree: Tree, glob: Glob) -> ToolResult:
    paths = [_named(tree.place, path) for path, _ in tree.files() if not path or glob.matches(path)]
    shown = paths[:FOUND_LIMIT]
    if len(paths) > len(shown):
        shown.append(f"[{len(paths) - len(shown):,} more; give a narrower pattern or path.]")
    shown = (shown or [f"No file matches {glob.text}."]) + tree.notes()
    return ToolResult("\n".join(shown), compact=counted(len(paths), "file"))


@dataclass(slots=True)
class _Search:
    """One `grep`. `likely` are the only files worth opening, None if every file is."""

    tree: Tree
    pattern: "regex.Pattern[str]"
    glob: Glob
    likely: set[str] | None
    seconds: float
    skipped: int = 0

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each matching line, as its file and `number: text`. Raises ToolError out of time."""
        deadline = time.monotonic() + self.seconds
        for path, directory in self.tree.files():
            if path and not self.glob.matches(path):
                continue
            if self.likely is not None and path not in self.likely:
                continue
            named = _named(self.tree.place, path)
            text = self._text(path, directory)
            for number, line in enumerate(text.split("\n"), 1):
                if self._hit(line.removesuffix("\r"), deadline):
                    yield named, f"{number}: {_cut(line.strip())}"

    def _text(self, path: str, directory: int) -> str:
        """The text of a file; empty if it is binary or may not be opened."""
        name = path.rpartition("/")[2]
        whole = self.tree.place
        place = Place(directory, name or whole.name, whole.path / path, path)
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
                return self.pattern.search(line, timeout=left, concurrent=True) is not None
        except TimeoutError:
            pass
        raise ToolError(
            f"the search took over {self.seconds:.0f} s", "Give a simpler pattern or a glob"
        )


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
    shown += search.tree.notes()
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


def _named(place: Place, path: str) -> str:
    top = "" if place.shown == "." else place.shown
    return exactly("/".join(filter(None, (top, path))))


def _cut(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…"

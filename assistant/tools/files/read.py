"""Tools that read and search files: `read_file`, `list_files`, `find_files`, `grep`.

Every file is opened through `Access`, and files that a tool may not access are left out.
"""

import io
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import regex
from pydantic import Field

from assistant import documents
from assistant.disk.storage import status_in
from assistant.display import counted, exactly, shortened
from assistant.errors import ToolError
from assistant.tools.base import PART, Plan, Tool, ToolResult, tool
from assistant.tools.files.access import Access, Location, Roots, check_regular
from assistant.tools.policy import Glob, Named, within

SKIPPED = frozenset(
    {".assistant", ".git", ".hg", ".venv", "__pycache__", "node_modules", ".mypy_cache"}
)
"""Directories that a search skips, unless one is given as the path."""
DEEPEST = 64
"""Maximum number of directory levels that a search descends."""


@dataclass(slots=True)
class Tree:
    """The regular files at or below a location, for one tool.

    `shut` counts directories that could not be opened, `deep` those below the depth limit,
    `withheld` paths that need the owner's approval. Denied files are not counted.
    """

    access: Access
    location: Location
    shut: int = 0
    deep: int = 0
    withheld: int = 0

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield each file's path relative to the location, empty for the location itself, and its
        open directory.

        Raises ToolError if the location does not exist.
        """
        file_status = self.location.status()
        if file_status is None:
            raise ToolError(f"there is no {self.location.shown}")
        if self.location.name is not None:
            check_regular(file_status, self.location.shown)
            yield "", self.location.directory
            return
        denied, needs_approval = self._rules()
        walk = os.fwalk(".", onerror=self._count_unopened, dir_fd=self.location.directory)
        for folder, folders, files, descriptor in walk:
            prefix = "" if folder == "." else f"{folder.removeprefix('./')}/"
            if prefix.count("/") >= DEEPEST:
                self.deep += len(folders)
                folders.clear()

            def reached(name: str, *, directory: bool, prefix: str = prefix) -> bool:
                path = f"{str(self.location.path).rstrip('/')}/{prefix}{name}"
                if denied.holds(path, directory=directory) or self.access.roots.closed(path):
                    return False
                withheld = needs_approval.holds(path, directory=directory)
                self.withheld += withheld
                return not withheld

            folders[:] = sorted(
                name for name in folders if name not in SKIPPED and reached(name, directory=True)
            )
            for name in sorted(files):
                entry = status_in(descriptor, name)
                if entry and stat.S_ISREG(entry.st_mode) and reached(name, directory=False):
                    yield prefix + name, descriptor

    def notes(self) -> list[str]:
        """Return notes for the model on what was left out."""
        deep = f"over {DEEPEST} deep left out: name them as path"
        withheld = "left out: the owner is asked for it if you name it as path"
        found = (
            (self.shut, "directory", "directories", "could not be opened"),
            (self.deep, "directory", "directories", deep),
            (self.withheld, "place", "places", withheld),
        )
        return [f"[{counted(n, one, many)} {what}.]" for n, one, many, what in found if n]

    def _rules(self) -> tuple[Named, Named]:
        """Return the paths below the location that are denied to the tool, and those that need
        approval."""
        rules, tool = self.access.roots.rules, self.access.tool
        needs_approval = rules.asked(tool)
        location = self.location
        approved = needs_approval.holds(str(location.path), directory=location.name is None)
        return rules.denied(tool), Named() if approved else needs_approval

    def _count_unopened(self, error: OSError) -> None:
        self.shut += 1


LIST_LIMIT = 1_000
"""Maximum number of entries of one listing."""

PathArgument = Annotated[str, Field(description="A path; relative ones start at the workspace.")]


def reading_tools(roots: Roots, most: int = PART) -> list[Tool]:
    """Return `read_file`, which gives `most` characters at once, and `list_files` below these
    roots."""
    opening, listing = Access(roots, "read_file"), Access(roots, "list_files")

    def read_file(
        path: PathArgument,
        start_line: Annotated[int, Field(ge=1, description="The first line, from 1.")] = 1,
        end_line: Annotated[int, Field(ge=0, description="The last line; 0 is the end.")] = 0,
    ) -> Plan:
        """Read a text file, or some of its lines, exactly as they are; of a PDF, DOCX, ODT or EPUB
        its text."""
        return opening.reading(
            path, lambda location: _read_lines(location, start_line, end_line, most)
        )

    def list_files(path: PathArgument = ".") -> Plan:
        """List a directory: folders end with a slash, files show their size in bytes."""
        return listing.reading(path, lambda location: _list_directory(listing, location))

    return [tool(function, stoppable=True) for function in (read_file, list_files)]


def decoded(data: bytes, shown: str) -> tuple[str, str]:
    """Return a file's text and a notice, empty if it is UTF-8. Raises ToolError if it is binary."""
    if b"\0" in data[:8192]:
        raise ToolError(f"{shown} is a binary file of {len(data):,} bytes")
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), "[Not UTF-8: what could not be read is shown as �.]"


def _text_of(location: Location) -> tuple[str, str]:
    """Return a file's text and a notice. Raises ToolError if it has none."""
    data = location.read()
    if not documents.format_of(data):
        return decoded(data, location.shown)
    try:
        return documents.as_markdown(data)[1], "[The text of a document, as markdown.]"
    except ValueError as error:
        raise ToolError(f"{location.shown} cannot be read: {error}") from error


def _read_lines(location: Location, start: int, end: int, most: int) -> ToolResult:
    text, notice = _text_of(location)
    lines = list(io.StringIO(text))  # only a line feed ends a line
    if lines and start > len(lines):
        has = counted(len(lines), "line")
        raise ToolError(f"{location.shown} has {has}; there is no line {start}")
    end = min(end or len(lines), len(lines))
    last, size = start - 1, 0
    for line in lines[start - 1 : end]:
        if size + len(line) > most and last >= start:
            break
        size += len(line)
        last += 1
    text = "".join(lines[start - 1 : last])
    notes = [notice] if notice else []
    if len(text) > most:
        notes.append(f"[Line {start} has {len(text):,} characters; {most:,} are shown.]")
        text = text[:most]
    if last < end:
        notes.append(f"[Lines {start}-{last} of {len(lines)}. Read on with start_line={last + 1}.]")
    body = "\n".join([text.removesuffix("\n") if notes else text, *notes])
    return ToolResult(
        body or "(empty)", compact=f"{counted(last - start + 1, 'line')} of {location.shown}"
    )


def _list_directory(access: Access, location: Location) -> ToolResult:
    if location.name is not None:
        present = location.status() is not None
        raise ToolError(
            f"{location.shown} is not a directory" if present else f"there is no {location.shown}"
        )
    denied = access.roots.rules.denied(access.tool)
    with os.scandir(location.directory) as scan:
        entries = [
            _described(entry)
            for entry in sorted(scan, key=lambda entry: entry.name)
            if not denied.holds(
                f"{location.path}/{entry.name}", directory=entry.is_dir(follow_symlinks=False)
            )
        ]
    lines = entries[:LIST_LIMIT]
    if len(entries) > len(lines):
        lines.append(f"[{len(entries) - len(lines):,} more; narrow down with find_files.]")
    counts = counted(len(entries), "entry", "entries")
    return ToolResult("\n".join(lines) or "(empty)", compact=counts)


def _described(entry: "os.DirEntry[str]") -> str:
    entry_status, name = entry.stat(follow_symlinks=False), exactly(entry.name)
    if stat.S_ISDIR(entry_status.st_mode):
        return f"{name}/"
    if stat.S_ISLNK(entry_status.st_mode):
        return f"{name} (link)"
    return f"{name} {entry_status.st_size}"


FOUND_LIMIT = 500
"""Maximum number of files returned by one search by name."""
MATCH_LIMIT = 200
"""Maximum number of lines returned by one search by content."""
LINE_LIMIT = 300
"""Maximum characters shown of a matching line."""
SECONDS = 20.0
"""Timeout of a search, since some patterns run forever."""
LINEWISE = re.compile(r"\(\?[^:i]|\\[AZzGKR]|[*+?}]\+|[\r\n]|\\[rn]")
"""Constructs whose matches depend on searching line by line rather than the whole text."""


def searching_tools(roots: Roots, seconds: float = SECONDS) -> list[Tool]:
    """Return `find_files` and `grep` below these roots, with a timeout in seconds."""
    finding, searching = Access(roots, "find_files"), Access(roots, "grep")

    def find_files(
        pattern: Annotated[str, Field(min_length=1, description="A glob: *.py, docs/**/*.md")],
        path: PathArgument = ".",
    ) -> Plan:
        """Find files by name. A pattern without a slash matches in every directory below."""
        glob = within(pattern)
        return finding.reading(path, lambda location: _find_files(Tree(finding, location), glob))

    def grep(
        pattern: Annotated[str, Field(min_length=1, description="A regular expression.")],
        path: PathArgument = ".",
        glob: Annotated[str, Field(description="Only files of this glob, such as *.py.")] = "",
        ignore_case: bool = False,
    ) -> Plan:
        """Search the lines of text files. Results are file:line: text, in order."""
        compiled = _compile(pattern, ignore_case)
        only = within(glob or "**")

        return searching.reading(
            path, lambda location: _grep(Tree(searching, location), compiled, only, seconds)
        )

    return [tool(function, stoppable=True) for function in (find_files, grep)]


def _find_files(tree: Tree, glob: Glob) -> ToolResult:
    paths = [
        _named(tree.location, path) for path, _ in tree.files() if not path or glob.matches(path)
    ]
    lines = paths[:FOUND_LIMIT]
    if len(paths) > len(lines):
        lines.append(f"[{len(paths) - len(lines):,} more; give a narrower pattern or path.]")
    lines = (lines or [f"No file matches {glob.text}."]) + tree.notes()
    return ToolResult("\n".join(lines), compact=counted(len(paths), "file"))


def _grep(tree: Tree, pattern: "regex.Pattern[str]", glob: Glob, seconds: float) -> ToolResult:
    """Return the matching lines below a location. Raises ToolError on timeout."""
    deadline = time.monotonic() + seconds
    lines: list[str] = []
    files: set[str] = set()
    count = skipped = 0

    def hit(text: str) -> bool:
        remaining = deadline - time.monotonic()
        try:
            if remaining > 0:
                return pattern.search(text, timeout=remaining, concurrent=True) is not None
        except TimeoutError:
            pass
        raise ToolError(f"the search took over {seconds:.0f} s", "Give a simpler pattern or a glob")

    for path, directory in tree.files():
        if path and not glob.matches(path):
            continue
        name = path.rpartition("/")[2] or tree.location.name
        try:
            data = Location(directory, name, tree.location.path / path, path).read()
        except (ToolError, OSError):
            skipped += 1
            continue
        try:
            text = decoded(data, path)[0].replace("\r\n", "\n")
        except ToolError:  # a binary file
            continue
        if not (LINEWISE.search(pattern.pattern) or hit(text)):
            continue  # search the whole text first: most files have no match
        file = _named(tree.location, path)
        for number, line in enumerate(text.split("\n"), 1):
            if hit(line):
                count += 1
                files.add(file)
                if count <= MATCH_LIMIT:
                    lines.append(f"{file}:{number}: {shortened(line.strip(), LINE_LIMIT)}")
    if count > MATCH_LIMIT:
        more = f"{count - MATCH_LIMIT:,} more lines"
        lines.append(f"[{more}; give a narrower pattern, path or glob.]")
    if not count:
        lines.append("No line matches.")
    if skipped:
        files_skipped = counted(skipped, "file")
        lines.append(
            f"[{files_skipped} could not be read: too large, hard-linked, or without permission.]"
        )
    compact = f"{counted(count, 'match', 'matches')} in {counted(len(files), 'file')}"
    return ToolResult("\n".join([*lines, *tree.notes()]), compact=compact)


def _compile(pattern: str, ignore_case: bool) -> "regex.Pattern[str]":
    try:
        return regex.compile(pattern, regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0))
    except regex.error as error:
        raise ToolError(f"this is not a regular expression: {error}") from error


def _named(location: Location, path: str) -> str:
    top = "" if location.shown == "." else location.shown
    return exactly("/".join(filter(None, (top, path))))

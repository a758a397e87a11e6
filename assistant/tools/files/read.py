"""Looking at files: `read_file` and `list_files`."""

import os
import stat
from typing import Annotated

from pydantic import Field

from assistant.display import counted, exactly
from assistant.errors import ToolError
from assistant.tools.base import Plan, Tool, ToolResult
from assistant.tools.files.access import Access
from assistant.tools.files.place import Place
from assistant.tools.files.roots import Roots
from assistant.tools.schema import tool

READ_LIMIT = 40_000
"""Characters of one reading, below the limit of every result."""
LIST_LIMIT = 1_000
"""Entries of one listing."""

PathArgument = Annotated[str, Field(description="A path; relative ones start at the workspace.")]


def reading_tools(roots: Roots) -> list[Tool]:
    """`read_file` and `list_files` below these roots."""
    opening, listing = Access(roots, "read_file"), Access(roots, "list_files")

    def read_file(
        path: PathArgument,
        start_line: Annotated[int, Field(ge=1, description="The first line, from 1.")] = 1,
        end_line: Annotated[int, Field(ge=0, description="The last line; 0 is the end.")] = 0,
    ) -> Plan:
        """Read a text file, or some of its lines, exactly as they are."""
        return opening.reading(path, lambda place: _lines_of(place, start_line, end_line))

    def list_files(path: PathArgument = ".") -> Plan:
        """List a directory: folders end with a slash, files show their size in bytes."""
        return listing.reading(path, lambda place: _listing(listing, place))

    return [tool(each, stoppable=True) for each in (read_file, list_files)]


def decoded(data: bytes, shown: str) -> tuple[str, str]:
    """A file's text and a notice, empty if it is UTF-8. Raises ToolError if it is binary."""
    if b"\0" in data[:8192]:
        raise ToolError(f"{shown} is a binary file of {len(data):,} bytes")
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), "[Not UTF-8: what could not be read is shown as �.]"


def _lines_of(place: Place, start: int, end: int) -> ToolResult:
    text, notice = decoded(place.read(), place.shown)
    lines = _lines(text)
    if lines and start > len(lines):
        raise ToolError(
            f"{place.shown} has {counted(len(lines), 'line')}; there is no line {start}"
        )
    return _excerpt(lines, start, end or len(lines), notice, place.shown)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _excerpt(lines: list[str], start: int, end: int, notice: str, shown: str) -> ToolResult:
    last, size = start - 1, 0
    for line in lines[start - 1 : end]:
        if size + len(line) > READ_LIMIT and last >= start:
            break
        size += len(line)
        last += 1
    text = "".join(lines[start - 1 : last])
    notes = [notice] if notice else []
    if len(text) > READ_LIMIT:
        notes.append(f"[Line {start} has {len(text):,} characters; {READ_LIMIT:,} are shown.]")
        text = text[:READ_LIMIT]
    if last < min(end, len(lines)):
        notes.append(f"[Lines {start}-{last} of {len(lines)}. Read on with start_line={last + 1}.]")
    body = "\n".join([text.removesuffix("\n") if notes else text, *notes])
    return ToolResult(body or "(empty)", compact=f"{counted(last - start + 1, 'line')} of {shown}")


def _listing(access: Access, place: Place) -> ToolResult:
    if place.name is not None:
        raise ToolError(f"{place.shown} is no directory" if place.status() else _missing(place))
    entries = [_described(entry) for entry in access.listed(place)]
    shown = entries[:LIST_LIMIT]
    if len(entries) > len(shown):
        shown.append(f"[{len(entries) - len(shown):,} more; narrow down with find_files.]")
    counts = counted(len(entries), "entry", "entries")
    return ToolResult("\n".join(shown) or "(empty)", compact=counts)


def _described(entry: "os.DirEntry[str]") -> str:
    found, name = entry.stat(follow_symlinks=False), exactly(entry.name)
    if stat.S_ISDIR(found.st_mode):
        return f"{name}/"
    if stat.S_ISLNK(found.st_mode):
        return f"{name} (link)"
    return f"{name} {found.st_size}"


def _missing(place: Place) -> str:
    return f"there is no {place.shown}"

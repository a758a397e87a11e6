"""A write to memory files before it is on disk: read once, edit in memory, put in place at once."""

import re
from collections.abc import Iterator

from assistant import storage
from assistant.errors import StorageError
from assistant.memory.items import Splice
from assistant.memory.journal import Edit, digest
from assistant.workspace import MEMORY_FILE, Workspace

NEAREST = 2
"""Lines above and below an edit whose digests are journalled, to find its place again."""
_BOM = "\ufeff"
_LINES = re.compile(r"[^\r\n]+")


class Draft:
    """The files of one write, as they were read and as they shall be."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._read: dict[str, bytes] = {}
        self._text: dict[str, str] = {}
        self.images: dict[str, str] = {}
        """What the edits removed, by digest."""

    def text(self, source: str) -> str:
        """A file's text as edited so far, without byte-order mark; "" if it is missing.

        Raises StorageError if it cannot be read or is not UTF-8.
        """
        if source not in self._text:
            data = storage.held(self._workspace.root / source)
            try:
                decoded = data.decode()
            except UnicodeDecodeError as error:
                raise StorageError(
                    f"{source} is not UTF-8 (byte {error.start})", "Save it as UTF-8"
                ) from error
            self._read[source] = data
            self._text[source] = decoded.removeprefix(_BOM)
        return self._text[source]

    def is_text(self, source: str) -> bool:
        """Whether a file can be read, and is UTF-8."""
        try:
            self.text(source)
        except StorageError:
            return False
        return True

    def originals(self) -> dict[str, str]:
        """The files that are edited, as they were read."""
        read = {name: self._read[name].decode().removeprefix(_BOM) for name in self._text}
        return {name: text for name, text in read.items() if text != self._text[name]}

    def edit(self, source: str, splice: Splice) -> Edit:
        """Make a change, and say how it is journalled."""
        before = self.text(source)
        after = splice.apply(before)
        self._text[source] = after
        removed = digest(splice.removed) if splice.removed else ""
        if removed:
            self.images[removed] = splice.removed
        return Edit(
            source=source,
            at=splice.at,
            removed=removed,
            inserted=splice.inserted,
            before=digest(before),
            after=digest(after),
            above=tuple(_digests(lines_above(before, splice.at))),
            below=tuple(_digests(lines_below(before, splice.at + len(splice.removed)))),
        )

    def save(self) -> bool:
        """Put every changed file in place; False, and no more, at one that changed meanwhile.

        MEMORY.md goes first: a new fact is safe before an old one is struck out elsewhere.
        """
        for source in sorted(self._text, key=lambda name: name != MEMORY_FILE):
            text = self._text[source]
            old = self._read[source]
            bom = _BOM if old.startswith(_BOM.encode()) else ""
            data = (bom + text).encode()
            path = self._workspace.root / source
            if data != old and not storage.replace(path, data, expected=old):
                return False
        return True


def lines_above(text: str, at: int) -> Iterator[str]:
    """The nearest lines that end at or before a character and are not blank, nearest first."""
    found = 0
    while at > 0 and found < NEAREST:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if line := text[start:at].strip():
            found += 1
            yield line
        at = start - 1


def lines_below(text: str, at: int) -> Iterator[str]:
    """The nearest lines that start at or after a character and are not blank, nearest first."""
    found = 0
    for line in _LINES.finditer(text, at):
        if found == NEAREST:
            return
        if said := line[0].strip():
            found += 1
            yield said


def _digests(lines: Iterator[str]) -> Iterator[str]:
    return (line_digest(line) for line in lines)


def line_digest(line: str) -> str:
    """A short digest of a line, its surrounding white space left out."""
    return digest(line.strip())[:12]

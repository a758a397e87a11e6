"""A write to memory files before it is on disk: read once, edit in memory, put in place at once."""

import hashlib
from collections.abc import Iterator

from assistant.errors import StorageError
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import line_digest, lines_above, lines_below
from assistant.memory.writing.entries import Edit
from assistant.memory.writing.markup import Splice
from assistant.memory.writing.save import Seen, Sign, Tell, look, no_word, put, sign_of
from assistant.workspace.folder import MEMORY_FILE, Workspace

State = tuple[str, Sign | None]
"""The digest of a file, and its sign, if that proves the digest."""
_BOM = "\ufeff"


class Draft:
    """The files of one write, as they were read and as they shall be."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._seen: dict[str, Seen] = {}
        self._text: dict[str, str] = {}
        self._data: dict[str, bytes] = {}
        self._digest: dict[str, str] = {}
        self._original: dict[str, tuple[str, str]] = {}
        self._added: dict[str, list[str]] = {}
        self.images: dict[str, str] = {}
        """What the edits removed, by digest."""

    def text(self, source: str) -> str:
        """A file's text as edited so far, without byte-order mark; "" if it is missing.

        Raises StorageError if it cannot be read or is no text.
        """
        if source not in self._text:
            seen = look(self._workspace.root / source)
            decoded = _decoded(source, seen.data)
            self._seen[source] = seen
            self._text[source] = decoded.removeprefix(_BOM)
        return self._text[source]

    def settled(self, source: str) -> str:
        """The same, of a file that may be changed. Raises StorageError in a conflict too."""
        text = self.text(source)
        if source not in self._original and (line := conflict_in(text)):
            raise StorageError(
                f"{source} holds a conflict of a merge (line {line}); nothing was changed",
                "Keep what is right of both sides, take out the marks (<<<<<<<, ======= and the"
                " like), and try again",
            )
        return text

    def digest(self, source: str) -> str:
        """The digest of a file's text as edited so far. Raises StorageError as `text` does."""
        self.text(source)
        if source not in self._digest:
            data = (
                self._seen[source].data if source not in self._original else self._encoded(source)
            )
            self._digest[source] = hashlib.sha256(data.removeprefix(_BOM.encode())).hexdigest()
        return self._digest[source]

    def is_unread(self, source: str, sign: Sign | None) -> bool:
        """Whether a file was not read, and has this sign: there is no need to."""
        if sign is None or source in self._text:
            return False
        try:
            return sign_of(f"{self._workspace.root}/{source}") == sign
        except OSError:
            return False

    def is_text(self, source: str) -> bool:
        """Whether a file can be read, and is UTF-8."""
        try:
            self.text(source)
        except StorageError:
            return False
        return True

    def added(self, source: str) -> str:
        """What the edits so far put into a file."""
        return "\n".join(self._added.get(source, ()))

    def changed(self) -> list[str]:
        """The files that are edited."""
        return list(self._original)

    def original(self, source: str) -> tuple[str, str]:
        """The text of a file as it was read, and its digest."""
        if source in self._original:
            return self._original[source]
        return self.text(source), self.digest(source)

    def edit(self, source: str, splice: Splice) -> Edit:
        """Make a change, and say how it is journalled. Raises StorageError in a conflict."""
        before, old = self.settled(source), self.digest(source)
        self._original.setdefault(source, (before, old))
        self._text[source] = splice.apply(before)
        self._added.setdefault(source, []).append(splice.inserted)
        self._data.pop(source, None)
        del self._digest[source]
        removed = digest(splice.removed) if splice.removed else ""
        if removed:
            self.images[removed] = splice.removed
        return Edit(
            source=source,
            at=splice.at,
            removed=removed,
            inserted=splice.inserted,
            before=old,
            after=self.digest(source),
            above=tuple(_digests(lines_above(before, splice.at))),
            below=tuple(_digests(lines_below(before, splice.at + len(splice.removed)))),
        )

    def save(self, tell: Tell = no_word) -> bool:
        """Put every changed file in place; False, and no more, at one that changed meanwhile.

        MEMORY.md goes first: a new fact is safe before an old one is struck out elsewhere. Raises
        StorageError, with nothing changed, if another program keeps one of them open for writing.
        """
        sources = sorted(self._original, key=lambda name: name != MEMORY_FILE)
        return put([(self._seen[name], self._bytes(name)) for name in sources], tell)

    def _bytes(self, source: str) -> bytes:
        bom = _BOM if self._seen[source].data.startswith(_BOM.encode()) else ""
        return bom.encode() + self._encoded(source)

    def _encoded(self, source: str) -> bytes:
        if source not in self._data:
            self._data[source] = self._text[source].encode()
        return self._data[source]


def _decoded(source: str, data: bytes) -> str:
    """The text of a file. Raises StorageError if it is none."""
    if (zero := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, zero) + 1
        raise StorageError(
            f"{source} is no text: a zero byte in line {line}; nothing was changed",
            "Take it out in an editor and try again",
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{source} is not UTF-8 (byte {error.start})", "Save it as UTF-8"
        ) from error


def _digests(lines: Iterator[str]) -> Iterator[str]:
    return (line_digest(line) for line in lines)

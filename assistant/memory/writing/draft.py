"""A write to memory files before it is on disk: read once, edit in memory, put in place at once."""

from dataclasses import dataclass, field

from assistant.errors import StorageError
from assistant.memory.text.conflict_marks import conflict_in
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import line_digest, lines_above, lines_below
from assistant.memory.writing.journal import Edit
from assistant.memory.writing.markup import Splice
from assistant.memory.writing.save import Seen, Sign, Tell, look, no_word, put, sign_of
from assistant.workspace.folder import MEMORY_FILE, Workspace

State = tuple[str, Sign | None]
"""The digest of a file, and its sign, if that proves the digest."""
_BOM = "\ufeff"


@dataclass(slots=True)
class _File:
    """A file as it was read, its text as edited so far, and what the edits put into it."""

    seen: Seen
    text: str
    before: str
    added: list[str] = field(default_factory=list)


class Draft:
    """The files of one write, as they were read and as they shall be."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[str, _File] = {}
        self.images: dict[str, str] = {}
        """What the edits removed, by digest."""

    def _file(self, source: str) -> _File:
        if source not in self._files:
            seen = look(self._workspace.root / source)
            text = _decoded(source, seen.data).removeprefix(_BOM)
            self._files[source] = _File(seen, text, text)
        return self._files[source]

    def text(self, source: str) -> str:
        """A file's text as edited so far, without byte-order mark; "" if it is missing.

        Raises StorageError if it cannot be read or is no text.
        """
        return self._file(source).text

    def settled(self, source: str) -> str:
        """The same, of a file that may be changed. Raises StorageError in a conflict too."""
        file = self._file(source)
        if not file.added and (line := conflict_in(file.text)):
            raise StorageError(
                f"{source} holds a conflict of a merge (line {line}); nothing was changed",
                "Keep what is right of both sides, take out the marks (<<<<<<<, ======= and the"
                " like), and try again",
            )
        return file.text

    def digest(self, source: str) -> str:
        """The digest of a file's text as edited so far. Raises StorageError as `text` does."""
        return digest(self.text(source))

    def is_unread(self, source: str, sign: Sign | None) -> bool:
        """Whether a file was not read, and has this sign: there is no need to."""
        if sign is None or source in self._files:
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
        return "\n".join(self._file(source).added)

    def changed(self) -> list[str]:
        """The files that are edited."""
        return [source for source, file in self._files.items() if file.added]

    def original(self, source: str) -> tuple[str, str]:
        """The text of a file as it was read, and its digest."""
        before = self._file(source).before
        return before, digest(before)

    def edit(self, source: str, splice: Splice) -> Edit:
        """Make a change, and say how it is journalled. Raises StorageError in a conflict."""
        before, file = self.settled(source), self._file(source)
        file.text = splice.apply(before)
        file.added.append(splice.inserted)
        removed = digest(splice.removed) if splice.removed else ""
        if removed:
            self.images[removed] = splice.removed
        return Edit(
            source=source,
            at=splice.at,
            removed=removed,
            inserted=splice.inserted,
            before=digest(before),
            after=digest(file.text),
            above=tuple(map(line_digest, lines_above(before, splice.at))),
            below=tuple(map(line_digest, lines_below(before, splice.at + len(splice.removed)))),
        )

    def save(self, tell: Tell = no_word) -> bool:
        """Put every changed file in place; False, and no more, at one that changed meanwhile.

        MEMORY.md goes first: a new fact is safe before an old one is struck out elsewhere. Raises
        StorageError, with nothing changed, if another program keeps one of them open for writing.
        """
        sources = sorted(self.changed(), key=lambda name: name != MEMORY_FILE)
        return put([(self._file(name).seen, self._bytes(name)) for name in sources], tell)

    def _bytes(self, source: str) -> bytes:
        file = self._file(source)
        bom = _BOM if file.seen.data.startswith(_BOM.encode()) else ""
        return (bom + file.text).encode()


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

"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`);
- ``saved``: a text that somebody else gave a file, by its digest: if it comes back, it is older;
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A damaged line is passed over and
named, and stays where it is until it is `set_aside`; what it settled is settled anew. The file is
read once. In memory stays of each write where its line is, and hashes by which it is found.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple
from zlib import crc32

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.base import JournalEntry
from assistant.memory.text.markdown import LINES
from assistant.memory.writing.entries import (
    ADDING,
    Entry,
    Outcome,
    Purging,
    Saved,
    Verdict,
    Write,
    decode,
    encode,
    outcomes,
)
from assistant.memory.writing.markup import item_of

GONE = frozenset({"deleted", "erased", "dismissed"})
"""The verdicts on a fact that was last seen to be gone."""
_HEADING = "## "
_BLOCK = 1 << 20


class Line(NamedTuple):
    """Where a line is: its number, its first byte, its length."""

    number: int
    at: int
    length: int


@dataclass(slots=True, eq=False)
class Row:
    """What is kept in memory of a write: where its line is, and what became of it.

    `fact` and `request` are hashes of its text and its client's request, `item` and `heading` of
    the lines that it added, `headings` of those that it put into files, `states` of the texts of
    files before and after it; `gone` are the write's own.
    """

    line: Line
    id: str
    action: str
    source: str
    undoes: str | None
    reversible: bool
    fact: int | None
    request: int | None
    item: int | None
    heading: int | None
    headings: tuple[int, ...]
    states: tuple[int, ...]
    gone: tuple[str, ...]
    state: Literal["open", "done", "void"] = "open"
    verdict: Verdict | None = None


@dataclass(slots=True)
class _Known:
    """What the lines read so far add up to; of `size` bytes with this checksum."""

    size: int = 0
    lines: int = 0
    crc: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    open: dict[str, Row] = field(default_factory=dict)
    facts: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    sources: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    edits: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    forgets: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    undoing: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    saved: set[int] = field(default_factory=set)
    purges: dict[str, Line] = field(default_factory=dict)
    void_purges: dict[str, Line] = field(default_factory=dict)
    damaged: list[Line] = field(default_factory=list)

    def take(self, text: bytes) -> None:
        """Go on with a line, its end included."""
        self.lines += 1
        line = Line(self.lines, self.size, len(text) - 1)
        self.size += len(text)
        self.crc = crc32(text, self.crc)
        try:
            entry = decode(text)
        except (ValueError, RecursionError):
            if not text[:-1].isspace():  # blanks stand where something was taken out
                self.damaged.append(line)
            return
        match entry:
            case Write():
                self._add(entry, line)
            case Purging():
                self.purges[entry.id] = line
            case Saved():
                self.saved.add(hash((entry.source, entry.state)))
            case Outcome(verdict=None):
                for name in entry.ids:
                    if name in self.rows:
                        self.rows[name].state = "done" if entry.type == "done" else "void"
                        self.open.pop(name, None)
                    if name in self.purges:
                        self.void_purges[name] = self.purges.pop(name)
            case Outcome():
                for name in entry.ids:
                    if name in self.rows:
                        self.rows[name].verdict = entry.verdict

    def _add(self, write: Write, line: Line) -> None:
        added = write.added
        lines = [line.strip() for line in LINES.findall(added.inserted)] if added else []
        row = self.rows[write.id] = self.open[write.id] = Row(
            line=line,
            id=write.id,
            action=write.action,
            source=write.source,
            undoes=write.undoes,
            reversible=bool(write.edits) and write.action != "undo" and not write.purged,
            fact=hash(write.text) if write.text and write.action in ADDING else None,
            request=None if write.request is None else hash(write.request),
            item=hash(item_of(added.inserted)) if added else None,
            heading=hash(lines[0]) if lines and lines[0].startswith(_HEADING) else None,
            headings=tuple(
                hash((edit.source, line.strip().removeprefix(_HEADING)))
                for edit in write.edits
                if _HEADING in edit.inserted
                for line in LINES.findall(edit.inserted)
                if line.strip().startswith(_HEADING)
            ),
            states=tuple(
                hash((edit.source, state))
                for edit in write.edits
                for state in (edit.before, edit.after)
            ),
            gone=write.gone,
        )
        if row.gone:
            for source in {edit.source for edit in write.edits}:
                self.forgets[source].append(row)
        self.sources[row.source].append(row)
        if row.fact is not None:
            self.facts[row.fact].append(row)
        if row.request is not None:
            self.requests[row.request].append(row)
        if row.undoes is not None:
            self.undoing[row.undoes].append(row)
        for edit in write.edits:
            self.edits[edit.source].append(row)


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._turn = threading.RLock()
        self._known = _Known()
        self._seen: tuple[int, int, int] | None = None

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one.

        Raises StorageError.
        """
        with self._turn:
            status = self._status()
            if status is None:
                self._known, self._seen = _Known(), None
                return
            seen = (status.st_ino, status.st_size, status.st_mtime_ns)
            torn = mend and self._known.size < status.st_size
            if seen == self._seen and not torn:
                return
            self._catch_up(seen)
            if mend and self._known.size < status.st_size:
                storage.truncate(self._path, self._known.size)
                self.refresh()

    def _catch_up(self, seen: tuple[int, int, int]) -> None:
        """Read what follows the lines that are known; all of it if those are others by now."""
        with self._opened() as file:
            if self._known.size and _checksum(file, self._known.size) != self._known.crc:
                self._known = _Known()
            file.seek(self._known.size)
            for line in file:
                if line.endswith(b"\n"):
                    self._known.take(line)
            self._seen = seen

    def begin(self, *begun: Write | Purging) -> None:
        """Put down what is about to be done. Raises StorageError."""
        self._append(begun)

    def settle(
        self,
        done: Iterable[str],
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        """Put down which writes are in the files, which are not, and what became of facts."""
        self._append(outcomes(done, void, verdicts or {}))

    def saw(self, source: str, state: str) -> None:
        """Put down that somebody saved a text of a file, once."""
        if hash((source, state)) not in self._known.saved:
            self._append([Saved(source, state)])

    def _append(self, entries: Iterable[Entry]) -> None:
        if data := b"".join(map(encode, entries)):
            with self._turn:
                self.refresh()
                storage.append(self._path, data)
                status = self._status()
                if status is None or status.st_size != self._known.size + len(data):
                    return self.refresh()  # somebody else has appended, too
                for line in data.splitlines(keepends=True):
                    self._known.take(line)
                self._seen = (status.st_ino, status.st_size, status.st_mtime_ns)

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words.

        The purge that is `purged`, those that came to nothing and damaged lines have no place in it
        any more. Each line stays where it was: blanks take the place of what is gone.
        """
        with self._turn:
            self.refresh()
            known = self._known
            texts = [(line, b"" if line.length else b" ") for line in known.damaged]
            texts += [(line, b"") for line in known.void_purges.values()]
            texts += [(line, b"") for name, line in known.purges.items() if name == purged]
            for write, row in self._read(known.rows.values()):
                if (other := reword(write)) != write:
                    texts.append((row.line, encode(other)[:-1]))
            if texts:
                storage.replace(self._path, _patched(storage.read(self._path), texts))
                self.refresh()

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        return {line.number: text for line, text in self._texts(self._known.damaged)}

    def purges(self) -> list[Purging]:
        """The purges that have begun and are not done, oldest first."""
        entries = (decode(text) for _, text in self._texts(list(self._known.purges.values())))
        return [entry for entry in entries if isinstance(entry, Purging)]

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return self.writes(list(self._known.open.values()))

    def acknowledged(self) -> Iterator[Write]:
        """The acknowledged writes, oldest first."""
        return (write for write, _ in self._read(filter(_is_done, self._rows())))

    def newest(self) -> Iterator[Write]:
        """The acknowledged writes, newest first."""
        return (write for write, _ in self._read(filter(_is_done, reversed(self._rows()))))

    def of_request(self, request: str) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        found = self.writes(filter(_is_done, self._known.requests.get(hash(request), ())))
        return {write.part: write for write in found if write.request == request}

    def write(self, name: str) -> Write | None:
        """A write by its id."""
        row = self._known.rows.get(name)
        return self.writes([row])[0] if row else None

    def writes(self, rows: Iterable[Row]) -> list[Write]:
        """The writes of rows."""
        return [write for write, _ in self._read(rows)]

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        rows = filter(_is_done, reversed(self._known.facts.get(hash(words), ())))
        return next((write for write, _ in self._read(rows) if write.text == words), None)

    def made(self, source: str, title: str) -> bool:
        """Whether a heading is one that a write of ours put into a file."""
        wanted = hash((source, title))
        rows = self._known.edits.get(source, ())
        return any(row.state == "done" and wanted in row.headings for row in rows)

    def is_done(self, write: Write) -> bool:
        """Whether the write was acknowledged."""
        row = self._known.rows.get(write.id)
        return row is not None and row.state == "done"

    def is_undone(self, write: Write) -> bool:
        """Whether a later write reversed this one."""
        return any(map(_is_done, self._known.undoing.get(write.id, ())))

    def reversible(self, write: Write) -> bool:
        """Whether the write can still be reversed."""
        row = self._known.rows.get(write.id)
        return row is not None and row.reversible and not self.is_undone(write)

    def verdict(self, name: str) -> Verdict | None:
        """What became of a write's fact, if that is known."""
        row = self._known.rows.get(name)
        return row.verdict if row else None

    def left(self, source: str) -> str | None:
        """The digest of a file as our latest write left it."""
        rows = filter(_is_done, reversed(self._known.edits.get(source, ())))
        for write, _ in self._read(rows):
            return [edit.after for edit in write.edits if edit.source == source][-1]
        return None

    def was(self, source: str, state: str) -> bool:
        """Whether a file's text had this digest once: around a write, or as somebody saved it."""
        key = hash((source, state))
        rows = self._known.edits.get(source, ())
        return key in self._known.saved or any(
            row.state == "done" and key in row.states for row in rows
        )

    def standing(self, source: str, *actions: str) -> list[Row]:
        """The acknowledged writes of a file that can be reversed and were not, oldest first; of
        these actions, if any are named."""
        return [
            row
            for row in self._known.sources.get(source, ())
            if self._stands(row) and (not actions or row.action in actions)
        ]

    def watched(self, source: str) -> list[Row]:
        """The writes whose facts stand in a file, as far as is known; oldest first."""
        standing = self.standing(source)
        return [row for row in standing if row.item is not None and row.verdict in (None, "seen")]

    def first_headings(self, source: str) -> dict[int, Row]:
        """The headings that came into a file with writes, by hash, and the first that brought it;
        one that came and went before is not a later write's own."""
        first: dict[int, Row] = {}
        for row in self._known.sources.get(source, ()):
            if row.heading is not None and row.state == "done":
                first.setdefault(row.heading, row)
        return first

    def again(self, row: Row) -> bool:
        """Whether the line of this write was written to its file before, and went again."""
        former = self._known.facts.get(row.fact, ()) if row.fact is not None else ()
        return any(
            each.line < row.line and each.state == "done" and each.item == row.item
            for each in former
            if each.source == row.source
        )

    def back(self, source: str, there: Iterable[int]) -> list[str]:
        """The writes of a file whose facts were last seen to be gone, but whose lines are there:
        those have these hashes."""
        hashes = set(there)
        rows = [row for row in self._known.sources.get(source, ()) if row.verdict in GONE]
        return [row.id for row in rows if row.item in hashes and self._stands(row)]

    def erased(self) -> list[Write]:
        """The writes whose facts a stale save took away, and that were not written again since."""
        return self.writes(
            row
            for row in self._rows()
            if row.verdict == "erased" and row.fact is not None and self._is_added(row)
            if not any(
                later.line > row.line and self._is_added(later)
                for later in self._known.facts[row.fact]
            )
        )

    def forgotten(self) -> dict[str, dict[str, Row]]:
        """By file and keyed digest of a line, the acknowledged write that forgot it last."""
        return {
            source: {
                digest: row
                for row in rows
                if row.state == "done" and row.verdict != "dismissed"
                if not any(map(_is_done, self._known.undoing.get(row.id, ())))
                for digest in row.gone
            }
            for source, rows in self._known.forgets.items()
        }

    def position(self, name: str) -> int:
        """The number of a write's line: the later it was made, the higher. 0 if there is none."""
        row = self._known.rows.get(name)
        return row.line.number if row else 0

    def entry(self, write: Write) -> JournalEntry:
        """The write as it is shown."""
        return JournalEntry(
            id=write.id,
            time=write.time,
            action=write.action,
            source=write.source,
            text=write.text,
            origin=write.origin,
            undone=self.is_undone(write),
        )

    def _rows(self) -> list[Row]:
        return list(self._known.rows.values())

    def _stands(self, row: Row) -> bool:
        undoing = self._known.undoing.get(row.id, ())
        return row.state == "done" and row.reversible and not any(map(_is_done, undoing))

    def _is_added(self, row: Row) -> bool:
        return row.item is not None and self._stands(row)

    def _read(self, rows: Iterable[Row]) -> Iterator[tuple[Write, Row]]:
        """The writes on the lines of rows. Raises StorageError."""
        wanted = list(rows)
        if not wanted:
            return
        with self._opened() as file:
            for row in wanted:
                try:
                    entry = decode(os.pread(file.fileno(), row.line.length, row.line.at))
                except (ValueError, RecursionError) as error:
                    raise StorageError(
                        f"{self._path} has changed meanwhile", "Try again"
                    ) from error
                if isinstance(entry, Write):
                    yield entry, row

    def _texts(self, lines: list[Line]) -> list[tuple[Line, bytes]]:
        if not lines:
            return []
        with self._opened() as file:
            return [(line, os.pread(file.fileno(), line.length, line.at)) for line in lines]

    def _status(self) -> os.stat_result | None:
        with storage.reported("read", self._path):
            try:
                return self._path.stat()
            except FileNotFoundError:
                return None

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with storage.reported("read", self._path), storage.open_file(self._path) as file:
            yield file


def _is_done(row: Row) -> bool:
    return row.state == "done"


def _checksum(file: BinaryIO, size: int) -> int:
    """The checksum of the first bytes of a file; below 0 if there are fewer."""
    crc = 0
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        crc, size = crc32(block, crc), size - len(block)
    return crc if size == 0 else -1


def _patched(data: bytes, texts: Iterable[tuple[Line, bytes]]) -> bytes:
    """A file with other texts on some of its lines, filled up with blanks."""
    parts, at = [], 0
    for line, text in sorted(texts):
        parts += [data[at : line.at], text.ljust(line.length)]
        at = line.at + line.length
    return b"".join([*parts, data[at:]])

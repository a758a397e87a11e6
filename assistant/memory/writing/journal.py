"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`);
- ``saved``: a text that somebody else gave a file, by its digest: if it comes back, it is older;
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A damaged line is passed over and
named, and stays where it is until it is `set_aside`; what it settled is settled anew. The file is
read once, then only what was added to it.
"""

import os
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal
from zlib import crc32

import msgspec

from assistant.disk import storage
from assistant.memory.base import JournalEntry, Origin, Passage
from assistant.memory.text.identity import digest
from assistant.memory.text.markdown import LINES
from assistant.memory.writing.markup import item_of

Verdict = Literal["seen", "deleted", "erased", "dismissed", "restored"]
OWNER = Origin()
ADDING = frozenset({"remember", "supersede", "restore"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file. What it removed is the image `removed` in the history, or "".

    `at` counts characters of the file as it was just before. `before` and `after` are the digests
    of the whole text; `above` and `below` digests of the lines that were nearest, nearest first.
    """

    source: str
    at: int
    removed: str
    inserted: str
    before: str
    after: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def makes(self) -> bool:
        """Whether there was no text before."""
        return self.before == digest("")


@dataclass(frozen=True, slots=True)
class Write:
    """One write: `action` is remember, supersede, forget, undo, restore or amend.

    `request` and `part` name the client's request and the place in its batch; `undoes` the write
    that this one reversed. A purged one has lost its words and cannot be reversed. `gone` are keyed
    digests of the lines that it forgot (`forgotten.py`).
    """

    id: str
    time: str
    action: str
    text: str = ""
    origin: Origin = OWNER
    edits: tuple[Edit, ...] = ()
    request: str | None = None
    part: int = 0
    undoes: str | None = None
    purged: bool = False
    together: str = ""
    gone: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The file that the write is filed under: the one it added a fact to, if any."""
        added = self.added
        return added.source if added else next((edit.source for edit in self.edits), "")

    @property
    def added(self) -> Edit | None:
        """The edit that added the fact, if the write added one."""
        if self.action not in ADDING:
            return None
        return next((edit for edit in self.edits if edit.inserted and not edit.removed), None)


@dataclass(frozen=True, slots=True)
class Purging:
    """A purge that has begun. It stands in the journal until it is done, and no longer.

    `facts` are the facts in every wording that is known of them, `passages` what goes from the
    files, `cited` the entries that the facts were taken from, by session. `sessions`: past
    conversations and the prompt's history are gone through as well.
    """

    id: str
    time: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]
    cited: dict[str, tuple[str, ...]]
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of writes and purges: `done`, `void`, or a `verdict` on their facts."""

    type: str
    ids: tuple[str, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A text that somebody else gave a file, by its digest."""

    source: str
    state: str


Entry = Outcome | Write | Purging | Saved
_TYPES: dict[str, type[Entry]] = {"write": Write, "purge": Purging, "saved": Saved}
_ENCODER = msgspec.json.Encoder()
_PEEK = msgspec.json.Decoder(Outcome)
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _TYPES.items()}
_OUTCOMES = ("done", "void", "verdict")


def outcomes(
    done: Iterable[str], void: Iterable[str], verdicts: Mapping[str, Verdict]
) -> list[Outcome]:
    """The entries that say which writes are in the files, which are not, and what became of
    facts."""
    ids: dict[Verdict, list[str]] = {}
    for name, verdict in verdicts.items():
        ids.setdefault(verdict, []).append(name)
    entries = [Outcome("done", tuple(done)), Outcome("void", tuple(void))]
    entries += [Outcome("verdict", tuple(ids[verdict]), verdict) for verdict in ids]
    return [entry for entry in entries if entry.ids]


def encode(entry: Entry) -> bytes:
    """The entry as a line, its end included."""
    if isinstance(entry, Outcome):
        fields = {"type": entry.type, "ids": entry.ids}
        if entry.verdict:
            fields["verdict"] = entry.verdict
    else:
        kind = next(name for name, each in _TYPES.items() if isinstance(entry, each))
        fields = {"type": kind, **msgspec.to_builtins(entry)}
    return _ENCODER.encode(fields) + b"\n"


def decode(line: bytes) -> Entry:
    """The entry of a line. Raises ValueError if it is none of the journal's."""
    if line.startswith(b'{"type":"write",'):
        return _DECODERS["write"].decode(line)
    outcome = _PEEK.decode(line)
    if decoder := _DECODERS.get(outcome.type):
        return decoder.decode(line)
    is_verdict = outcome.type == "verdict"
    if outcome.type not in _OUTCOMES or is_verdict != (outcome.verdict is not None):
        raise ValueError(f"an entry of type {outcome.type!r}")
    return outcome


def new_id() -> str:
    """A fresh id of 12 hex digits."""
    return secrets.token_hex(6)


def now() -> str:
    """The local time, ISO 8601 with offset."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def scrubbed(write: Write) -> Write:
    """The write without its words: that something happened, and when."""
    return replace(write, text="", origin=Origin(write.origin.kind), edits=(), purged=True)


HERE, GONE = (None, "seen"), ("deleted", "erased", "dismissed")
"""The verdicts on a fact that was last seen to be there, and to be gone."""
_HEADING = "## "


@dataclass(slots=True, eq=False)
class Record:
    """A write, the number of its line, and what became of it.

    `item` is the line of the fact that it added, `heading` that of the heading that came with it.
    """

    line: int
    write: Write
    source: str
    item: str | None = None
    heading: str | None = None
    state: Literal["open", "done", "void"] = "open"
    verdict: Verdict | None = None
    undone: bool = False

    @property
    def reversible(self) -> bool:
        """Whether the write can be reversed, and was not."""
        write = self.write
        return bool(write.edits) and write.action != "undo" and not write.purged and not self.undone

    @property
    def stands(self) -> bool:
        """Whether it was acknowledged, and can be reversed."""
        return self.state == "done" and self.reversible

    @property
    def adds(self) -> bool:
        """Whether it stands, and added a fact."""
        return self.item is not None and self.stands


@dataclass(slots=True)
class _Contents:
    """What the lines read so far add up to; of `size` bytes with this checksum."""

    size: int = 0
    lines: int = 0
    crc: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    facts: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    """The acknowledged writes that added a fact, by its words."""
    left: dict[str, str] = field(default_factory=dict)
    states: set[tuple[str, str]] = field(default_factory=set)
    """Each file with the digests that it had: around a write, or as somebody saved it."""
    headings: set[tuple[str, str]] = field(default_factory=set)
    purges: dict[str, Purging] = field(default_factory=dict)
    damaged: dict[int, bytes] = field(default_factory=dict)

    def take(self, data: bytes) -> None:
        """Go on with what follows; a last line that is not ended is left."""
        whole = data[: data.rfind(b"\n") + 1]
        self.size += len(whole)
        self.crc = crc32(whole, self.crc)
        for line in whole.split(b"\n")[:-1]:
            self.lines += 1
            try:
                self._add(decode(line))
            except (ValueError, RecursionError):
                if not line.isspace():
                    self.damaged[self.lines] = line

    def _add(self, entry: Entry) -> None:
        match entry:
            case Write():
                added = entry.added
                lines = [each.strip() for each in LINES.findall(added.inserted)] if added else []
                self.records[entry.id] = Record(
                    self.lines,
                    entry,
                    entry.source,
                    item_of(added.inserted) if added else None,
                    lines[0] if lines and lines[0].startswith(_HEADING) else None,
                )
            case Purging():
                self.purges[entry.id] = entry
            case Saved():
                self.states.add((entry.source, entry.state))
            case Outcome():
                for name in entry.ids:
                    if entry.verdict is None:
                        self.purges.pop(name, None)
                    if record := self.records.get(name):
                        self._settle(record, entry)

    def _settle(self, record: Record, outcome: Outcome) -> None:
        if outcome.verdict is not None:
            record.verdict = outcome.verdict
        elif outcome.type == "void":
            record.state = "void"
        elif record.state != "done":
            record.state = "done"
            write = record.write
            if write.text and write.action in ADDING:
                self.facts[write.text].append(record)
            if undone := self.records.get(write.undoes or ""):
                undone.undone = True
            for edit in write.edits:
                self.left[edit.source] = edit.after
                self.states |= {(edit.source, edit.before), (edit.source, edit.after)}
                lines = map(str.strip, LINES.findall(edit.inserted))
                self.headings |= {
                    (edit.source, line.removeprefix(_HEADING))
                    for line in lines
                    if line.startswith(_HEADING)
                }


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._turn = threading.RLock()
        self._contents = _Contents()
        self._seen: tuple[int, int, int] | None = None

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one.

        Raises StorageError.
        """
        with self._turn:
            seen = self._sign()
            if seen is None:
                self._contents, self._seen = _Contents(), None
                return
            if seen != self._seen:
                with storage.reported("read", self._path):
                    data = storage.read(self._path)
                if crc32(data[: self._contents.size]) != self._contents.crc:
                    self._contents = _Contents()
                self._contents.take(data[self._contents.size :])
                self._seen = seen
            if mend and self._contents.size < seen[1]:
                storage.truncate(self._path, self._contents.size)
                self.refresh()

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
        if not self.was(source, state):
            self._append([Saved(source, state)])

    def _append(self, entries: Iterable[Entry]) -> None:
        if data := b"".join(map(encode, entries)):
            with self._turn:
                self.refresh()
                storage.append(self._path, data)
                seen = self._sign()
                if seen is None or seen[1] != self._contents.size + len(data):
                    return self.refresh()  # somebody else has appended, too
                self._contents.take(data)
                self._seen = seen

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words.

        The purge that is `purged`, those that came to nothing and damaged lines have no place in it
        any more.
        """
        with self._turn:
            self.refresh()
            *before, rest = storage.read(self._path).split(b"\n")
            after = [said for line in before if (said := self._reworded(line, reword, purged))]
            if after != before:
                storage.replace(self._path, b"\n".join([*after, rest]))
                self.refresh()

    def _reworded(self, line: bytes, reword: Callable[[Write], Write], purged: str | None) -> bytes:
        """What a line shall say; nothing, if it has no place any more."""
        try:
            entry = decode(line)
        except (ValueError, RecursionError):
            return b""
        if isinstance(entry, Purging):
            return line if entry.id in self._contents.purges.keys() - {purged} else b""
        if isinstance(entry, Write) and (other := reword(entry)) != entry:
            return encode(other).rstrip()
        return line

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        return dict(self._contents.damaged)

    def purges(self) -> list[Purging]:
        """The purges that have begun and are not done, oldest first."""
        return list(self._contents.purges.values())

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return [record.write for record in self.records().values() if record.state == "open"]

    def acknowledged(self) -> Iterator[Write]:
        """The acknowledged writes, oldest first."""
        return (record.write for record in self.records().values() if record.state == "done")

    def newest(self) -> Iterator[Write]:
        """The acknowledged writes, newest first."""
        return reversed(list(self.acknowledged()))

    def of_request(self, request: str | None) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        if request is None:
            return {}
        return {write.part: write for write in self.acknowledged() if write.request == request}

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        records = self._contents.facts.get(words, ())
        return records[-1].write if records else None

    def made(self, source: str, title: str) -> bool:
        """Whether a heading is one that a write of ours put into a file."""
        return (source, title) in self._contents.headings

    def records(self) -> dict[str, Record]:
        """All writes by their ids, oldest first."""
        return dict(self._contents.records)

    def left(self, source: str) -> str | None:
        """The digest of a file as our latest write left it."""
        return self._contents.left.get(source)

    def was(self, source: str, state: str) -> bool:
        """Whether a file's text had this digest once: around a write, or as somebody saved it."""
        return (source, state) in self._contents.states

    def of_file(self, source: str) -> list[Record]:
        """The acknowledged writes that are filed under a file, oldest first."""
        records = (record for record in self.records().values() if record.source == source)
        return [record for record in records if record.state == "done"]

    def watched(self, source: str) -> list[Record]:
        """The writes whose facts stand in a file, as far as is known; oldest first."""
        return [each for each in self.of_file(source) if each.adds and each.verdict in HERE]

    def again(self, record: Record) -> bool:
        """Whether the line of this write was written to its file before, and went again."""
        return any(
            other.line < record.line and (other.source, other.item) == (record.source, record.item)
            for other in self._contents.facts.get(record.write.text, ())
        )

    def erased(self) -> list[Record]:
        """The writes whose facts a stale save took away, and that were not written again since."""
        lost = [
            record
            for record in self.records().values()
            if record.verdict == "erased" and record.adds
        ]
        latest = {one.write.text: one for one in self.records().values() if lost and one.adds}
        return [record for record in lost if latest[record.write.text] is record]

    def forgotten(self) -> dict[str, dict[str, Record]]:
        """By file and keyed digest of a line, the acknowledged write that forgot it last."""
        found: dict[str, dict[str, Record]] = {}
        for record in self.records().values():
            gone = dict.fromkeys(record.write.gone, record)
            if gone and record.state == "done" and record.verdict != "dismissed":
                for edit in record.write.edits if not record.undone else ():
                    found.setdefault(edit.source, {}).update(gone)
        return found

    def entry(self, write: Write) -> JournalEntry:
        """The write as it is shown."""
        return JournalEntry(
            id=write.id,
            time=write.time,
            action=write.action,
            source=write.source,
            text=write.text,
            origin=write.origin,
            undone=self._contents.records[write.id].undone,
        )

    def _sign(self) -> tuple[int, int, int] | None:
        with storage.reported("read", self._path):
            try:
                found = os.stat(self._path)  # noqa: PTH116
            except FileNotFoundError:
                return None
        return found.st_ino, found.st_size, found.st_mtime_ns

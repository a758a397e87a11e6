"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object per line. It is append-only, except for purges:

- ``write``: a write, recorded before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what happened to facts when somebody else saved their file (`stale_saves.py`);
- ``saved``: the digest of a text that somebody else gave a file: if it returns, it is stale;
- ``purge``: facts that are being purged, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A damaged line is skipped and
reported, and stays until a check of memory sets it aside; what it settled is settled again. The
file is parsed once, then only what was appended to it.
"""

import contextlib
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Literal
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assistant.disk import storage
from assistant.errors import StorageError
from assistant.memory.annotations import split_comments, without_phrases
from assistant.memory.base import Fact, JournalEntry, Origin, Passage
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import BREAKS, LINES, plain
from assistant.memory.writing.markup import item_of
from assistant.workspace.folder import Workspace

Verdict = Literal["seen", "deleted", "erased", "dismissed", "restored"]
PRESENT, ABSENT = (None, "seen"), ("deleted", "erased", "dismissed")
"""The verdicts on a fact that was in its file at the last check, and on one that was not."""
ADDING = frozenset({"remember", "supersede", "restore"})
"""The actions that add a fact."""
_HEADING = "## "


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one file. The text it removed is the image named `removed`, or "".

    `at` is a character offset in the file before the change. `before` and `after` are digests of
    the whole text; `above` and `below` those of the nearest lines around it, nearest first.
    """

    source: str
    at: int
    removed: str
    inserted: str
    before: str
    after: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


class Write(Struct, frozen=True, tag="write"):
    """One write: `action` is remember, supersede, forget, undo, restore, amend, mark or refuse.

    `request` is the client's request and `part` the index of the fact in it; `undoes` is the write
    that this one reversed. A purged write has lost its text and cannot be reversed. `gone` contains
    keyed digests of the lines it forgot (`ForgottenLines` in `stale_saves.py`). `held` is its fact
    as it waited for the owner, if it did; one that refuses it has no edits. `below` is the line of
    the heading that the fact was added below. `moved` are the writes whose facts the daily upkeep
    moved with it.
    """

    id: str
    time: str
    action: str
    text: str = ""
    origin: Origin = Origin()
    edits: tuple[Edit, ...] = ()
    request: str | None = None
    part: int = 0
    undoes: str | None = None
    purged: bool = False
    together: str = ""
    gone: tuple[str, ...] = ()
    held: Fact | None = None
    below: str = ""
    moved: tuple[str, ...] = ()

    @property
    def added(self) -> Edit | None:
        """The edit that added the fact, if the write added one."""
        if self.action not in ADDING:
            return None
        return next((edit for edit in self.edits if edit.inserted and not edit.removed), None)

    @property
    def source(self) -> str:
        """The file that the write is listed under: the one it added a fact to, else the first."""
        return next((edit.source for edit in (self.added, *self.edits) if edit), "")

    def scrubbed(self) -> "Write":
        """Return the write without its text: only that it happened, and when."""
        return replace(
            self,
            text="",
            origin=Origin(self.origin.kind),
            edits=(),
            purged=True,
            held=None,
            below="",
        )


class Purging(Struct, frozen=True, tag="purge"):
    """A purge that has begun. It stays in the journal until it is complete.

    `facts` are the facts in every known wording, `passages` what is removed from the files, `cited`
    the entries that the facts were captured from, by session. `sessions`: the purge covers past
    conversations and the prompt history.
    """

    id: str
    time: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]
    cited: dict[str, tuple[str, ...]]
    sessions: bool = False


class Done(Struct, frozen=True, tag="done"):
    """Writes or purges that were carried out."""

    ids: tuple[str, ...] = ()


class Void(Struct, frozen=True, tag="void"):
    """Writes or purges that came to nothing."""

    ids: tuple[str, ...] = ()


class Judged(Struct, frozen=True, tag="verdict"):
    """The verdict on the facts of writes."""

    ids: tuple[str, ...]
    verdict: Verdict


class Saved(Struct, frozen=True, tag="saved"):
    """A text that somebody else gave a file, by its digest; with the `comments` that it has at the
    lines of facts, by the write that added each, where they have changed."""

    source: str
    state: str
    comments: dict[str, str] = {}


Entry = Write | Purging | Done | Void | Judged | Saved
_DECODER: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """Encode the entry as a line, including its end."""
    return msgspec.json.encode(entry) + b"\n"


def decode(line: bytes) -> Entry:
    """Decode a line. Raises ValueError if it is damaged."""
    try:
        return _DECODER.decode(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def new_id() -> str:
    """Return a new id of 12 hex digits."""
    return secrets.token_hex(6)


def now() -> str:
    """Return the local time, ISO 8601 with offset."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


@dataclass(slots=True, eq=False)
class Record:
    """A write, its line number, and its outcome.

    `item` is the line of the fact that it added, without `for:` comments, `heading` that of the
    heading added with it. `comments` are those at the end of its line, as last written or saved by
    somebody else; a purge of any fact drops the saved ones.
    """

    line: int
    write: Write
    source: str
    item: str | None = None
    heading: str | None = None
    comments: str = ""
    state: Literal["open", "done", "void"] = "open"
    verdict: Verdict | None = None
    undone: bool = False

    @property
    def reversible(self) -> bool:
        """Whether the write can be reversed, and was not."""
        write = self.write
        changes = bool(write.edits or write.held)
        return changes and write.action != "undo" and not write.purged and not self.undone

    @property
    def is_in_effect(self) -> bool:
        """Whether it was acknowledged, and can be reversed."""
        return self.state == "done" and self.reversible

    @property
    def forgot_for_good(self) -> bool:
        """Whether it is the acknowledgement of a purge."""
        return self.state == "done" and self.write.action == "forget" and self.write.purged

    @property
    def adds(self) -> bool:
        """Whether it stands and added a fact."""
        return self.item is not None and self.is_in_effect

    @property
    def is_watched(self) -> bool:
        """Whether the fact that it added is in its file, as far as is known."""
        return self.adds and self.verdict in PRESENT


class Journal:
    """One machine's journal, kept in step with what other processes append.

    Any thread may read, after `refresh`; append, mend and rewrite only under the ledger's lock.
    `records` are all writes by id, `written` the digest of each file after our latest write to it,
    `purges` the unfinished ones, `damaged` the unreadable lines, by number.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._stat: storage.Stat | None = None
        self.records: dict[str, Record] = {}
        self.written: dict[str, str] = {}
        self.purges: dict[str, Purging] = {}
        self.damaged: dict[int, bytes] = {}
        self._size = self._lines = self._checksum = 0
        self._adding: dict[str, list[Record]] = defaultdict(list)
        """The acknowledged writes that added a fact, by its text."""
        self._texts: set[tuple[str, str]] = set()
        """Each file with the digests it had: around a write, or as saved by somebody else."""
        self._headings: set[tuple[str, str]] = set()

    # The file

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines appended since the last call; with `mend`, cut off a torn last one.

        Raises StorageError.
        """
        with self._lock, storage.reported("read", self.path):
            try:
                stat = storage.stat_of(self.path)
            except FileNotFoundError:
                self._clear()
                return
            if stat != self._stat:
                data = storage.read(self.path)
                if crc32(data[: self._size]) != self._checksum:
                    self._clear()
                self._read(data[self._size :])
                self._stat = stat
            if mend and self._size < stat.size:
                storage.replace(self.path, storage.read(self.path)[: self._size])
                self.refresh()

    def settle(
        self,
        done: Iterable[str] = (),
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        saved: Iterable[Saved] = (),
    ) -> None:
        """Record which writes are in the files, which are not, the verdicts on facts, and the texts
        that somebody else `saved`, each once."""
        judged: dict[Verdict, list[str]] = {}
        for id, verdict in (verdicts or {}).items():
            judged.setdefault(verdict, []).append(id)
        entries: list[Done | Void | Judged] = [Done(tuple(done)), Void(tuple(void))]
        entries += [Judged(tuple(ids), verdict) for verdict, ids in judged.items()]
        new = (save for save in saved if not self.has_had(save.source, save.state))
        self.begin(*(entry for entry in entries if entry.ids), *new)

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, atomically, by one with the same writes, reworded.

        The purge `purged`, void purges and damaged lines are left out.
        """
        with self._lock:
            self.refresh()
            *before, rest = storage.read_or_empty(self.path).split(b"\n")
            after = [new for line in before if (new := self._reworded(line, reword, purged))]
            if after != before:
                storage.replace(self.path, b"\n".join([*after, rest]))
                self.refresh()

    def _reworded(self, line: bytes, reword: Callable[[Write], Write], purged: str | None) -> bytes:
        """Return the new form of a line; nothing if it is left out."""
        try:
            entry = decode(line)
        except ValueError:
            return b""
        if isinstance(entry, Purging):
            return line if entry.id in self.purges.keys() - {purged} else b""
        if isinstance(entry, Saved) and entry.comments:
            return encode(replace(entry, comments={})).rstrip()
        if isinstance(entry, Write) and (other := reword(entry)) != entry:
            return encode(other).rstrip()
        return line

    def begin(self, *entries: Entry) -> None:
        """Record what is about to be done, or was. Raises StorageError."""
        if data := b"".join(map(encode, entries)):
            with self._lock:
                self.refresh()
                storage.append(self.path, data)
                self._read(data)
                self._stat = storage.stat_or_none(self.path)

    def _read(self, data: bytes) -> None:
        """Process the appended lines; an unfinished last one is left for later."""
        whole = data[: data.rfind(b"\n") + 1]
        self._size += len(whole)
        self._checksum = crc32(whole, self._checksum)
        for line in whole.split(b"\n")[:-1]:
            self._lines += 1
            try:
                self._add(decode(line))
            except ValueError:
                if not line.isspace():
                    self.damaged[self._lines] = line

    def _add(self, entry: Entry) -> None:
        match entry:
            case Write():
                self.records[entry.id] = _record(self._lines, entry)
            case Purging():
                self.purges[entry.id] = entry
            case Saved():
                self._texts.add((entry.source, entry.state))
                for id, comments in entry.comments.items():
                    for record in self._named([id]):
                        record.comments = comments
            case Judged():
                for record in self._named(entry.ids):
                    record.verdict = entry.verdict
            case Done() | Void():
                for id in entry.ids:
                    self.purges.pop(id, None)
                for record in self._named(entry.ids):
                    if isinstance(entry, Done):
                        self._acknowledge(record)
                    else:
                        record.state = "void"

    def _named(self, ids: Iterable[str]) -> Iterator[Record]:
        return (self.records[id] for id in ids if id in self.records)

    def _acknowledge(self, record: Record) -> None:
        if record.state == "done":
            return
        record.state = "done"
        write = record.write
        if write.text and write.action in ADDING:
            self._adding[write.text].append(record)
        for undone in self._named([write.undoes or ""]):
            undone.undone = True
        for edit in write.edits:
            self.written[edit.source] = edit.after
            self._texts |= {(edit.source, edit.before), (edit.source, edit.after)}
            lines = map(str.strip, LINES.findall(edit.inserted))
            self._headings |= {
                (edit.source, line.removeprefix(_HEADING))
                for line in lines
                if line.startswith(_HEADING)
            }

    # Queries

    def _in_state(self, state: str) -> list[Record]:
        """Return the writes in this state, oldest first; other threads may add some meanwhile."""
        return [record for record in list(self.records.values()) if record.state == state]

    def pending(self) -> list[Write]:
        """Return writes with an unknown outcome, whose process died or is still writing."""
        return [record.write for record in self._in_state("open")]

    def acknowledged(self) -> list[Write]:
        """Return the acknowledged writes, oldest first."""
        return [record.write for record in self._in_state("done")]

    def of_request(self, request: str | None) -> dict[int, Write]:
        """Return the acknowledged writes of a client's request, by the index of the fact in it."""
        if request is None:
            return {}
        return {write.part: write for write in self.acknowledged() if write.request == request}

    def adding(self, words: str) -> Write | None:
        """Return the latest write that added a fact with this text."""
        records = self._adding.get(words, ())
        return records[-1].write if records else None

    def marks(self, added: Record) -> dict[str, str]:
        """Return the comments that later writes have put at the ends of facts' lines in the file
        that this write added one to, by the key of the fact; the latest counts."""
        edits = (
            edit
            for record in self._in_state("done")
            if record.write.action == "mark" and record.is_in_effect and record.line > added.line
            for edit in record.write.edits
            if edit.source == added.source
        )
        lines = (split_comments(BREAKS.split(edit.inserted, maxsplit=1)[0]) for edit in edits)
        return {fact_key(plain(words)): comments for words, comments in lines}

    def has_written_before(self, record: Record) -> bool:
        """Return whether an earlier write added the same line to the same file."""
        return any(
            other.line < record.line and (other.source, other.item) == (record.source, record.item)
            for other in self._adding.get(record.write.text, ())
        )

    def has_made_heading(self, source: str, title: str) -> bool:
        """Return whether one of our writes put the heading `## {title}` into a file."""
        return (source, title) in self._headings

    def has_had(self, source: str, state: str) -> bool:
        """Return whether a file's text once had this digest: around a write, or as saved."""
        return (source, state) in self._texts

    def of_file(self, source: str) -> list[Record]:
        """Return the acknowledged writes that are listed under a file, oldest first."""
        return [record for record in self._in_state("done") if record.source == source]

    def watched(self, source: str) -> list[Record]:
        """Return the writes whose facts are in a file, as far as is known; oldest first."""
        return [record for record in self.of_file(source) if record.is_watched]

    def moved_back(self) -> set[str]:
        """Return the writes whose facts the daily upkeep had moved before that was undone."""
        return {
            id for record in self._in_state("done") if record.undone for id in record.write.moved
        }

    def erased(self) -> list[Record]:
        """Return the writes whose facts a stale save erased, unless they were written again."""
        records = [record for record in self._in_state("done") if record.adds]
        latest = {record.write.text: record for record in records}
        return [record for record in latest.values() if record.verdict == "erased"]

    def forgotten(self) -> dict[str, Record]:
        """Return, by the keyed digest of a line, the last acknowledged write that forgot it."""
        return {
            line: record
            for record in self._in_state("done")
            if record.verdict != "dismissed" and not record.undone
            for line in record.write.gone
        }

    def entry(self, write: Write) -> JournalEntry:
        """Return the write as it is shown."""
        return JournalEntry(
            id=write.id,
            time=write.time,
            action=write.action,
            source=write.source,
            text=write.text,
            origin=write.origin,
            undone=self.records[write.id].undone,
        )


def _record(line: int, write: Write) -> Record:
    added = write.added
    if added is None:
        return Record(line, write, write.source)
    first = next((text.strip() for text in LINES.findall(added.inserted)), "")
    heading = first if first.startswith(_HEADING) else None
    item = item_of(added.inserted)
    words, comments = without_phrases(item).strip(), split_comments(item)[1]
    return Record(line, write, write.source, words, heading, comments)


class Journals:
    """The journals of one workspace: this machine's `own`, and those that syncing brought."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.own = Journal(workspace.journal)
        self._others: dict[Path, Journal] = {}
        self._paths: list[Path] = []
        self._changed = 0

    def others(self) -> Iterator[Journal]:
        """Yield the journals of other machines that are readable; a sync may be in progress."""
        folder = self._workspace.private
        if not folder.exists():
            return
        changed = folder.stat().st_mtime_ns
        if changed != self._changed:
            self._changed, self._paths = changed, self._workspace.journals_elsewhere()
        for path in self._paths:
            journal = self._others.setdefault(path, Journal(path))
            with contextlib.suppress(StorageError):
                journal.refresh()
                yield journal

    def adding(self, words: str) -> JournalEntry | None:
        """Return the latest write, on any machine, of a fact with this text (a chunk's `plain`)."""
        self.own.refresh()
        for journal in chain([self.own], self.others()):
            if write := journal.adding(words):
                return journal.entry(write)
        return None

    def log(self, limit: int | None = 20) -> tuple[JournalEntry, ...]:
        """Return the latest acknowledged writes of all machines, newest first; of a purged fact
        only that it was forgotten."""
        self.own.refresh()
        journals = [self.own, *self.others()]
        entries: list[JournalEntry] = []
        for journal in journals:
            writes = reversed(journal.acknowledged())
            shown = (one for one in writes if one.text or not one.purged or one.action == "forget")
            entries += map(journal.entry, islice(shown, limit))
        if len(journals) > 1:
            entries.sort(key=lambda entry: datetime.fromisoformat(entry.time), reverse=True)
        return tuple(entries[:limit])

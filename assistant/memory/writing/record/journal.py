"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`);
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A line that is damaged is passed
over and named, and stays where it is until it is `set_aside`; what it settled is settled anew.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from assistant.disk import storage
from assistant.memory.base import JournalEntry
from assistant.memory.writing.record.writes import ADDING, GONE, Purging, Verdict, Write


@dataclass(frozen=True, slots=True)
class _Line:
    """What is common to the lines that are neither writes nor purges."""

    type: str
    ids: tuple[str, ...] = ()
    verdict: Verdict | None = None


_Kept = _Line | Write | Purging


@dataclass(slots=True)
class _State:
    """What the lines read so far add up to."""

    writes: dict[str, Write] = field(default_factory=dict)
    open: dict[str, Write] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    void: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)
    requests: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    saved: dict[str, str] = field(default_factory=dict)
    purges: dict[str, Purging] = field(default_factory=dict)
    damaged: dict[int, bytes] = field(default_factory=dict)
    lines: int = 0
    offset: int = 0
    last: bytes = b""
    seen: tuple[int, int, int] = (0, 0, 0)


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = _State()
        self._turn = threading.RLock()

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one."""
        with self._turn:
            self._refresh(mend=mend)

    def _refresh(self, *, mend: bool) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._state = _State()
            return
        seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        if seen == self._state.seen and status.st_size == self._state.offset:
            return
        fresh = self._unread()
        whole = fresh.rfind(b"\n") + 1
        if whole < len(fresh) and mend:
            storage.truncate(self._path, self._state.offset + whole)
        for line in fresh[:whole].split(b"\n")[:-1]:
            self._take(line)
        self._state.offset += whole
        self._state.seen = seen

    def _unread(self) -> bytes:
        """What comes after the lines that were read; all of it if those are no longer there."""
        with storage.reported("read", self._path), self._path.open("rb") as file:
            file.seek(self._state.offset - len(self._state.last))
            fresh = file.read()
            if fresh.startswith(self._state.last) and self._state.last:
                return fresh.removeprefix(self._state.last)
            self._state = _State()
            file.seek(0)
            return file.read()

    def _take(self, line: bytes) -> None:
        state = self._state
        state.lines += 1
        state.last = line + b"\n"
        try:
            self._add(_read(line))
        except (msgspec.MsgspecError, ValueError):
            state.damaged[state.lines] = line

    def _add(self, kept: _Kept) -> None:
        state = self._state
        match kept:
            case Write():
                state.writes[kept.id] = state.open[kept.id] = kept
                if kept.request is not None:
                    state.requests.setdefault(kept.request, []).append(kept.id)
            case Purging():
                state.purges[kept.id] = kept
            case _Line(type="done"):
                for name in kept.ids:
                    if write := state.writes.get(name):  # else the line that told of it is damaged
                        self._acknowledge(write)
            case _Line(type="void"):
                state.void.update(kept.ids)
                for name in kept.ids:
                    state.open.pop(name, None)
                    state.purges.pop(name, None)
            case _Line(type="verdict", verdict=verdict) if verdict:
                self._judge(kept.ids, verdict)
            case _:
                raise ValueError(f"an entry of type {kept.type!r}")

    def _judge(self, names: Iterable[str], verdict: Verdict) -> None:
        state = self._state
        for name in names:
            state.verdicts[name] = verdict
            if verdict in GONE:
                state.gone[name] = None
            else:
                state.gone.pop(name, None)

    def _acknowledge(self, write: Write) -> None:
        state = self._state
        state.done.add(write.id)
        state.open.pop(write.id, None)
        if write.undoes:
            state.undone.add(write.undoes)
        if write.action in ADDING and write.text:
            state.facts[write.text] = write.id
        state.saved.update({edit.source: edit.after for edit in write.edits})

    def begin(self, *begun: Write | Purging) -> None:
        """Put down what is about to be done."""
        self._append(begun)

    def settle(
        self,
        done: Iterable[str],
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        """Put down which writes are in the files, which are not, and what became of facts."""
        self._append([*_outcomes(done, void), *_verdicts(verdicts or {})])

    def _append(self, kept: Iterable[_Kept]) -> None:
        if data := b"".join(map(_written, kept)):
            storage.append(self._path, data)
            self.refresh()

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words.

        The purge that is `purged` has no place in it any more.
        """
        self.refresh()
        state = self._state
        done = [name for name in state.writes if name in state.done]
        void = [name for name in state.writes if name in state.void]
        kept: list[_Kept] = [
            *map(reword, state.writes.values()),
            *(purge for name, purge in state.purges.items() if name != purged),
            *_outcomes(done, void),
            *_verdicts(state.verdicts),
        ]
        storage.replace(self._path, b"".join(map(_written, kept)))
        self.refresh()

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        return dict(self._state.damaged)

    def purges(self) -> list[Purging]:
        """The purges that have begun and are not done, oldest first."""
        return list(self._state.purges.values())

    def made(self, source: str, title: str) -> bool:
        """Whether a heading is one that a write of ours put into a file."""
        edits = (edit for write in self.acknowledged() for edit in write.edits)
        return any(edit.source == source and f"## {title}" in edit.inserted for edit in edits)

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return list(self._state.open.values())

    def acknowledged(self) -> list[Write]:
        """The acknowledged writes, oldest first."""
        done = self._state.done
        return [write for write in list(self._state.writes.values()) if write.id in done]

    def of_request(self, request: str) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        ids = self._state.requests.get(request, [])
        found = (self._state.writes[name] for name in ids if name in self._state.done)
        return {write.part: write for write in found}

    def write(self, name: str) -> Write | None:
        """A write by its id."""
        return self._state.writes.get(name)

    def is_done(self, write: Write) -> bool:
        """Whether the write was acknowledged."""
        return write.id in self._state.done

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        return self._state.writes.get(self._state.facts.get(words, ""))

    def saved(self, source: str) -> str | None:
        """The digest of a file as the latest write left it."""
        return self._state.saved.get(source)

    def is_undone(self, write: Write) -> bool:
        """Whether a later write reversed this one."""
        return write.id in self._state.undone

    def reversible(self, write: Write) -> bool:
        """Whether the write can still be reversed."""
        can_be = bool(write.edits) and write.action != "undo" and not write.purged
        return can_be and not self.is_undone(write)

    def verdict(self, name: str) -> Verdict | None:
        """What became of a write's fact, if that is known."""
        return self._state.verdicts.get(name)

    def gone(self) -> list[Write]:
        """The acknowledged writes whose facts were last seen to be gone, and can be reversed."""
        found = (self._state.writes[name] for name in list(self._state.gone))
        return [write for write in found if self.is_done(write) and self.reversible(write)]

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


def _outcomes(done: Iterable[str], void: Iterable[str]) -> list[_Line]:
    lines = _Line("done", tuple(done)), _Line("void", tuple(void))
    return [line for line in lines if line.ids]


def _verdicts(verdicts: Mapping[str, Verdict]) -> list[_Line]:
    ids: dict[Verdict, list[str]] = {}
    for name, verdict in verdicts.items():
        ids.setdefault(verdict, []).append(name)
    return [_Line("verdict", tuple(ids[verdict]), verdict) for verdict in ids]


_TYPES: dict[str, type[_Kept]] = {"write": Write, "purge": Purging}
_ENCODER = msgspec.json.Encoder()


def _written(kept: _Kept) -> bytes:
    match kept:
        case _Line():
            fields = {"type": kept.type, "ids": kept.ids}
            if kept.verdict:
                fields["verdict"] = kept.verdict
        case _:
            kind = "write" if isinstance(kept, Write) else "purge"
            fields = {"type": kind, **msgspec.to_builtins(kept)}
    return _ENCODER.encode(fields) + b"\n"


def _read(line: bytes) -> _Kept:
    """What a line says. Raises msgspec.MsgspecError if it has no form of the journal's."""
    peeked = msgspec.json.decode(line, type=_Line)
    known = _TYPES.get(peeked.type)
    return msgspec.json.decode(line, type=known) if known else peeked

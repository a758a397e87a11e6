"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`).

A write without ``done`` was never acknowledged and is not shown.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assistant import storage
from assistant.errors import StorageError
from assistant.memory.base import JournalEntry, Origin
from assistant.memory.writing.record.writes import ADDING, Edit, Verdict, Write

_WRITE, _DONE, _VOID, _VERDICT = "write", "done", "void", "verdict"


@dataclass(slots=True)
class _State:
    """What the lines read so far add up to."""

    writes: dict[str, Write] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    void: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    requests: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    saved: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    offset: int = 0
    last: bytes = b""
    seen: tuple[int, int, int] = (0, 0, 0)


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading; append, mend and rewrite only under the ledger's lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = _State()

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one.

        Raises StorageError, naming the line, if one in the middle is damaged.
        """
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
        try:
            for line in fresh[:whole].split(b"\n")[:-1]:
                self._take(line)
        except StorageError:
            self._state = _State()
            raise
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
            raw = json.loads(line)
            match raw["type"]:
                case "write":
                    write = _write(raw)
                    state.writes[write.id] = write
                    if write.request is not None:
                        state.requests.setdefault(write.request, []).append(write.id)
                case "done":
                    for name in raw["ids"]:
                        self._acknowledge(state.writes[name])
                case "void":
                    state.void.update(raw["ids"])
                case "verdict":
                    state.verdicts.update(dict.fromkeys(raw["ids"], raw["verdict"]))
                case other:
                    raise ValueError(f"an entry of type {other!r}")
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self._path}:{state.lines} is damaged ({error})",
                "Put the line right, or remove it if it cannot be",
            ) from error

    def _acknowledge(self, write: Write) -> None:
        state = self._state
        state.done.add(write.id)
        if write.undoes:
            state.undone.add(write.undoes)
        if write.action in ADDING and write.text:
            state.facts[write.text] = write.id
        state.saved.update({edit.source: edit.after for edit in write.edits})

    def begin(self, writes: Sequence[Write]) -> None:
        """Put down what is about to be done."""
        self._append({"type": _WRITE, **asdict(write)} for write in writes)

    def settle(
        self,
        done: Iterable[str],
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        """Put down which writes are in the files, which are not, and what became of facts."""
        outcomes = {_DONE: list(done), _VOID: list(void)}
        entries: list[dict[str, Any]] = [
            {"type": kind, "ids": ids} for kind, ids in outcomes.items() if ids
        ]
        self._append([*entries, *_verdicts(verdicts or {})])

    def _append(self, entries: Iterable[dict[str, Any]]) -> None:
        data = "".join(_line(entry) for entry in entries)
        if data:
            storage.append(self._path, data.encode())
            self.refresh()

    def rewrite(self, reword: Callable[[Write], Write]) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words."""
        self.refresh()
        state = self._state
        entries: list[dict[str, Any]] = [
            {"type": _WRITE, **asdict(reword(write))} for write in state.writes.values()
        ]
        entries += [{"type": _DONE, "ids": [n for n in state.writes if n in state.done]}]
        entries += [{"type": _VOID, "ids": [n for n in state.writes if n in state.void]}]
        entries += _verdicts(state.verdicts)
        storage.replace(self._path, "".join(map(_line, entries)).encode())
        self.refresh()

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        settled = self._state.done | self._state.void
        return [write for name, write in self._state.writes.items() if name not in settled]

    def acknowledged(self) -> list[Write]:
        """The acknowledged writes, oldest first."""
        return [write for name, write in self._state.writes.items() if name in self._state.done]

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

    def verdict(self, write: Write) -> Verdict | None:
        """What became of the write's fact, if that is known."""
        return self._state.verdicts.get(write.id)

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


def _verdicts(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    ids: dict[Verdict, list[str]] = {}
    for name, verdict in verdicts.items():
        ids.setdefault(verdict, []).append(name)
    return [{"type": _VERDICT, "verdict": found, "ids": ids[found]} for found in ids]


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"


def _write(raw: dict[str, Any]) -> Write:
    fields = {name: value for name, value in raw.items() if name != "type"}
    origin = fields.pop("origin")
    edits = tuple(
        Edit(**{**edit, "above": tuple(edit["above"]), "below": tuple(edit["below"])})
        for edit in fields.pop("edits")
    )
    entries = tuple(origin["entries"])
    return Write(**fields, origin=Origin(origin["kind"], origin["session"], entries), edits=edits)

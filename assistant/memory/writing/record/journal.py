"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`stale_saves.py`);
- ``saved``: a text that somebody else gave a file, by its digest: if it comes back, it is older;
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A line that is damaged is passed
over and named, and stays where it is until it is `set_aside`; what it settled is settled anew. What
the lines add up to is in a `Checkpoint`: a long journal costs no start, no write and no memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.memory.base import JournalEntry
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.checkpoint import DONE, GONE, OPEN, VOID, mark, titled
from assistant.memory.writing.record.following import PAGE, SHORT, Following, Place
from assistant.memory.writing.record.lines import Saved
from assistant.memory.writing.record.writes import Purging, Verdict, Write

_STANDS = (
    f"state = {DONE} AND reversible AND NOT EXISTS (SELECT 1 FROM writes AS other"
    f" WHERE other.undoes = writes.id AND other.state = {DONE})"
)
"""Of a write: it was acknowledged and can be reversed."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A write whose fact stands in its file, as far as is known: enough to look for it there.

    `item` and `heading` are marks of lines that it added, `request` one of the client's request.
    """

    line: int
    id: str
    item: int
    heading: int | None
    request: int | None
    seen: bool


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path, checkpoint: Path | None = None, short: int = SHORT) -> None:
        """`checkpoint` is the file for that of a journal of `short` bytes or more."""
        self.name = path.name
        self._lines = Following(path, checkpoint, short)

    def refresh(self, *, mend: bool = False) -> None:
        """Read the lines added since the last call; with `mend`, cut off a torn last one."""
        self._lines.refresh(mend=mend)

    def begin(self, *begun: Write | Purging) -> None:
        """Put down what is about to be done."""
        self._lines.append(begun)

    def settle(
        self,
        done: Iterable[str],
        void: Iterable[str] = (),
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> None:
        """Put down which writes are in the files, which are not, and what became of facts."""
        self._lines.append(lines.outcomes(done, void, verdicts or {}))

    def rewrite(self, reword: Callable[[Write], Write], *, purged: str | None = None) -> None:
        """Replace the whole journal, at once, by one that tells the same writes in other words.

        The purge that is `purged`, those that came to nothing and damaged lines have no place in it
        any more. Each line stays where it was: blanks take the place of what is gone.
        """
        self.refresh()
        told = ((place, write, reword(write)) for place, write in self._lines.walk("true"))
        reworded = [(place, other) for place, write, other in told if other != write]
        gone = self._places("damaged", "true")
        gone += self._places("purges", f"id = ? OR state = {VOID}", purged)
        self._lines.reword(reworded, gone)

    def damaged(self) -> dict[int, bytes]:
        """The lines that cannot be read, by their number."""
        found = self._lines.texts(self._places("damaged", "true"))
        return {line: text for (line, _, _), text in found}

    def purges(self) -> list[Purging]:
        """The purges that have begun and are not done, oldest first."""
        found = self._lines.read(self._places("purges", f"state = {OPEN}"))
        return [each for _, each in found if isinstance(each, Purging)]

    def _places(self, table: str, where: str, *values: object) -> list[Place]:
        query = f"SELECT line, at, length FROM {table} WHERE {where} ORDER BY line"
        return [(line, at, length) for line, at, length in self._lines.rows(query, *values)]

    def made(self, source: str, title: str) -> bool:
        """Whether a heading is one that a write of ours put into a file."""
        query = "SELECT 1 FROM edits JOIN writes USING (line) WHERE edits.heading = ? AND state = ?"
        return bool(self._first(f"{query} LIMIT 1", titled(source, title), DONE))

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return self._found(f"state = {OPEN}")

    def acknowledged(self) -> Iterator[Write]:
        """The acknowledged writes, oldest first."""
        return (write for _, write in self._lines.walk("state = ?", DONE))

    def newest(self) -> Iterator[Write]:
        """The acknowledged writes, newest first."""
        return (write for _, write in self._lines.walk("state = ?", DONE, newest_first=True))

    def of_source(self, source: str, *actions: str) -> Iterator[tuple[int, Write]]:
        """The acknowledged writes of a file that can be reversed and did one of this, oldest first,
        with their places in the journal."""
        listed = ", ".join("?" * len(actions))
        found = self._lines.walk(
            f"source = ? AND action IN ({listed}) AND {_STANDS}", source, *actions
        )
        return ((line, write) for (line, _, _), write in found)

    def of_request(self, request: str) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        found = self._found("request = ? AND state = ?", mark(request), DONE)
        return {write.part: write for write in found if write.request == request}

    def write(self, name: str) -> Write | None:
        """A write by its id."""
        return next(iter(self._found("id = ?", name)), None)

    def place(self, name: str) -> int:
        """Which of the journal's lines a write is; the later it was made the more. 0: none."""
        found = self._first("SELECT line FROM writes WHERE id = ?", name)
        return found[0] if found else 0

    def told(self, watched: Sequence[Watched]) -> Iterator[Write]:
        """The writes that are watched."""
        for at in range(0, len(watched), PAGE):
            page = [each.line for each in watched[at : at + PAGE]]
            yield from self._found(f"line IN ({', '.join('?' * len(page))})", *page)

    def is_done(self, write: Write) -> bool:
        """Whether the write was acknowledged."""
        return self._first("SELECT state FROM writes WHERE id = ?", write.id) == (DONE,)

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        found = self._lines.walk("fact = ? AND state = ?", mark(words), DONE, newest_first=True)
        return next((write for _, write in found if write.text == words), None)

    def saved(self, source: str) -> str | None:
        """The digest of a file as the latest write left it."""
        latest = self._first(
            "SELECT line FROM edits JOIN writes USING (line) WHERE edits.source = ? AND state = ?"
            " ORDER BY line DESC LIMIT 1", source, DONE,
        )  # fmt: skip
        found = self._found("line = ?", *(latest or (None,)))
        edits = [edit for write in found for edit in write.edits if edit.source == source]
        return edits[-1].after if edits else None

    def was(self, source: str, state: str) -> bool:
        """Whether a file's text had this digest once: around a write, or as somebody saved it."""
        query = (
            "SELECT 1 FROM saved WHERE source = ? AND state = ? UNION ALL"
            " SELECT 1 FROM edits JOIN writes USING (line) WHERE edits.source = ?"
            f" AND ? IN (before, after) AND writes.state = {DONE} LIMIT 1"
        )
        return bool(self._first(query, *2 * (source, mark(state))))

    def saw(self, source: str, state: str) -> None:
        """Put down that somebody saved a text of a file, once."""
        known = "SELECT 1 FROM saved WHERE source = ? AND state = ?"
        if not self._first(known, source, mark(state)):
            self._lines.append([Saved(source, state)])

    def is_undone(self, write: Write) -> bool:
        """Whether a later write reversed this one."""
        query = "SELECT 1 FROM writes WHERE undoes = ? AND state = ?"
        return bool(self._first(query, write.id, DONE))

    def reversible(self, write: Write) -> bool:
        """Whether the write can still be reversed."""
        can_be = bool(write.edits) and write.action != "undo" and not write.purged
        return can_be and not self.is_undone(write)

    def verdict(self, name: str) -> Verdict | None:
        """What became of a write's fact, if that is known."""
        found = self._first("SELECT verdict FROM writes WHERE id = ?", name)
        verdict: Verdict | None = found[0] if found else None
        return verdict

    def watched(self, source: str) -> list[Watched]:
        """The facts that were written to a file and stand, as far as is known; oldest first."""
        found = self._lines.rows(
            "SELECT line, id, item, heading, request, verdict IS 'seen' FROM writes"
            " WHERE source = ? AND item IS NOT NULL AND (verdict IS NULL OR verdict = 'seen')"
            f" AND {_STANDS} ORDER BY line", source,
        )  # fmt: skip
        return [
            Watched(line, name, item, heading, request, bool(seen))
            for line, name, item, heading, request, seen in found
        ]

    def back(self, source: str, there: Sequence[int]) -> list[str]:
        """The writes of a file that can be reversed and whose facts were last seen to be gone, but
        whose lines are there: those have these marks."""
        wanted = f"source = ? AND {GONE}"
        gone = self._first(f"SELECT count(*) FROM writes WHERE {wanted}", source)
        query = f"SELECT id, item FROM writes WHERE {wanted} AND {_STANDS}"
        if gone is None or gone[0] <= len(there):
            lost = self._lines.rows(query, source)
            again = {item for _, item in lost}.intersection(there) if lost else set()
            return [name for name, item in lost if item in again]
        found: list[str] = []
        every = list(set(there))
        for marks in (every[at : at + PAGE] for at in range(0, len(every), PAGE)):
            listed = f"{query} AND item IN ({', '.join('?' * len(marks))})"
            found += [name for name, _ in self._lines.rows(listed, source, *marks)]
        return found

    def erased(self) -> list[Write]:
        """The writes whose facts a stale save took away, and that were not written again since."""
        found = self._lines.walk(f"verdict = 'erased' AND item IS NOT NULL AND {_STANDS}")
        newer = f"fact = ? AND line > ? AND item IS NOT NULL AND {_STANDS}"
        return [
            write
            for (line, _, _), write in found
            if not self._first(f"SELECT 1 FROM writes WHERE {newer}", mark(write.text), line)
        ]

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

    def _first(self, query: str, *values: object) -> tuple[Any, ...] | None:
        return next(iter(self._lines.rows(query, *values)), None)

    def _found(self, where: str, *values: object) -> list[Write]:
        return [write for _, write in self._lines.walk(where, *values)]

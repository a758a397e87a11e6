"""The journal: every write to memory, acknowledged, with its origin and how to reverse it.

`.assistant/journal.jsonl`, one JSON object a line, only ever appended to (a purge rewrites it):

- ``write``: what is about to be done, put down before a file is touched;
- ``done`` / ``void``: those writes are in the files, or are not;
- ``verdict``: what became of a fact that the owner's saves were watched for (`saves.py`);
- ``saved``: a text that somebody else gave a file, by its digest: if it comes back, it is older;
- ``purge``: facts that are being forgotten for good, until the journal is rewritten without them.

A write without ``done`` was never acknowledged and is not shown. A line that is damaged is passed
over and named, and stays where it is until it is `set_aside`; what it settled is settled anew. What
the lines add up to is in a `Checkpoint`: a long journal costs no start, no write and no memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from assistant.memory.base import JournalEntry
from assistant.memory.writing.record import lines
from assistant.memory.writing.record.checkpoint import DONE, OPEN, VOID, mark, titled
from assistant.memory.writing.record.following import SHORT, Following, Place
from assistant.memory.writing.record.saves import Saves
from assistant.memory.writing.record.writes import Purging, Verdict, Write


class Journal:
    """The journal of one workspace, kept in step with what other processes append.

    Call `refresh` before reading, which any thread may; append, mend and rewrite only under the
    ledger's lock.
    """

    def __init__(self, path: Path, checkpoint: Path | None = None, short: int = SHORT) -> None:
        """`checkpoint` is the file for that of a journal of `short` bytes or more."""
        self.name = path.name
        self._lines = Following(path, checkpoint, short)
        self.saves = Saves(self._lines)

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
        return bool(self._lines.first(f"{query} LIMIT 1", titled(source, title), DONE))

    def pending(self) -> list[Write]:
        """Writes whose outcome is not known: of a process that died, or that still writes."""
        return self._found(f"state = {OPEN}")

    def acknowledged(self) -> Iterator[Write]:
        """The acknowledged writes, oldest first."""
        return (write for _, write in self._lines.walk("state = ?", DONE))

    def newest(self) -> Iterator[Write]:
        """The acknowledged writes, newest first."""
        return (write for _, write in self._lines.walk("state = ?", DONE, newest_first=True))

    def of_request(self, request: str) -> dict[int, Write]:
        """The acknowledged writes of a client's request, by their place in its batch."""
        found = self._found("request = ? AND state = ?", mark(request), DONE)
        return {write.part: write for write in found if write.request == request}

    def write(self, name: str) -> Write | None:
        """A write by its id."""
        return next(iter(self._found("id = ?", name)), None)

    def is_done(self, write: Write) -> bool:
        """Whether the write was acknowledged."""
        return self._lines.first("SELECT state FROM writes WHERE id = ?", write.id) == (DONE,)

    def recorded(self, words: str) -> Write | None:
        """The latest write that added a fact with these words."""
        found = self._lines.walk("fact = ? AND state = ?", mark(words), DONE, newest_first=True)
        return next((write for _, write in found if write.text == words), None)

    def is_undone(self, write: Write) -> bool:
        """Whether a later write reversed this one."""
        query = "SELECT 1 FROM writes WHERE undoes = ? AND state = ?"
        return bool(self._lines.first(query, write.id, DONE))

    def reversible(self, write: Write) -> bool:
        """Whether the write can still be reversed."""
        can_be = bool(write.edits) and write.action != "undo" and not write.purged
        return can_be and not self.is_undone(write)

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

    def _found(self, where: str, *values: object) -> list[Write]:
        return [write for _, write in self._lines.walk(where, *values)]

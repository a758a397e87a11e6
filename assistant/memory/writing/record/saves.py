"""What the journal knows of its owner's saves: what facts are watched for, and became of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.memory.writing.record.checkpoint import DONE, GONE, mark
from assistant.memory.writing.record.following import PAGE, Following
from assistant.memory.writing.record.lines import Saved
from assistant.memory.writing.record.writes import Verdict, Write

_STANDS = (
    f"state = {DONE} AND reversible AND NOT EXISTS (SELECT 1 FROM writes AS other"
    f" WHERE other.undoes = writes.id AND other.state = {DONE})"
)
"""Of a write: it was acknowledged and can be reversed."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A write whose fact stands in its file, as far as is known: enough to look for it there.

    `item` and `heading` are marks of lines that it added, `request` one of the client's request; a
    heading that came and went before is not its own. `seen` says whether a save has held the fact.
    """

    line: int
    id: str
    item: int
    heading: int | None
    request: int | None
    seen: bool


class Saves:
    """Reads the lines of a journal for whoever compares a file's text with what was written to it.

    `refresh` the journal before.
    """

    def __init__(self, lines: Following) -> None:
        self._lines = lines

    def of_source(self, source: str, *actions: str) -> Iterator[tuple[int, Write]]:
        """The acknowledged writes of a file that can be reversed and did one of this, oldest first,
        with their places in the journal."""
        listed = ", ".join("?" * len(actions))
        found = self._lines.walk(
            f"source = ? AND action IN ({listed}) AND {_STANDS}", source, *actions
        )
        return ((line, write) for (line, _, _), write in found)

    def place(self, name: str) -> int:
        """Which of the journal's lines a write is; the later it was made the more. 0: none."""
        found = self._lines.first("SELECT line FROM writes WHERE id = ?", name)
        return found[0] if found else 0

    def told(self, watched: Sequence[Watched]) -> Iterator[Write]:
        """The writes that are watched."""
        for at in range(0, len(watched), PAGE):
            page = [each.line for each in watched[at : at + PAGE]]
            yield from self._found(f"line IN ({', '.join('?' * len(page))})", *page)

    def ours(self, source: str) -> str | None:
        """The digest of a file as our latest write left it."""
        latest = self._lines.first(
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
        return bool(self._lines.first(query, *2 * (source, mark(state))))

    def saw(self, source: str, state: str) -> None:
        """Put down that somebody saved a text of a file, once."""
        known = "SELECT 1 FROM saved WHERE source = ? AND state = ?"
        if not self._lines.first(known, source, mark(state)):
            self._lines.append([Saved(source, state)])

    def verdict(self, name: str) -> Verdict | None:
        """What became of a write's fact, if that is known."""
        found = self._lines.first("SELECT verdict FROM writes WHERE id = ?", name)
        verdict: Verdict | None = found[0] if found else None
        return verdict

    def watched(self, source: str) -> list[Watched]:
        """The facts that were written to a file and stand, as far as is known; oldest first."""
        first = dict(self._lines.rows(
            "SELECT heading, min(line) FROM writes WHERE source = ? AND heading IS NOT NULL"
            f" AND state = {DONE} GROUP BY heading", source,
        ))  # fmt: skip
        found = self._lines.rows(
            "SELECT line, id, item, heading, request, verdict IS 'seen' FROM writes"
            " WHERE source = ? AND item IS NOT NULL AND (verdict IS NULL OR verdict = 'seen')"
            f" AND {_STANDS} ORDER BY line", source,
        )  # fmt: skip
        return [
            Watched(line, name, item, own, request, bool(seen))
            for line, name, item, heading, request, seen in found
            for own in [heading if first.get(heading) == line else None]
        ]

    def again(self, watched: Watched) -> bool:
        """Whether the line of this write was written to its file before, and went again."""
        query = (
            "SELECT 1 FROM writes JOIN writes AS former USING (source, fact, item)"
            f" WHERE writes.line = ? AND former.line < writes.line AND former.state = {DONE}"
        )
        return self._lines.first(query, watched.line) is not None

    def back(self, source: str, there: Sequence[int]) -> list[str]:
        """The writes of a file that can be reversed and whose facts were last seen to be gone, but
        whose lines are there: those have these marks."""
        wanted = f"source = ? AND {GONE}"
        gone = self._lines.first(f"SELECT count(*) FROM writes WHERE {wanted}", source)
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
            if not self._lines.first(f"SELECT 1 FROM writes WHERE {newer}", mark(write.text), line)
        ]

    def _found(self, where: str, *values: object) -> Iterator[Write]:
        return (write for _, write in self._lines.walk(where, *values))

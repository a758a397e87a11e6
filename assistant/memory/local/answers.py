"""What is found in the index and the journal, as the values that memory answers with."""

from dataclasses import replace
from datetime import UTC, datetime

from assistant.memory.base import Pair, Passage, Query, Recall, Remembered
from assistant.memory.index.catalog import Source
from assistant.memory.index.store import IndexStore
from assistant.memory.search.locating import Locator, similar
from assistant.memory.state import MemoryStatus, SourceStatus
from assistant.memory.text.chunk import Chunk, passage
from assistant.memory.writing.ledger import Ledger, Written


class Answers:
    """Answers from an index and the ledger beside it; the index must be fresh."""

    def __init__(self, store: IndexStore, ledger: Ledger, locator: Locator) -> None:
        self._store = store
        self._ledger = ledger
        self._locator = locator

    def recall(self, query: Query, found: Recall) -> Recall:
        """What recall found, with what the journal knows: all of it for `why`, else dates."""
        known = self.recorded if query.why else self.dated
        return replace(
            found,
            passages=tuple(map(known, found.passages)),
            near_misses=tuple(map(known, found.near_misses)),
        )

    def remembered(self, written: Written) -> Remembered:
        """Where a fact stands now, and what it may supersede."""
        stored = self._locator.beginning_at(written.source, written.line)
        return Remembered(
            status=written.status,
            id=stored.chunk.id if stored else "",
            source=written.source,
            line=written.line,
            text=written.text,
            similar=similar(self._store, stored) if stored and written.status != "exists" else (),
        )

    def pair(self, one: Chunk, other: Chunk, cosine: float) -> Pair:
        """Two facts, the earlier one first."""
        both = [self.dated(passage(chunk)) for chunk in (one, other)]
        earlier, later = sorted(both, key=lambda each: (each.date or "", each.start_line))
        return Pair(earlier, later, cosine)

    def status(self, embedder: str, waiting: int, notices: tuple[str, ...]) -> MemoryStatus:
        """The state of memory; what a save erased is told beside the other `notices`."""
        catalog = self._store.catalog
        return MemoryStatus(
            chunks=catalog.count(),
            sources=tuple(map(_source_status, catalog.sources().values())),
            embedded_total=catalog.vectors.embedded_total,
            embedder=embedder,
            index_bytes=self._store.size(),
            waiting_for_review=waiting,
            notices=(*notices, *self._erased(), *self._returned()),
            server=self._store.dense.status(),
        )

    def _erased(self) -> list[str]:
        return [
            f"A save from an older copy of {entry.source} took away: {entry.text}"
            f" (`assistant memory restore {entry.id}`, with --dismiss if it was meant)"
            for entry in self._ledger.erased()
        ]

    def _returned(self) -> list[str]:
        return [
            f"A save brought back what you had forgotten, {each.source}:{each.line}: {each.text}"
            f" (`assistant forget {'--purge ' if each.purged else ''}{each.source}:{each.line}`,"
            f" or `assistant memory restore {each.entry} --dismiss` if it was meant)"
            for each in self._ledger.returned()
        ]

    def dated(self, passage: Passage) -> Passage:
        """With the journal's date, where the file names none."""
        return passage if passage.date else self.recorded(passage)

    def recorded(self, passage: Passage) -> Passage:
        """With what the journal knows of it."""
        entry = self._ledger.recorded(passage.plain)
        if entry is None:
            return passage
        return replace(
            passage,
            date=passage.date or entry.time[:10],
            origin=passage.origin or entry.origin.kind,
        )


def _source_status(source: Source) -> SourceStatus:
    read = datetime.fromtimestamp(source.read_ns / 1e9, UTC).astimezone()
    return SourceStatus(source.name, source.chunks, read.isoformat(timespec="seconds"))

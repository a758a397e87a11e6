"""The days that memory speaks of: which facts are due when. No model, no question."""

from collections.abc import Callable, Iterator
from datetime import date

from assistant.memory.base import Due, Passage
from assistant.memory.index.catalog import Catalog, StoredChunk
from assistant.memory.index.store import IndexStore
from assistant.memory.text.chunk import passage
from assistant.memory.text.times.occasions import Occasion, may_speak, occasions
from assistant.workspace.folder import PROCEDURE_FILES

Read = dict[tuple[str, str | None], tuple[Occasion, ...]]


class Diary:
    """Reads the days in facts; what was read once is kept, so that only new facts cost."""

    def __init__(self, store: IndexStore, dated: Callable[[Passage], Passage]) -> None:
        """`dated` adds the day of recording where a file names none."""
        self._store = store
        self._dated = dated
        self._seen: tuple[Catalog, int] | None = None
        self._spoken: list[tuple[Passage, tuple[Occasion, ...]]] = []
        self._read: Read = {}

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        """What is due on these days, the earliest first; what has no time first on its day."""
        catalog = self._store.catalog
        if self._seen != (catalog, catalog.generation):
            self._look(catalog.current(may_speak))
            self._seen = catalog, catalog.generation
        days = date.fromisoformat(first), date.fromisoformat(last)
        found = [due for spoken in self._spoken for due in _falling(*spoken, *days)]
        return tuple(sorted(found, key=lambda d: (d.start, d.time, d.passage.citation)))

    def _look(self, stored: list[StoredChunk]) -> None:
        read: Read = {}
        self._spoken = []
        for each in stored:
            if each.chunk.source in PROCEDURE_FILES:
                continue
            found = self._dated(passage(each.chunk))
            key = (each.chunk.id, found.date)
            read[key] = self._read.get(key) or occasions(each.chunk.plain, found.date)
            if read[key]:
                self._spoken.append((found, read[key]))
        self._read = read


def _falling(fact: Passage, spoken: tuple[Occasion, ...], first: date, last: date) -> Iterator[Due]:
    for each in spoken:
        for start, end in each.within(first, last):
            years = start.year - each.since if each.since else 0
            span = (start.isoformat(), end.isoformat())
            yield Due(*span, fact, each.time, each.rule, each.rhythm, years)

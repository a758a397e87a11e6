"""The days that memory speaks of: which facts are due when. No model, no question."""

from collections.abc import Callable
from datetime import date

from assistant.memory.base import Due, Passage
from assistant.memory.index.catalog import Catalog
from assistant.memory.text.chunk import passage
from assistant.memory.text.times.occasions import occasions
from assistant.workspace.folder import PROCEDURE_FILES


def due(
    catalog: Catalog, dated: Callable[[Passage], Passage], first: str, last: str
) -> tuple[Due, ...]:
    """What is due on these days, the earliest first; what has no time first on its day.

    `dated` adds the day of recording where a file names none.
    """
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    found = []
    for stored, spoken in catalog.speaking(begin, end):
        chunk = stored.chunk
        if chunk.source in PROCEDURE_FILES:
            continue
        fact = dated(passage(chunk))
        if chunk.date is None and fact.date:
            spoken = occasions(chunk.plain, fact.date)
        for each in spoken:
            for start, stop in each.within(begin, end):
                years = start.year - each.since if each.since else 0
                span = (start.isoformat(), stop.isoformat())
                found.append(Due(*span, fact, each.time, each.rule, each.rhythm, years))
    return tuple(sorted(found, key=lambda due: (due.start, due.time, due.passage.citation)))

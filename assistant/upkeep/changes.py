"""Lists what memory has learnt, changed and forgotten since a day. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from assistant.memory.base import Chart, JournalEntry
from assistant.memory.text.markdown import named_successor, plain

Kind = Literal["learnt", "changed", "forgotten"]
FOR_GOOD = "(a fact, forgotten for good)"
"""Stands for the text of a purged fact, which is stored nowhere."""
ORDER: Sequence[Kind] = ("learnt", "changed", "forgotten")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a fact on a day (ISO); `now` is what replaced it, if known."""

    day: str
    kind: Kind
    text: str
    place: str
    now: str = ""


def since(chart: Chart, log: Sequence[JournalEntry], day: date) -> list[Change]:
    """Return the changes since a day, oldest first."""
    changes = [*_of_facts(chart), *_forgotten(log)]
    return sorted(
        (change for change in changes if change.day >= day.isoformat()),
        key=lambda change: (change.day, ORDER.index(change.kind)),
    )


def _of_facts(chart: Chart) -> Iterator[Change]:
    for fact in chart.facts:
        passage = fact.passage
        if passage.status == "superseded" and fact.until:
            instead = named_successor(passage.text)
            now = plain(instead) if instead else ""
            yield Change(fact.until, "changed", fact.passage.plain, passage.citation, now)
        elif passage.date:
            yield Change(passage.date, "learnt", fact.passage.plain, passage.citation)


def _forgotten(log: Iterable[JournalEntry]) -> Iterator[Change]:
    for entry in log:
        if entry.action == "forget" and not entry.undone:
            text = entry.text or FOR_GOOD
            yield Change(entry.time[:10], "forgotten", text, entry.source)

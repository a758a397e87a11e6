"""What memory has learnt, changed and forgotten since a day. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from assistant.errors import UsageError
from assistant.memory.base import Chart, JournalEntry
from assistant.memory.text.markdown import named_successor, plain

Kind = Literal["learnt", "changed", "forgotten"]
ORDER: Sequence[Kind] = ("learnt", "changed", "forgotten")
AGO = re.compile(r"(\d{1,5})\s*(d|days?|w|weeks?)")
DATES = "Give a day such as 2026-11-01, today, yesterday, 7d or 2w"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a fact on a day (ISO); `now` is what replaced it, if known."""

    day: str
    kind: Kind
    text: str
    place: str
    now: str = ""


def since(chart: Chart, log: Sequence[JournalEntry], day: date) -> list[Change]:
    """The changes from a day on, oldest first."""
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
            text = entry.text or "(forgotten for good)"
            yield Change(entry.time[:10], "forgotten", text, entry.source)


def day_of(text: str, today: date) -> date:
    """Parse a day. Raises UsageError."""
    word = text.strip().lower()
    named = {"today": 0, "yesterday": 1}
    try:
        if word in named:
            return today - timedelta(days=named[word])
        if ago := AGO.fullmatch(word.removesuffix("ago").strip()):
            return today - timedelta(days=int(ago[1]) * (7 if ago[2][0] == "w" else 1))
        return date.fromisoformat(word)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a date", DATES) from error

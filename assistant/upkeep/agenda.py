"""What is due, in words: each day that memory speaks of, with the fact and its place."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from assistant.disk import storage
from assistant.display import counted, shortened
from assistant.errors import AssistantError
from assistant.memory.base import Due, Passage
from assistant.memory.protocol import Keeper
from assistant.memory.text.times.period import Period
from assistant.quoting import one_line
from assistant.workspace.folder import Workspace

MOST_TOLD = 4
"""What is due today is named in one line so far; the rest is counted."""
SHOWN = 90
"""Characters of a fact in that line."""
DAYS = 30
"""How far a model is told ahead."""
MOST_LISTED = 60
"""Lines of what it is given."""


def coming(memory: Keeper, today: date, days: int) -> tuple[Due, ...]:
    """What is due from today on, for so many days more."""
    try:
        last = today + timedelta(days=days)
    except OverflowError:
        last = date.max
    return memory.due(today.isoformat(), last.isoformat())


def fact(due: Due) -> str:
    """The fact's own words, on one line, and what makes of it a day that comes round."""
    said = " ".join(due.passage.plain.split())
    if due.years > 0:
        return f"{said} · {counted(due.years, 'year')}"
    return f"{said} · {due.rhythm}" if due.rule else said


def listed(memory: Keeper, today: date, days: int, may_see: Callable[[Passage], bool]) -> str:
    """What is due from today on, for so many days more: for a model, a line each, as passages are
    cited to it."""
    found = [each for each in coming(memory, today, days) if may_see(each.passage)]
    lines = [
        f"{one_line(each.passage.citation)} ({f'{when(each, today)} {each.time}'.strip()}): "
        f"{one_line(fact(each))}"
        for each in found[:MOST_LISTED]
    ]
    if len(found) > MOST_LISTED:
        lines.append(f"and {len(found) - MOST_LISTED} more")
    return "\n".join(lines) or f"Nothing is due within {counted(days, 'day')}."


def when(due: Due, today: date) -> str:
    """The day or span of it, seen from today: `today`, `tomorrow`, `2026-11-27 Fri`, `2027-03`."""
    start, end = date.fromisoformat(due.start), date.fromisoformat(due.end)
    if start != end:
        return Period(start, end).iso
    near = {0: "today", 1: "tomorrow"}.get((start - today).days)
    return near or f"{start.isoformat()} {start:%a}"


def first_of_the_day(place: Workspace, memory: Keeper, today: date) -> list[str]:
    """One line on what is due today, for the first turn of a day alone; none if nothing is."""
    if storage.held(place.day).decode("utf-8", "replace") == today.isoformat():
        return []
    storage.private_directory(place.private)
    storage.replace(place.day, today.isoformat().encode())
    try:
        due = coming(memory, today, 0)
    except AssistantError:
        return []  # recall says what is wrong with memory
    return [f"today: {_in_one_line(due)}"] if due else []


def _in_one_line(due: Sequence[Due]) -> str:
    told = [_short(each) for each in due[:MOST_TOLD]]
    more = len(due) - len(told)
    return " · ".join(told) + (f" · {more} more: `assistant agenda`" if more else "")


def _short(due: Due) -> str:
    return f"{due.time} {shortened(fact(due), SHOWN)} ({due.passage.citation})".strip()

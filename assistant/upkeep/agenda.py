"""Lists what is due: dates in memory, and reminders."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta

from assistant.disk import storage
from assistant.display import counted, shortened
from assistant.errors import AssistantError, MemoryFailure, StorageError
from assistant.memory.base import Due, Keeper, Passage
from assistant.memory.text.times.occasions import days_ahead
from assistant.memory.text.times.period import Period
from assistant.memory.text.times.schedule import describe, zone_of
from assistant.quoting import one_line
from assistant.session import beats
from assistant.upkeep.tasks import Task, tasks
from assistant.workspace.folder import HEARTBEAT_FILE, Workspace

MAX_NAMED = 4
"""Maximum number of items in the line about today; the rest are counted."""
SHOWN = 90
"""Maximum characters of each item in that line."""
MAX_LISTED = 60
"""Maximum number of lines for a model."""
MAX_DAYS = 366
"""Maximum number of days that a model may look ahead."""
FURTHEST = 100_000
"""Maximum number of days ahead for which anything is due."""
LONGEST_MESSAGE = 1000
"""Number of characters of a message that are searched for days."""
HOUR = timedelta(hours=1)


def coming(memory: Keeper, workspace: Workspace, today: date, days: int) -> tuple[Due, ...]:
    """Return what is due from today until `days` days later, in order."""
    last = today + timedelta(days=min(days, FURTHEST))
    dues = memory.due(today.isoformat(), last.isoformat())
    reminders = _reminders(workspace, today, last)
    return tuple(sorted((*dues, *reminders), key=lambda due: (due.start, due.time)))


def _reminders(workspace: Workspace, today: date, last: date) -> Iterator[Due]:
    """Yield each reminder in HEARTBEAT.md whose first time since it was made is within the days."""
    try:
        listed, _ = tasks(workspace.text(HEARTBEAT_FILE))
    except StorageError:  # the heartbeat and `doctor` report the fault
        return
    seen = beats.load(workspace).seen
    midnight = datetime.combine(today, time.min) - timedelta(minutes=1)
    for task in listed:
        since = datetime.fromisoformat(seen.get(task.key, midnight.isoformat()))
        moment = task.schedule.following(max(midnight, since)) if task.reminds else None
        if moment and moment.date() <= last:
            yield _due(task, moment)


def _due(task: Task, moment: datetime) -> Due:
    day = moment.date().isoformat()
    text, line, schedule = task.text, task.line, task.schedule
    passage = Passage(task.key, text, text, HEARTBEAT_FILE, line, line, 0, len(text))
    rhythm = "" if schedule.once else describe(schedule)
    time = f"{moment:%H:%M}"
    return Due(day, day, passage, time, schedule.recurrence(), rhythm, zone=schedule.zone)


def fact(due: Due) -> str:
    """Return the fact on one line, with its recurrence."""
    text = " ".join(due.passage.plain.split())
    if due.years > 0:
        return f"{text} · {counted(due.years, 'year')}"
    return f"{text} · {due.rhythm}" if due.rhythm else text


def listed(
    memory: Keeper,
    workspace: Workspace,
    today: date,
    days: int,
    may_see: Callable[[Passage], bool],
) -> str:
    """Return what is due from today until `days` days later, as cited lines for a model."""
    dues = [due for due in coming(memory, workspace, today, days) if may_see(due.passage)]
    return _lines(dues, today) or f"Nothing is due within {counted(days, 'day')}."


def asked(
    memory: Keeper,
    workspace: Workspace,
    may_see: Callable[[Passage], bool],
    message: str,
    today: date,
) -> str:
    """Return what is due on the future days that a message names, as cited lines for a model; empty
    if nothing is due, or it names no day."""
    spans = days_ahead(message[:LONGEST_MESSAGE], today)
    if not spans:
        return ""
    days = min((max(span.end for span in spans) - today).days, MAX_DAYS)
    dues = [
        due
        for due in coming(memory, workspace, today, days)
        if may_see(due.passage)
        and any(f"{span.start}" <= due.end and due.start <= f"{span.end}" for span in spans)
    ]
    return _lines(dues, today)


def _lines(dues: Sequence[Due], today: date) -> str:
    lines = [
        f"{one_line(due.passage.citation)} ({f'{when(due, today)} {due.time}'.strip()}): "
        f"{one_line(fact(due))}"
        for due in dues[:MAX_LISTED]
    ]
    if len(dues) > MAX_LISTED:
        lines.append(f"and {len(dues) - MAX_LISTED} more")
    return "\n".join(lines)


def when(due: Due, today: date) -> str:
    """Return the day or period relative to today: `today`, `tomorrow`, `2026-11-27 Fri`,
    `2027-03`."""
    start, end = date.fromisoformat(due.start), date.fromisoformat(due.end)
    if start != end:
        return Period(start, end).iso
    near = {0: "today", 1: "tomorrow"}.get((start - today).days)
    return near or f"{start.isoformat()} {start:%a}"


def once_a_day(
    workspace: Workspace, memory: Keeper, today: date, waiting: Sequence[str]
) -> list[str]:
    """Return a line about what is due today, and those of `waiting` that were not shown today."""
    day, *shown = (
        storage.read_or_empty(workspace.day).decode("utf-8", "surrogateescape").split("\n")
    )
    is_first = day != today.isoformat()
    new = [line for line in waiting if is_first or line not in shown]
    if is_first or new:
        storage.private_directory(workspace.private)
        lines = [today.isoformat(), *(() if is_first else shown), *new]
        storage.replace(workspace.day, "\n".join(lines).encode("utf-8", "surrogateescape"))
    due: Sequence[Due] = ()
    if is_first:
        with contextlib.suppress(AssistantError):  # recall reports the fault
            due = coming(memory, workspace, today, 0)
    return [*([f"today: {_in_one_line(due)}"] if due else ()), *new]


def undecided(memory: Keeper) -> list[str]:
    """Return notices about facts that wait for review, or that a save erased or brought back.

    If a file of memory is damaged, return its error message instead.
    """
    try:
        waiting, erased, returned = memory.waiting(), memory.erased(), memory.returned()
    except MemoryFailure:
        return []  # recall reports it
    except StorageError as error:
        return [str(error)]
    restore = "by a save: `assistant memory restore`"
    notices = (
        (waiting, "fact waits", "facts wait", "for your review: `assistant memory review`"),
        (erased, "fact was erased", "facts were erased", restore),
        (returned, "forgotten fact was", "forgotten facts were", f"brought back {restore}"),
    )
    return [f"{counted(len(all), one, many)} {how}" for all, one, many, how in notices if all]


def _in_one_line(due: Sequence[Due]) -> str:
    lines = [
        f"{item.time} {shortened(fact(item), SHOWN)} ({item.passage.citation})".strip()
        for item in due[:MAX_NAMED]
    ]
    more = len(due) - len(lines)
    return " · ".join(lines) + (f" · {more} more: `assistant agenda`" if more else "")


def ics(dues: Iterable[Due]) -> bytes:
    """Return what is due as an iCalendar file (RFC 5545).

    An item is a whole day, or an hour in floating local time unless it has a zone. A recurring day
    is one event with a rule.
    """
    from icalendar import Calendar, Event, vRecur  # takes 70 ms

    calendar = Calendar()
    calendar.add("prodid", "-//assistant//agenda//EN")
    calendar.add("version", "2.0")
    uids: set[str] = set()
    for due in dues:
        uid = f"{due.passage.id}-{due.rule or due.start}-{due.time}@assistant"
        if uid in uids:
            continue
        uids.add(uid)
        event = Event()
        event.add("uid", uid)
        event.add("dtstamp", datetime.now(UTC))
        event.add("summary", " ".join(due.passage.plain.split()))
        event.add("description", due.passage.citation)
        start, end = date.fromisoformat(due.start), date.fromisoformat(due.end)
        if due.time:
            begin = datetime.combine(start, time.fromisoformat(due.time))
            if due.zone:
                begin = begin.astimezone(zone_of(due.zone) if due.rule else UTC)
            event.add("dtstart", begin)
            event.add("dtend", begin + (end - start) + HOUR)
        else:
            event.add("dtstart", start)
            event.add("dtend", end + timedelta(days=1))
        if due.rule:
            rule = vRecur.from_ical(due.rule)
            if due.time and (last := rule.get("UNTIL")):  # a time of the same kind as the begin's
                until = datetime.combine(last[0], time.max.replace(microsecond=0), begin.tzinfo)
                rule["UNTIL"] = [until.astimezone(UTC) if due.zone else until]
            event.add("rrule", rule)
        calendar.add_component(event)
    calendar.add_missing_timezones()
    data: bytes = calendar.to_ical()
    return data

"""The agenda as an iCalendar file (RFC 5545), for other calendars."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from assistant.memory.base import Due

HOUR = timedelta(hours=1)


def ics(found: Iterable[Due]) -> bytes:
    """What is due as events; one that comes round is a single event with its rule."""
    from icalendar import Calendar, Event  # 70 ms that only this costs

    calendar = Calendar()
    calendar.add("prodid", "-//assistant//agenda//EN")
    calendar.add("version", "2.0")
    known: set[str] = set()
    for due in found:
        name = f"{due.passage.id}-{due.rule or due.start}-{due.time}@assistant"
        if name in known:
            continue
        known.add(name)
        event = Event()
        event.add("uid", name)
        event.add("dtstamp", datetime.now(UTC))
        event.add("summary", " ".join(due.passage.plain.split()))
        event.add("description", due.passage.citation)
        _place(event, due)
        calendar.add_component(event)
    written: bytes = calendar.to_ical()
    return written


def _place(event: object, due: Due) -> None:
    """When it is: whole days, or an hour on the clock of whoever reads it."""
    from icalendar import Event, vRecur

    assert isinstance(event, Event)
    start, end = date.fromisoformat(due.start), date.fromisoformat(due.end)
    if due.time:
        begin = datetime.combine(start, time.fromisoformat(due.time))
        event.add("dtstart", begin)
        event.add("dtend", begin + (end - start) + HOUR)
    else:
        event.add("dtstart", start)
        event.add("dtend", end + timedelta(days=1))
    if due.rule:
        event.add("rrule", vRecur.from_ical(due.rule))

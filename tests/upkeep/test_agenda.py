"""The agenda's reminders: from when they were made, and as rules that other calendars keep."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from dateutil.rrule import rrulestr
from icalendar import Calendar

from assistant.memory.base import Due, Keeper
from assistant.memory.text.times.wording import schedule
from assistant.upkeep.agenda import coming, ics
from assistant.upkeep.reminders import remind
from assistant.workspace import template

NOW = datetime(2026, 11, 23, 9, 40)
"""A Monday."""


class Empty:
    """A memory without a date."""

    def due(self, first: str, last: str) -> tuple[Due, ...]:
        return ()


@pytest.mark.parametrize(
    ("words", "day", "time"),
    [
        ("every day at 9 the tablets", "2026-11-24", "09:00"),
        ("every day at 10 the tablets", "2026-11-23", "10:00"),
        ("daily at 8 and 20 the tablets", "2026-11-23", "20:00"),
        ("every Monday at 7 the bins", "2026-11-30", "07:00"),
        ("every hour stretch", "2026-11-23", "10:00"),
        ("every 2 hours between 8 and 18 stretch", "2026-11-23", "10:00"),
    ],
)
def test_a_time_before_the_reminder_was_made_is_not_due(
    tmp_path: Path, words: str, day: str, time: str
) -> None:
    here = template.create(tmp_path / "here").workspace
    remind(here, words, NOW)
    (due,) = coming(cast(Keeper, Empty()), here, NOW.date(), 30)
    assert (due.start, due.time) == (day, time)
    (event,) = Calendar.from_ical(ics([due])).events
    parts = event["RRULE"].to_ical().decode().split(";")
    assert sorted(parts) == sorted(due.rule.split(";"))


@pytest.mark.parametrize(
    "words",
    [
        "every hour",
        "every 30 minutes",
        "every 90 minutes on weekdays",
        "every 2 hours between 8 and 18",
        "every 45 minutes between 9 and 17:30 on weekdays",
        "every 30 minutes between 9 and 18",
        "every hour between 22 and 2",
        "daily at 8 and 20",
        "daily at 8 and 20:30",
        "every Monday and Thursday at 7:15 and 18",
        "weekdays at 9",
        "every other Friday from 2026-11-27 at 8 and 18",
        "first Monday of the month at 9 and 17",
        "every year on 24 December at 15",
    ],
)
def test_the_rule_for_other_calendars_has_the_times_of_the_reminder(words: str) -> None:
    parsed = schedule(words)
    assert parsed
    moments, at = list[datetime](), datetime(2026, 11, 23)
    for _ in range(30):
        following = parsed[0].following(at)
        assert following
        at = following
        moments.append(at)
    rule = rrulestr(parsed[0].recurrence(), dtstart=moments[0])
    assert list(rule.between(moments[0], moments[-1], inc=True)) == moments
    assert moments[1] - moments[0] > timedelta(0)

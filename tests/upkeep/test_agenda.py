"""The agenda's reminders: from when they were made, and as rules that other calendars keep."""

import time as clock
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from dateutil.rrule import rrulestr
from icalendar import Calendar

from assistant.memory.base import Due, Keeper, Passage
from assistant.memory.text.times.occasions import occasions
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
    ("fact", "due", "event"),
    [
        ("Call on 2 December 2026 at 9:00 JST", ("2026-12-01", "19:00"), "20261202T000000Z"),
        ("Treffen am 3. Dezember 2026 um 16:00 Europe/Berlin", ("2026-12-03", "10:00"),
         "20261203T150000Z"),
        ("Launch 2026-12-04T18:00Z", ("2026-12-04", "13:00"), "20261204T180000Z"),
        ("Launch 2026-12-04T18:00:00+09:00", ("2026-12-04", "04:00"), "20261204T090000Z"),
        ("Sync every Tuesday at 1:00 JST", ("2026-11-30", "11:00"), "20261201T010000"),
        ("Sync every Tuesday at 9:00 UTC+5:30", ("2026-11-30", "22:30"), "20261201T090000"),
        ("Sync on 4 December 2026 at 15:00", ("2026-12-04", "15:00"), "20261204T150000"),
    ],
)  # fmt: skip
def test_a_time_in_another_zone_is_due_by_the_local_clock(
    fact: str, due: tuple[str, str], event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        clock.tzset()
        (occasion,) = occasions(fact, "2026-11-26")
        day, _, at = next(occasion.within(date(2026, 11, 27), date(2026, 12, 26)))
        assert (day.isoformat(), at) == due
        passage = Passage("1", fact, fact, "MEMORY.md", 1, 1, 0, len(fact))
        item = Due(*due[:1], due[0], passage, at, occasion.rule, "", 0, occasion.zone)
        (made,) = Calendar.from_ical(ics([item])).events
        assert made["DTSTART"].to_ical().decode() == event
        assert ("TZID" in made["DTSTART"].params) == bool(occasion.rule)
    clock.tzset()


@pytest.mark.parametrize(
    ("fact", "until"),
    [
        ("Gym every Tuesday at 18:00 until 8 December", "20261208T235959"),
        ("Gym every Tuesday at 18:00 UTC until 8 December", "20261208T235959Z"),
        ("Bins every Tuesday until 8 December", "20261208"),
    ],
)
def test_the_last_day_of_a_rule_is_of_the_kind_of_its_first(fact: str, until: str) -> None:
    (occasion,) = occasions(fact, "2026-11-26")
    passage = Passage("1", fact, fact, "MEMORY.md", 1, 1, 0, len(fact))
    item = Due("2026-12-01", "2026-12-01", passage, occasion.time[:5], occasion.rule, "", 0,
               occasion.zone)  # fmt: skip
    (made,) = Calendar.from_ical(ics([item])).events
    assert f"UNTIL={until};" in f"{made['RRULE'].to_ical().decode()};"


@pytest.mark.parametrize(
    ("fact", "at"),
    [
        ("The workshop on 4 December 2026 is from 8 to 12", "08:00"),
        ("Werkstatt am 4. Dezember 2026 von 8 bis 12", "08:00"),
        ("The office is open on 4 December 2026 between 8 and 12.", "08:00"),
        ("Lunch with Bo, 4 December noon", "12:00"),
        ("Feuerwerk am 4. Dezember um Mitternacht", "00:00"),
        ("Der Zug geht am 4. Dezember um 7 Uhr 15", "07:15"),
        ("Am 4. Dezember kommen um 9 Uhr 15 Leute", ""),
        ("On 4 December the price goes from 8 to 12 euros", ""),
    ],
)
def test_a_span_is_due_when_it_begins(fact: str, at: str) -> None:
    assert [occasion.time for occasion in occasions(fact, "2026-11-26")] == [at]


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

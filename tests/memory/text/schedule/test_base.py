"""When something is due, last and next."""

from datetime import date, datetime, time, timedelta
from itertools import pairwise

import pytest

from assistant.memory.text.times.schedule import Schedule, interval

WEEKDAYS = Schedule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", (time(9), time(17)))
LEAP = Schedule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29")
ONCE = Schedule(once=date(2026, 3, 4), times=(time(8), time(20)))
NIGHTS = interval(timedelta(minutes=90), (time(22), time(6)))


@pytest.mark.parametrize(
    ("schedule", "now", "latest", "following"),
    [
        (WEEKDAYS, "2026-03-02T12:00", "2026-03-02T09:00", "2026-03-02T17:00"),
        (WEEKDAYS, "2026-03-02T08:59", "2026-02-27T17:00", "2026-03-02T09:00"),
        (WEEKDAYS, "2026-03-01T12:00", "2026-02-27T17:00", "2026-03-02T09:00"),
        (LEAP, "2101-01-01T00:00", "2096-02-29T09:00", "2104-02-29T09:00"),
        (ONCE, "2026-03-04T12:00", "2026-03-04T08:00", "2026-03-04T20:00"),
        (ONCE, "2026-03-01T12:00", None, "2026-03-04T08:00"),
        (ONCE, "2026-03-05T12:00", "2026-03-04T20:00", None),
    ],
)
def test_the_last_and_the_next_time(
    schedule: Schedule, now: str, latest: str | None, following: str | None
) -> None:
    at = datetime.fromisoformat(now)
    wanted = [each and datetime.fromisoformat(each) for each in (latest, following)]
    assert [schedule.latest(at), schedule.following(at)] == wanted


def test_an_interval_keeps_within_its_hours_and_its_steps() -> None:
    at, times = datetime(2026, 3, 2, 12), list[datetime]()
    for _ in range(30):
        following = NIGHTS.following(at)
        assert following is not None and NIGHTS.latest(following) == following
        at = following
        times.append(at)
    assert all(each.hour >= 22 or each.hour <= 6 for each in times)
    steps = {later - earlier for earlier, later in pairwise(times)}
    assert min(steps) == timedelta(minutes=90)


def test_every_second_week_is_counted_alike_from_wherever_it_is_looked_at() -> None:
    fortnight = Schedule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO")
    days = fortnight.days(date(2026, 1, 1), date(2026, 6, 30))
    assert {later - earlier for earlier, later in pairwise(days)} == {timedelta(weeks=2)}
    assert fortnight.days(days[3], days[5]) == days[3:6]


def test_a_due_time_is_named_by_the_wall_or_by_the_epoch() -> None:
    due = datetime(2026, 3, 2, 9)
    assert WEEKDAYS.key(due) == "20260302T0900"
    assert NIGHTS.key(due).endswith("Z")

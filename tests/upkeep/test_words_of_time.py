"""Two hundred ways in which people say when, half of them not to be understood: none is wrong."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from pathlib import Path

import pytest

from assistant.errors import UsageError
from assistant.memory.text.times.occasions import occasions
from assistant.memory.text.times.schedule import Schedule, describe
from assistant.memory.text.times.wording import instruction
from assistant.upkeep.reminders import remind
from assistant.workspace import template
from assistant.workspace.folder import Workspace

NOW = datetime(2026, 11, 23, 9, 40)
"""A Monday."""
UNDERSTOOD = """\
in five minutes = Mon 23 Nov, 09:45
in 90 min = Mon 23 Nov, 11:10
in half an hour = Mon 23 Nov, 10:10
in a quarter of an hour = Mon 23 Nov, 09:55
in an hour = Mon 23 Nov, 10:40
in 3 hrs = Mon 23 Nov, 12:40
in 36 hours = Tue 24 Nov, 21:40
in ten days = Thu 3 Dec, 09:00
in two weeks at 7:15 = Mon 7 Dec, 07:15
in a fortnight = Mon 7 Dec, 09:00
in a month at noon = Wed 23 Dec, 12:00
in a year = Tue 23 Nov 2027, 09:00
today at 18:00 = Mon 23 Nov, 18:00
today at 6 pm = Mon 23 Nov, 18:00
today at noon = Mon 23 Nov, 12:00
this afternoon = Mon 23 Nov, 15:00
this afternoon at 4 = Mon 23 Nov, 16:00
tonight = Mon 23 Nov, 21:00
tonight at 10 = Mon 23 Nov, 22:00
at 10 tonight = Mon 23 Nov, 22:00
tomorrow = Tue 24 Nov, 09:00
tomorrow at 7:45 = Tue 24 Nov, 07:45
tomorrow 7.45 = Tue 24 Nov, 07:45
tomorrow morning = Tue 24 Nov, 08:00
tomorrow afternoon at 2 = Tue 24 Nov, 14:00
at midnight = Tue 24 Nov, 00:00
in two weeks on Monday at 9 = Mon 7 Dec, 09:00
on Friday in 3 weeks = Fri 18 Dec, 09:00
in zwei Wochen am Dienstag um 9 = Tue 8 Dec, 09:00
tonight at midnight = Tue 24 Nov, 00:00
tomorrow at midnight = Tue 24 Nov, 00:00
tomorrow evening = Tue 24 Nov, 18:00
tomorrow night at 11 = Tue 24 Nov, 23:00
tomorrow night at 1 = Wed 25 Nov, 01:00
Friday night at 2:30 = Sat 28 Nov, 02:30
at 8:15 in the evening = Mon 23 Nov, 20:15
at 11am = Mon 23 Nov, 11:00
at 5 p.m. = Mon 23 Nov, 17:00
14:05 = Mon 23 Nov, 14:05
on 24-12-2026 at 9 = Thu 24 Dec, 09:00
am 24/12/2026 um 9 = Thu 24 Dec, 09:00
12-12-2026 14:05 = Sat 12 Dec, 14:05
at midnight tomorrow = Tue 24 Nov, 00:00
Wednesday = Wed 25 Nov, 09:00
on Wednesday at 13:30 = Wed 25 Nov, 13:30
Thursday evening = Thu 26 Nov, 18:00
next Friday = Fri 27 Nov, 09:00
next Monday morning = Mon 30 Nov, 08:00
Sat at 10 = Sat 28 Nov, 10:00
on 1 December = Tue 1 Dec, 09:00
on December 1st at 8 = Tue 1 Dec, 08:00
1st of December at 8pm = Tue 1 Dec, 20:00
24 Dec at 16:00 = Thu 24 Dec, 16:00
on 2 Jan 2027 at 9:30 = Sat 2 Jan 2027, 09:30
on 29 February at 10 = Tue 29 Feb 2028, 10:00
2026-12-05 = Sat 5 Dec, 09:00
2026-12-05 at 6:30 am = Sat 5 Dec, 06:30
2026-12-05T06:30 = Sat 5 Dec, 06:30
5.12.2026 = Sat 5 Dec, 09:00
tomorrow at 9:00 UTC = Tue 24 Nov, 09:00
2026-12-05 09:00 Asia/Tokyo = Sat 5 Dec, 00:00
2026-12-05T09:00Z = Sat 5 Dec, 09:00
heute um 18 Uhr = Mon 23 Nov, 18:00
heute Abend um 7 = Mon 23 Nov, 19:00
morgen = Tue 24 Nov, 09:00
morgen Abend = Tue 24 Nov, 18:00
übermorgen um 8 = Wed 25 Nov, 08:00
in einer Stunde = Mon 23 Nov, 10:40
in einer halben Stunde = Mon 23 Nov, 10:10
in zehn Minuten = Mon 23 Nov, 09:50
um fünf vor halb acht am Donnerstag = Thu 26 Nov, 07:25
morgen um halb eins = Tue 24 Nov, 12:30
tomorrow at a quarter past seven = Tue 24 Nov, 07:15
um 12 am Donnerstag = Thu 26 Nov, 12:00
am Donnerstag um 14 Uhr = Thu 26 Nov, 14:00
nächsten Dienstag = Tue 24 Nov, 09:00
am 5. Dezember um 9 = Sat 5 Dec, 09:00
am 05.12. um 9:15 Uhr = Sat 5 Dec, 09:15
um 17 Uhr = Mon 23 Nov, 17:00
um 8 Uhr abends = Mon 23 Nov, 20:00
morgen um 8 Uhr abends = Tue 24 Nov, 20:00
heute abends um 8 = Mon 23 Nov, 20:00
am Freitag abends um 8 = Fri 27 Nov, 20:00
nächsten Freitag um halb acht abends = Fri 27 Nov, 19:30
in zwei Wochen am Dienstag abends = Tue 8 Dec, 18:00
am 5. Dezember abends um 8 = Sat 5 Dec, 20:00
every day at 7:20 = every day at 07:20
each morning at 6:50 = every day at 06:50
every evening at 9:15 = every day at 21:15
evenings at 8 = every day at 20:00
mornings = every day at 08:00
Friday evenings at 8 = every Friday at 20:00
weekday evenings = Monday to Friday at 18:00
on Friday evenings = every Friday at 18:00
abends um 8 = every day at 20:00
abends übermorgen um 8 = Wed 25 Nov, 20:00
in the evenings at 8 = every day at 20:00
Friday in the evenings = every Friday at 18:00
every weekday at 8:05 = Monday to Friday at 08:05
weekdays at 12:30 and 17:30 = Monday to Friday at 12:30 and 17:30
Mon to Thu at 16:45 = every Monday, Tuesday, Wednesday and Thursday at 16:45
every Sat and Sun at 10:30 = every Saturday and Sunday at 10:30
Tuesdays and Fridays at 6 pm = every Tuesday and Friday at 18:00
every Wednesday afternoon at 3 = every Wednesday at 15:00
every hour between 10 and 16 = every hour between 10:00 and 16:00
every 45 min on weekdays = every 45 minutes, Monday to Friday
every three hours from 8 to 20 = every 3 hours between 08:00 and 20:00
every 10th of the month at 8 = on the 10th of every month at 08:00
on the 5th and 20th of each month = on the 5th and 20th of every month at 09:00
every last Friday of the month at 15:00 = the last Friday of every month at 15:00
every first Sunday at 10 = the first Sunday of every month at 10:00
the third Thursday of each month at 18:30 = the third Thursday of every month at 18:30
the last day of every month at 17 = the last day of every month at 17:00
every year on 5 May = 5 May of every year at 09:00
every 24 December at 15:00 = 24 December of every year at 15:00
yearly on August 2nd at 10 = 2 August of every year at 10:00
every other Monday from 2026-11-30 at 18 = every 2 weeks on Monday at 18:00, from 2026-11-30
every 4 weeks on Friday from 4 December 2026 = every 4 weeks on Friday at 09:00, from 2026-12-04
every 2 hours from 8am to 6pm = every 2 hours between 08:00 and 18:00
weekdays except Monday at 8 = every Tuesday, Wednesday, Thursday and Friday at 08:00
noon = Mon 23 Nov, 12:00
every Friday at 9:00 America/New_York = every Friday at 09:00 America/New_York
daily at 21:30 GMT = every day at 21:30 UTC
jeden Dienstag um 18:15 Uhr = every Tuesday at 18:15
jeden Tag um 7 = every day at 07:00
dienstags und freitags um 18 Uhr = every Tuesday and Friday at 18:00
werktags um 7:30 = Monday to Friday at 07:30
jeden zweiten Montag ab 30. November 2026 = every 2 weeks on Monday at 09:00, from 2026-11-30
am 15. jedes Monats um 8 = on the 15th of every month at 08:00
jeden letzten Freitag im Monat um 15 Uhr = the last Friday of every month at 15:00
alle 90 Minuten = every 90 minutes
jedes Jahr am 5. Mai = 5 May of every year at 09:00
in a couple of hours = Mon 23 Nov, 11:40
in 2h = Mon 23 Nov, 11:40
in 2h30 = Mon 23 Nov, 12:10
in 30min = Mon 23 Nov, 10:10
in 1h 20m = Mon 23 Nov, 11:00
every 2h = every 2 hours
every 1h30 = every 90 minutes
in 5m = Mon 23 Nov, 09:45
in two and a half hours = Mon 23 Nov, 12:10
in an hour and a half = Mon 23 Nov, 11:10
in one hour and 20 minutes = Mon 23 Nov, 11:00
two weeks from now = Mon 7 Dec, 09:00
an hour from now = Mon 23 Nov, 10:40
at quarter to ten = Mon 23 Nov, 09:45
today at half past 5pm = Mon 23 Nov, 17:30
tomorrow at ten past four in the afternoon = Tue 24 Nov, 16:10
tomorrow at 04:10 = Tue 24 Nov, 04:10
Friday at 3 am = Fri 27 Nov, 03:00
tomorrow at 4:00 UTC = Tue 24 Nov, 04:00
every afternoon at 3 = every day at 15:00
every day at 03:00 = every day at 03:00
every day at half past seven = every day at 07:30
at quarter past nine pm = Mon 23 Nov, 21:15
tomorrow at eleven p.m. = Tue 24 Nov, 23:00
daily at ten pm = every day at 22:00
weekdays at quarter to nine = Monday to Friday at 08:45
this Friday = Fri 27 Nov, 09:00
this Monday at 17 = Mon 23 Nov, 17:00
Friday week = Fri 4 Dec, 09:00
next week = Mon 30 Nov, 09:00
next week on Tuesday = Tue 1 Dec, 09:00
Friday next week at 8 = Fri 4 Dec, 08:00
next month = Tue 1 Dec, 09:00
on the 5th of next month at noon = Sat 5 Dec, 12:00
next month on the 5th at 8 = Sat 5 Dec, 08:00
diesen Freitag um 9 = Fri 27 Nov, 09:00
this weekend = Sat 28 Nov, 09:00
at the weekend = Sat 28 Nov, 09:00
on the 30th at 9 = Mon 30 Nov, 09:00
on the 31st = Thu 31 Dec, 09:00
the 5th at noon = Sat 5 Dec, 12:00
the day after tomorrow at 9 = Wed 25 Nov, 09:00
day after tomorrow = Wed 25 Nov, 09:00
Friday 4 December at 9 = Fri 4 Dec, 09:00
Thursday, Dec 3rd at 5pm = Thu 3 Dec, 17:00
on Sunday the 29th at 18:00 = Sun 29 Nov, 18:00
3 December 2026 at 14:00 = Thu 3 Dec, 14:00
first of the month at 8 = on the 1st of every month at 08:00
on the 5th of every month = on the 5th of every month at 09:00
every 3 days = every 3 days at 09:00, from 2026-11-24
every 3 days at 10 = every 3 days at 10:00, from 2026-11-23
every other day = every 2 days at 09:00, from 2026-11-24
every 14 days on Monday at 19:00 = every 2 weeks on Monday at 19:00, from 2026-11-23
alle 14 Tage montags um 19 Uhr = every 2 weeks on Monday at 19:00, from 2026-11-23
every other Monday = every 2 weeks on Monday at 09:00, from 2026-11-30
every second Friday = every 2 weeks on Friday at 09:00, from 2026-11-27
every two weeks = every 2 weeks at 09:00, from 2026-11-24
every 3 months = every 3 months at 09:00, from 2026-11-24
fortnightly on Friday = every 2 weeks on Friday at 09:00, from 2026-11-27
quarterly on the 1st = on the 1st of every 3 months at 09:00, from 2026-12-01
nächste Woche = Mon 30 Nov, 09:00
nächste Woche Dienstag um 9 = Tue 1 Dec, 09:00
am Wochenende um 10 = Sat 28 Nov, 10:00
am Freitag, dem 4. Dezember = Fri 4 Dec, 09:00
um Viertel vor elf = Mon 23 Nov, 10:45
morgen um halb acht = Tue 24 Nov, 07:30
jeden zweiten Freitag = every 2 weeks on Friday at 09:00, from 2026-11-27
alle zwei Monate = every 2 months at 09:00, from 2026-11-24
"""
PASSED = """\
gestern um 9
yesterday at 10
yesterday
on 2026-11-23 at 00:00
the 23rd at 0:00
at half past nine
at ten past four
on 2020-01-01
at 8:00
this morning
this morning at 8
um halb acht
um Viertel nach neun
at half past five
this Monday
"""
REFUSED = """\
every 10 days on Monday at 8
every 2 days except Sunday
tomorrow at 25
in drei Tagen um 9 Uhr 15
morgen um halb
morgen um halb 9:15
at 75 past nine
at fourteen pm
in 3 Uhr
this evening at half past
at 12:30 tonight
tomorrow at 8 and in the evening
soon
later
later today
asap
at some point
when I am home
when it stops raining
before lunch
after work
after dinner tomorrow
around noon
at about five
at lunch
at dawn
at sunset
at teatime
first thing tomorrow
end of day
by Friday
until Friday
before Friday
sometime next week
in 0 minutes
tomorrow evening at 9 am
every evening at 9 am
in minutes
in Stunden
Friday by noon
tomorrow by 5pm
every 0 minutes
on 31 November
every 31 November
on Friday 3 December
this week
in a bit
in a few minutes
in several days
in zero minutes
in minus 5 minutes
in 1.5 hours
in an hour or so
at nine-ish
at 24:30
at 9:61
at 13 pm
last Friday
on 31 April
on 30 February 2027
2026-02-30
2026-13-01
on the 40th
tomorrow at 9 or 10
tomorrow at 9, maybe
tomorrow or Wednesday
tomorrow morning at 16:00
tonight at 9 in the morning
Wednesday or Thursday
on Friday the 13th
a week on Tuesday
two days before Christmas
at Christmas
on my birthday
on Easter Sunday
at 9 IST
at 9:00 AEST
tomorrow at 9 Berlin time
tomorrow at 9 Mars/Phobos
every now and again
every once in a while
every few hours
every couple of days
every so many weeks
every quarter
every season
every holiday
every working hour
every morning at 14:00
every evening at 7 in the morning
every Friday unless I am away
every Friday until March
every Monday in December
every hour at night
every full moon
twice daily
three times a day
most Fridays
Fridays mostly
weekend trip packing
Wochenende aufräumen
the weekend shopping
weekend
demnächst
gleich
nachher
in ein paar Minuten
alle paar Tage
immer wenn es regnet
mañana a las 9
demain à 9h
завтра в 9
明日9時
"""


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return template.create(tmp_path / "here").workspace


@pytest.fixture(autouse=True)
def own_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone is as it was once a test is over."""
    with monkeypatch.context():
        yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("line", UNDERSTOOD.splitlines())
def test_what_is_understood_is_what_was_meant(
    here: Workspace, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, _, meant = line.partition(" = ")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    done = remind(here, words, NOW, "call the bank")
    assert (done.when, done.text) == (meant, "call the bank")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        *((words, "is not understood as a time") for words in REFUSED.splitlines()),
        *((words, "has passed") for words in PASSED.splitlines()),
    ],
)
def test_what_is_not_understood_or_has_passed_is_refused(
    here: Workspace, words: str, fault: str
) -> None:
    before = (here.root / "HEARTBEAT.md").read_bytes()
    with pytest.raises(UsageError, match=f"” {fault}"):
        remind(here, words, NOW, "call the bank")
    assert (here.root / "HEARTBEAT.md").read_bytes() == before


@pytest.mark.parametrize(
    "habit",
    [
        "I walk the dog every morning",
        "She practises the cello daily",
        "We usually eat out on Fridays",
        "He swims every day",
        "Wir gehen jeden Sonntag spazieren",
    ],
)
def test_a_habit_without_a_time_is_no_appointment(habit: str) -> None:
    assert occasions(habit, "2026-11-23") == ()


def test_no_hour_is_skipped_or_doubled_when_the_clocks_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    hourly = Schedule(every=timedelta(hours=1), times=())
    daily = Schedule("FREQ=DAILY", (clock(2, 30),))
    at, utc, wall = datetime(2026, 10, 25, 0, 30), list[int](), list[str]()
    for _ in range(4):
        at = hourly.following(at) or at
        utc.append(at.astimezone(UTC).hour)
        wall.append(f"{at:%H:%M}")
    assert (utc, wall) == ([23, 0, 1, 2], ["01:00", "02:00", "02:00", "03:00"])
    assert daily.following(datetime(2026, 10, 24, 12)) == datetime(2026, 10, 25, 2, 30)
    assert daily.latest(datetime(2026, 10, 25, 12)) == datetime(2026, 10, 25, 2, 30)
    for hour in (0, 1):  # both hours that are two o'clock on the wall
        now = datetime.fromtimestamp(datetime(2026, 10, 25, hour, 5, tzinfo=UTC).timestamp())
        due = hourly.latest(now)
        assert due is not None and hourly.key(due) == f"20261025T0{hour}00Z"


def test_a_span_of_hours_is_as_long_when_the_clocks_change(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    spring = datetime(2027, 3, 28, 1, 10)
    assert remind(here, "in 3 hours", spring, "look").next == "2027-03-28T05:10"


@pytest.mark.parametrize(
    ("words", "begins", "dates"),
    [
        ("quarterly", datetime(2026, 11, 30, 7), ["11-30", "02-28", "05-30", "08-30"]),
        ("every other month at 8", datetime(2026, 12, 30, 20), ["12-31", "02-28", "04-30"]),
        ("every 2 months from 2027-12-30", datetime(2026, 12, 1), ["12-30", "02-29", "04-30"]),
        ("every 2 years from 29 February 2028", datetime(2027, 1, 1), ["02-29", "02-28", "02-29"]),
        ("every year from 2028-02-29", datetime(2029, 1, 1), ["02-28", "02-28", "02-28", "02-29"]),
        ("every year on 29 February", datetime(2026, 12, 1), ["02-28", "02-29", "02-28"]),
        ("every 3 years from 2027-01-31", datetime(2027, 1, 1), ["01-31", "01-31"]),
    ],
)
def test_no_month_is_left_out_because_it_is_short(
    words: str, begins: datetime, dates: list[str]
) -> None:
    parsed = instruction(f"{words}: look", begins)
    assert parsed.schedule
    at, found = begins, list[str]()
    for _ in dates:
        at = parsed.schedule.following(at) or at
        found.append(f"{at:%m-%d}")
    assert found == dates
    assert "every " in describe(parsed.schedule)

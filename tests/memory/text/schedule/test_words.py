"""Schedules in plain words: how they are understood, and when they are due."""

import time
from datetime import datetime, timedelta

import pytest

from assistant.memory.text.times.schedule import describe
from assistant.memory.text.times.wording import schedule

NOW = datetime(2026, 11, 21, 12, 10)
"""A Saturday."""


@pytest.mark.parametrize(
    ("words", "understood", "latest", "following"),
    [
        ("every 30 minutes", "every 30 minutes", "11-21 12:00", "11-21 12:30"),
        ("Every half hour", "every 30 minutes", "11-21 12:00", "11-21 12:30"),
        ("every two hours between 9 and 18 on weekdays",
         "every 2 hours between 09:00 and 18:00, Monday to Friday", "11-20 17:00", "11-23 09:00"),
        ("hourly", "every hour", "11-21 12:00", "11-21 13:00"),
        ("weekdays at 9", "Monday to Friday at 09:00", "11-20 09:00", "11-23 09:00"),
        ("each Friday", "every Friday at 09:00", "11-20 09:00", "11-27 09:00"),
        ("On Fridays at 5pm", "every Friday at 17:00", "11-20 17:00", "11-27 17:00"),
        ("mon, wed & fri at 7:30 and 19.30",
         "every Monday, Wednesday and Friday at 07:30 and 19:30",
         "11-20 19:30", "11-23 07:30"),
        ("Monday to Thursday at noon", "every Monday, Tuesday, Wednesday and Thursday at 12:00",
         "11-19 12:00", "11-23 12:00"),
        ("every morning", "every day at 08:00", "11-21 08:00", "11-22 08:00"),
        ("daily at 8 and 20", "every day at 08:00 and 20:00", "11-21 08:00", "11-21 20:00"),
        ("at 7:15 every day", "every day at 07:15", "11-21 07:15", "11-22 07:15"),
        ("every other Tuesday at 18:00 from 2026-11-03",
         "every 2 weeks on Tuesday at 18:00, from 2026-11-03", "11-17 18:00", "12-01 18:00"),
        ("every weekend", "every Saturday and Sunday at 09:00", "11-21 09:00", "11-22 09:00"),
        ("on the 1st of each month", "on the 1st of every month at 09:00",
         "11-01 09:00", "12-01 09:00"),
        ("every month on the 1st and 15th at 10", "on the 1st and 15th of every month at 10:00",
         "11-15 10:00", "12-01 10:00"),
        ("the last day of the month", "the last day of every month at 09:00", "10-31 09:00",
         "11-30 09:00"),
        ("first Monday of the month at 14h", "the first Monday of every month at 14:00",
         "11-02 14:00", "12-07 14:00"),
        ("the last weekday of each month", "the last working day of every month at 09:00",
         "10-30 09:00", "11-30 09:00"),
        ("every year on 3 June", "3 June of every year at 09:00", "06-03 09:00", "06-03 09:00"),
        ("every fortnight on Friday from 6 November 2026",
         "every 2 weeks on Friday at 09:00, from 2026-11-06", "11-20 09:00", "12-04 09:00"),
        ("once a week", "every Monday at 09:00", "11-16 09:00", "11-23 09:00"),
        ("on 27 November 2026 at 18:40", "once, on 2026-11-27 at 18:40", "", "11-27 18:40"),
    ],
)  # fmt: skip
def test_words_are_understood(words: str, understood: str, latest: str, following: str) -> None:
    found = schedule(f"{words}: look at it")
    assert found is not None
    made, end = found
    assert (describe(made), f"{words}: look at it"[end:]) == (understood, ": look at it")
    shown = [f"{due:%m-%d %H:%M}" if due else "" for due in (made.latest(NOW), made.following(NOW))]
    assert shown == [latest, following]


@pytest.mark.parametrize(
    ("words", "understood"),
    [
        ("every morning at 7 and every evening at 8", "every day at 07:00 and 20:00"),
        ("every morning and evening", "every day at 08:00 and 18:00"),
        ("at 8 every evening", "every day at 20:00"),
        ("um 8 jeden Abend", "every day at 20:00"),
        ("at 7 every morning and at 8 every evening", "every day at 07:00 and 20:00"),
        ("at noon and every evening", "every day at 12:00 and 18:00"),
        ("every day at 7 and 9 pm", "every day at 19:00 and 21:00"),
        ("every day at 7:30 and 9:30 p.m.", "every day at 19:30 and 21:30"),
        ("every day at 11 and 1 pm", "every day at 11:00 and 13:00"),
        ("every hour between 7 and 9 pm", "every hour between 19:00 and 21:00"),
        ("on the 3rd of June", "3 June of every year at 09:00"),
        ("jeden Freitag um 17 Uhr", "every Friday at 17:00"),
        ("alle zwei Stunden zwischen 9 und 18 Uhr an Werktagen",
         "every 2 hours between 09:00 and 18:00, Monday to Friday"),
        ("werktags um 9:30", "Monday to Friday at 09:30"),
        ("montags und donnerstags abends um 8", "every Monday and Thursday at 20:00"),
        ("am 1. jedes Monats", "on the 1st of every month at 09:00"),
        ("jeden ersten Montag im Monat um 19 Uhr", "the first Monday of every month at 19:00"),
        ("jährlich am 3. Juni", "3 June of every year at 09:00"),
        ("am 27. November 2026 um 18:40", "once, on 2026-11-27 at 18:40"),
        ("jede halbe Stunde", "every 30 minutes"),
    ],
)  # fmt: skip
def test_parts_of_the_day_and_german_words_are_understood(words: str, understood: str) -> None:
    text = f"{words}: alle Blumen"
    found = schedule(text)
    assert found is not None
    assert (describe(found[0]), text[found[1] :]) == (understood, ": alle Blumen")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "now and then",
        "every blue moon",
        "every 0 minutes",
        "on 31 February",
        "at 25:00",
        "at 17:00 every morning",
        "check",
    ],
)
def test_what_says_no_rhythm_is_no_schedule(words: str) -> None:
    assert schedule(words) is None


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("every hour", "2026-12-03"),
        ("weekly", "2026-12-03"),
        ("every week", "on 3 December"),
        ("every day", "on the 1st of the month"),
        ("weekly", "on the first Monday of the month"),
        ("yearly", "on the last Friday of the month"),
    ],
)
def test_what_does_not_go_with_a_rhythm_changes_nothing_of_it(words: str, more: str) -> None:
    assert schedule(f"{words} {more}") == schedule(words)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/St_Johns"])
def test_an_interval_within_hours_counts_from_the_first_of_them(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for words, expected in (
            ("every two hours between 9 and 18", "09:00 11:00 13:00 15:00 17:00 09:00"),
            ("every 3 hours between 22 and 6", "22:00 01:00 04:00 22:00 01:00 04:00"),
            ("every 40 minutes between 9 and 10", "09:00 09:40 09:00 09:40 09:00 09:40"),
        ):
            understood = schedule(words)
            assert understood
            made, due = understood[0], [datetime(2026, 11, 23, 8)]
            for _ in range(6):
                after = made.following(due[-1])
                assert after
                due.append(after)
            del due[0]
            assert " ".join(f"{each:%H:%M}" for each in due) == expected
            assert [made.latest(each) for each in due] == due
            assert made.latest(due[1] + timedelta(minutes=1)) == due[1]
    finally:
        monkeypatch.undo()
        time.tzset()

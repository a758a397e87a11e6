"""Dates: what is one, what only looks like one, and what it means on a given day."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.text.times.dates import asked, heading_date, mentions
from assistant.memory.text.times.period import Period, period

TODAY = date(2026, 11, 21)  # a Saturday


def periods(query: str, today: date = TODAY) -> list[Period]:
    return list(dict.fromkeys(mention.period for mention in asked(query, today)))


def spans(query: str, today: date = TODAY) -> list[str]:
    return [("any " if each.yearly else "") + each.iso for each in periods(query, today)]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Remembered -- 2026-11-21", "2026-11-21"),
        ("2026-05-08", "2026-05-08"),
        ("2026/05/08", "2026-05-08"),
        ("8 May 2023", "2023-05-08"),
        ("May 8, 2023", "2023-05-08"),
        ("8th of May 2023", "2023-05-08"),
        ("Sept. 3rd, 2024", "2024-09-03"),
        ("Session 1 -- 1:56 pm on 8 May, 2023", "2023-05-08"),
        ("Trip of 2026-05-01 -- 2026-11-21", "2026-11-21"),
        ("29 February 2024", "2024-02-29"),
        ("29 February 2023", None),
        ("2026-13-01", None),
        ("12026-11-211", None),
        ("May 2023", None),
        ("8 May", None),
        ("5", None),
        ("", None),
    ],
)
def test_heading_date(heading: str, expected: str | None) -> None:
    assert heading_date(heading) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dentist is on 8 May 2027, the check-up 2027-06-01.", ("2027-05-08", "2027-06-01")),
        ("Due 25.12.2023, or 12/25/2023", ("2023-12-25",)),
        ("Moved in May 2019, after the summer of 2018", ("2019-05", "2018-06-01/2018-08-31")),
        ("Born in 1990", ("1990",)),
        ("We met yesterday and will meet tomorrow", ("2023-05-24", "2023-05-26")),
        ("I ran a race last Saturday", ("2023-05-20",)),
        ("painted it last year", ("2022",)),
        ("camping next month", ("2023-06",)),
        ("two weeks ago", ("2023-05-08/2023-05-14",)),
        ("Her birthday is 8 May", ("2023-05-08",)),
        ("Christmas is on December 24", ("2022-12-24",)),
        ("in May we plant", ()),
        ("The surgery is two weeks from today", ("2023-06-08",)),
        ("Version 3 may break the plugin", ()),
    ],
)
def test_mentions(text: str, expected: tuple[str, ...]) -> None:
    assert mentions(text, "2023-05-25") == expected


def test_a_day_that_no_calendar_has_is_not_its_month() -> None:
    for text in ("31 November 2026", "30 February 2027", "am 31.11.", "31. November 2026"):
        assert mentions(f"Abgabe {text}", "2026-11-17") == ()
    assert mentions("In November 2026", None) == ("2026-11",)


def test_without_an_anchor_only_explicit_dates_are_mentions() -> None:
    assert mentions("yesterday, last May, on 8 May 2023", None) == ("2023-05-08",)


@pytest.mark.parametrize(
    "text",
    [
        "I may go",
        "all 5 may come",
        "may 5 people come",
        "we march 3 miles",
        "March with me",
        "June and April are my nieces",
        "in the sun for a second",
        "room 2023, code 1999, 5",
        "4/5 of it, 3.5.1, 10:30, 5/6/2023",
        "a few years ago at last",
        "the lasting past of this thing",
        "decide on marketing",
        "2019 people came, +351 2019",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert mentions(text, "2023-05-25") == ()
    assert periods(text, TODAY) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what did I do yesterday?", ["2026-11-20"]),
        ("last May", ["2026-05"]),
        ("last november", ["2025-11"]),
        ("next january", ["2027-01"]),
        ("in 2023", ["2023"]),
        ("on 8 May 2023", ["2023-05-08"]),
        ("on May 8", ["any 2026-05-08"]),
        ("on 29 february", ["any 2024-02-29"]),
        ("in may", ["any 2026-05"]),
        ("December plans", ["any 2025-12"]),
        ("last week", ["2026-11-09/2026-11-15"]),
        ("this week", ["2026-11-16/2026-11-22"]),
        ("last weekend", ["2026-11-14/2026-11-15"]),
        ("the past three weeks", ["2026-10-31/2026-11-21"]),
        ("last Friday", ["2026-11-20"]),
        ("last Saturday", ["2026-11-14"]),
        ("next Saturday", ["2026-11-28"]),
        ("summer of 2022", ["2022-06-01/2022-08-31"]),
        ("last winter", ["2025-12-01/2026-02-28"]),
        ("in the fall", ["any 2026-09-01/2026-11-30"]),
        ("three months ago", ["2026-08"]),
        ("the day before yesterday", ["2026-11-19"]),
        ("between May 2020 and June 2021", ["2020-05", "2021-06"]),
        ("in 2023, in 2023", ["2023"]),
    ],
)
def test_periods(query: str, expected: list[str]) -> None:
    assert spans(query) == expected


def test_a_yearly_period_covers_every_year() -> None:
    (may,) = periods("in May", TODAY)
    assert may.covers(date(2023, 5, 31))
    assert not may.covers(date(2023, 6, 1))
    (winter,) = periods("in winter", TODAY)
    assert winter.covers(date(2020, 1, 15))
    assert not winter.covers(date(2020, 3, 1))


@pytest.mark.parametrize(
    ("query", "mention", "expected"),
    [
        ("in May", "2023-05-08", True),
        ("in May", "2023", True),
        ("in May", "2023-04-20/2023-06-10", True),
        ("in May", "2023-06-01/2023-08-31", False),
        ("in winter", "2022-12-24/2023-03-05", True),
        ("in winter", "2022-11-24/2023-03-05", True),
        ("in 2023", "2023-05", True),
        ("in 2023", "2022-12-31", False),
    ],
)
def test_overlaps(query: str, mention: str, expected: bool) -> None:
    (named,) = periods(query, TODAY)
    assert named.overlaps(period(mention)) is expected


WORDS = re.findall(
    r"\S+",
    "last next this past may May 8 31 2023 2023-05-08 , of in the two days weeks ago yesterday "
    "winter friday year month 1.1.2023 0001 9999 999 years february",
)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))


@given(DAYS, DAYS)
def test_iso_reads_back(one: date, other: date) -> None:
    span = Period(min(one, other), max(one, other))
    assert period(span.iso) == span


@given(st.lists(st.sampled_from(WORDS), max_size=12), DAYS)
def test_no_text_fails(words: list[str], day: date) -> None:
    text = " ".join(words)
    for found in periods(text, day):
        assert found.start <= found.end
    for mention in mentions(text, day.isoformat()):
        assert period(mention).iso == mention
        assert re.fullmatch(r"[\d/-]+", mention)


@pytest.mark.slow
def test_long_texts_take_linear_time() -> None:
    """A quadratic pattern would take minutes here, and the test's time limit would end it."""
    for seed in ("8 May 2023 ", "last    ", "in the year ", "on the 1st of ", "a couple of ", "1/"):
        text = seed * (400_000 // len(seed))
        mentions(text, "2023-05-25")
        periods(text, TODAY)

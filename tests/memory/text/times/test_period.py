"""Spans of days, and how they meet."""

from datetime import date, timedelta

import pytest

from assistant.memory.text.times.period import (
    Period,
    in_month,
    in_season,
    in_year,
    months_from,
    on_day,
    period,
    season_near,
    weekday_near,
)

DAY = timedelta(days=1)
WINTER = Period(date(2025, 12, 1), date(2026, 2, 28), yearly=True)


@pytest.mark.parametrize("iso", ["2024-02-29", "2024-02", "2024", "2023-05-08/2023-05-14"])
def test_a_span_is_written_and_read_again(iso: str) -> None:
    assert period(iso).iso == iso


def test_the_longest_way_to_write_a_month_or_a_year_is_the_short_one() -> None:
    assert period("2024-02-01/2024-02-29").iso == "2024-02"
    assert period("2024-01-01/2024-12-31").iso == "2024"


def test_a_yearly_span_over_new_year_covers_both_sides_of_it() -> None:
    told = [WINTER.covers(date(1999, month, 15)) for month in range(1, 13)]
    assert [month for month, covered in enumerate(told, start=1) if covered] == [1, 2, 12]


@pytest.mark.parametrize("yearly", [WINTER, Period(date(2026, 5, 1), date(2026, 5, 31), True)])
def test_a_yearly_span_overlaps_what_has_one_of_its_days(yearly: Period) -> None:
    for start in (date(2019, 1, 1) + 7 * DAY * week for week in range(52)):
        for length in (0, 20, 120, 300, 400):
            other = Period(start, start + length * DAY)
            days = (start + number * DAY for number in range(length + 1))
            assert yearly.overlaps(other) == any(map(yearly.covers, days)), other


def test_there_is_no_day_that_no_calendar_has() -> None:
    assert on_day(2023, 2, 29) is None
    assert on_day(2024, 2, 29) == Period(date(2024, 2, 29), date(2024, 2, 29))


@pytest.mark.parametrize("months", range(-25, 26))
def test_so_many_months_on_is_a_whole_month(months: int) -> None:
    found = months_from(date(2024, 3, 31), months)
    there = 2024 * 12 + 2 + months
    assert found == in_month(there // 12, there % 12 + 1)


def test_a_season_may_end_in_the_next_year() -> None:
    assert in_season(2023, 12).iso == "2023-12-01/2024-02-29"
    assert in_season(2023, 6).iso == "2023-06-01/2023-08-31"
    assert in_year(2024).covers(date(2024, 12, 31))


def test_near_is_before_after_or_of_the_same_week_or_season() -> None:
    friday = date(2026, 3, 6)
    assert [weekday_near(4, shift, friday).start.day for shift in (-1, 0, 1)] == [27, 6, 13]
    seasons = [season_near(12, shift, date(2026, 1, 10)) for shift in (-1, 0, 1)]
    assert [each.iso[:7] for each in seasons if each] == ["2024-12", "2025-12", "2026-12"]

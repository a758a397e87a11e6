"""Whatever words and numbers stand together, no reader of dates raises what its caller does not
expect: a fact that does would keep its file from being indexed."""

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from itertools import chain

import pytest

from assistant.errors import UsageError
from assistant.memory.text.chunk import chunks_of
from assistant.memory.text.times import dates, schedule, wording
from assistant.memory.text.times.languages import Language, languages
from assistant.memory.text.times.occasions import occasions

WRITTEN = """
0 00 1 2 9 12 24 28 29 30 31 31. 32 99 999 0000 0001 1799 1800 2024 2199 2200 9999 99999 -1 +5
3.5 0. 1st 0th 31st 99th 24:00 23:59 99:99 9h 0:00am 13pm 2024-02-30 0000-00-00 9999-12-31
0001-01-01 31/02/2024 31.02.2024 31.2. 0.0. 99.99.9999 2024/13/45 2024-13 ² ½ Ⅷ ٣ ٣٠ १२ ８ 日 3日
2024年2月31日 0月0日 13月32日 ９月３日 十 UTC Z Europe/Berlin"""
NUMBERS = [*WRITTEN.split(), "9" * 30, "1" + "0" * 5000]
RHYTHMS = """
every each other on at the first second third fifth last of month week year day hour minutes monday
tuesday friday fridays weekdays weekend working morning evening noon daily weekly monthly hourly
from to between and except december march 1st 5th 31st 9 17 30 9:30 2026-12-03 in next half quarter
past jeden montag um uhr abends UTC"""
BETWEEN = [" ", " ", " ", " ", ", ", "-", " – ", "/", ": ", "; ", ". ", "", "\u00a0"]
DAYS = ["2026-11-26", "2024-02-29", "0001-01-01", "0001-12-31", "1800-01-01", "2199-12-31",
        "9999-01-01", "9999-12-31"]  # fmt: skip
NOW = [datetime(2026, 11, 26, 4, 5), datetime(2024, 2, 29, 23, 59), datetime(2099, 12, 31)]
YEAR = date(2026, 1, 1), date(2026, 12, 31)


def words_of(language: Language) -> Iterator[str]:
    lists = [language.months, language.weekdays, language.numbers, language.seasons,
             language.telling, language.connectives, *language.says.values(),
             *language.units.values(), *language.compounds]  # fmt: skip
    for listed in (*lists, *chain.from_iterable(language.forms.values())):
        yield from re.findall(r"[^\W\d_]{2,}", listed)
    for words in language.schedule.values():
        yield from words.split()


WORDS = sorted({word for language in languages().values() for word in words_of(language)})


def texts(seed: int, count: int) -> Iterator[tuple[str, random.Random]]:
    chance = random.Random(seed)
    for _ in range(count):
        parts = (
            chance.choice(WORDS if chance.random() < 0.6 else NUMBERS) + chance.choice(BETWEEN)
            for _ in range(chance.randint(1, 8))
        )
        yield "".join(parts), chance


@pytest.mark.parametrize("seed", range(3))
def test_a_fact_of_any_words_is_indexed_with_its_days(seed: int) -> None:
    for text, chance in texts(seed, 150):
        item = f"- {text} <!-- {chance.choice(DAYS)} -->\n"
        for chunk in chunks_of(f"## {text} -- {chance.choice(DAYS)}\n\n{item}", "MEMORY.md"):
            for occasion in occasions(chunk.plain, chunk.date):
                list(occasion.within(*YEAR))


@pytest.mark.parametrize("seed", range(3))
def test_a_question_and_a_reminder_of_any_words_are_understood_or_refused(seed: int) -> None:
    for text, chance in texts(seed, 150):
        now = chance.choice(NOW)
        dates.asked(text, now.date())
        with suppress(UsageError):
            dates.day_of(text, now.date())
        wording.moment(text, now)
        wording.begins_with_time(text), wording.time_within(text)
        read = wording.schedule(text, now)
        for made in (read and read[0], wording.instruction(text, now).schedule):
            if made:
                schedule.describe(made)
                made.recurrence(), made.latest(now), made.following(now)


def test_what_a_schedule_did_not_take_changes_nothing_of_it() -> None:
    chance, now, words, found = random.Random(9), NOW[0], RHYTHMS.split(), 0
    for _ in range(2000):
        text = " ".join(chance.choice(words) for _ in range(chance.randint(2, 8)))
        if read := wording.schedule(text, now):
            found += 1
            assert wording.schedule(text[: read[1]], now) == read, text
    assert found > 200

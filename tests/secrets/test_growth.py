"""Looking for secrets takes time in proportion to the text: a search for the worst text."""

import random
import string
import time
from collections.abc import Iterator

import pytest

from assistant.secrets.assignments import PHRASES, STEMS, claim
from assistant.secrets.detector import FORMS, Detector
from assistant.secrets.grades import grade

SIZE = 40_000
"""Characters of the shorter text."""
MARKS = sorted(mark for form in FORMS for mark in form.marks)
PIECES = [
    *MARKS,
    *sorted(STEMS),
    *sorted(PHRASES),
    "-----BEGIN PRIVATE KEY-----",
    "cookie: ",
    "user,password\n",
]
BINDERS = [
    "",
    " ",
    "=",
    ": ",
    ":",
    ' "',
    "://",
    "@",
    " is ",
    " for ",
    "\n",
    ",",
    "|",
    "(",
    "'",
    "->",
]


def texts(seed: int) -> Iterator[str]:
    """Texts of one make, each twice as long as the one before; no two stretches are the same."""
    dice = random.Random(seed)
    made = [dice.choice(PIECES) for _ in range(dice.randint(1, 4))]
    made += [dice.choice(BINDERS) for _ in range(dice.randint(1, 4))]
    filler = dice.choice(["", string.ascii_lowercase, string.digits, string.printable, "aB3/+="])
    dice.shuffle(made)
    for size in (SIZE, 2 * SIZE):
        text = ""
        while len(text) < size:
            text += "".join(made) + "".join(dice.choices(filler, k=7) if filler else [])
        yield text


def cost(text: str) -> float:
    """The least CPU seconds that a look at the text took; nothing is remembered of it."""
    taken = []
    for _ in range(2):
        grade.cache_clear()
        claim.cache_clear()
        began = time.process_time()
        Detector().find(text)
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize("seed", range(40))
def test_twice_the_text_costs_no_more_than_about_twice_as_much(seed: int) -> None:
    short, long = texts(seed)
    ratios = []
    for _ in range(9):  # another process may take the processor's cache at any time
        ratios.append(cost(long) / max(cost(short), 0.005))
        if ratios[-1] < 3:
            return
    raise AssertionError((ratios, long[:200]))


@pytest.mark.parametrize(
    "text", ["a{color:#fff;margin:0}", "<p class='key'>x</p>", "password ", "a"]
)
def test_one_line_without_end_is_no_worse(text: str) -> None:
    short, long = (text * (count // len(text)) for count in (100_000, 200_000))
    assert any(cost(long) / max(cost(short), 0.005) < 3 for _ in range(9))

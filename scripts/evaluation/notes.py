"""Distractors: notes that read like a person's, from a seed, that answer none of the questions.

The first n are the same for any count. Their parts are in tests/recall/notes.txt: the words for
each slot, an empty line, and the sentences.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice

from scripts.evaluation.suites import SUITES

SEED = 20261122
PER_HEADING = 20
PER_FILE = 500
FIRST_DAY = date(2022, 1, 3)
DAYS = 1_000
"""Number of days over which they are dated, like the suites' own facts."""
_SLOT = re.compile(r"{(\w+)}")
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def files(count: int) -> dict[str, str]:
    """Return files of a memory with `count` distractors, under dated headings."""
    notes = sentences()
    result = {}
    for start in range(0, count, PER_FILE):
        some = list(islice(notes, min(PER_FILE, count - start)))
        result[f"memory/bulk/{start // PER_FILE:03}.md"] = _markdown(some, start)
    return result


def sentences() -> Iterator[str]:
    """Yield distractors without end, each different."""
    words, forms = read()
    filler = Filler(random.Random(SEED), words)
    seen = set()
    while True:
        made = filler.fill(filler.draw.choice(forms))
        if made not in seen:
            seen.add(made)
            yield made


class Filler:
    """Fills the slots of a sentence: `{place}` with a word of its list, `{serial}` with a code,
    `{n90}` with a number up to 90."""

    def __init__(self, draw: random.Random, words: Mapping[str, Sequence[str]]) -> None:
        self.draw = draw
        self._words = words
        self._codes: Mapping[str, Callable[[], str]] = {
            "name": lambda: f"{self._word('first')} {self._word('last')}",
            "hour": lambda: str(draw.randint(7, 21)),
            "minute": lambda: draw.choice(("00", "10", "15", "30", "40", "45")),
            "code": lambda: str(draw.randint(1000, 9999)),
            "serial": lambda: self._pattern(
                "AAA##-AA##A", "####AAA#AAAA", "A##-#####", "AA#######"
            ),
            "part": lambda: self._pattern("AA-#####", "A##/###", "AA####", "##-###-##", "A#-##-##"),
            "error": lambda: self._pattern("E##", "F-##", "A####", "ERR_##", "0x000000##", "##.#"),
            "version": lambda: self._pattern("#.#.#", "#.##.#", "##.##"),
            "flight": lambda: self._pattern("AA####", "AA ###", "AA###"),
            "seat": lambda: self._pattern("##A", "#A"),
            "phone": lambda: self._pattern("0### ### ####", "0#### ### ##", "+## ### ## ## ###"),
            "hash": lambda: f"{draw.getrandbits(28):07x}",
            "ident": self._identifier,
            "const": lambda: f"MAX_{self._word('noun')}_{self._word('noun')}".upper(),
        }

    def fill(self, form: str) -> str:
        """Return the sentence with all its slots filled."""
        return _SLOT.sub(lambda slot: self._slot(slot[1]), form)

    def _slot(self, name: str) -> str:
        if name in self._words:
            return self._word(name)
        if name in self._codes:
            return self._codes[name]()
        return str(self.draw.randint(2, int(name.removeprefix("n"))))

    def _word(self, kind: str) -> str:
        return self.draw.choice(self._words[kind])

    def _pattern(self, *shapes: str) -> str:
        draw = self.draw
        shape = draw.choice(shapes)
        drawn = (
            draw.choice(_LETTERS) if c == "A" else str(draw.randint(0, 9)) if c == "#" else c
            for c in shape
        )
        return "".join(drawn)

    def _identifier(self) -> str:
        name = f"{self._word('verb')}{self._word('noun')}{self._word('noun')}"
        return name if self.draw.random() < 0.6 else re.sub(r"(?=[A-Z])", "_", name).lower()


def read() -> tuple[dict[str, list[str]], list[str]]:
    """Return the words of each slot, and the sentences."""
    text = (SUITES / "notes.txt").read_text(encoding="utf-8")
    words, forms = text.split("\n\n")
    slots = (line.split(": ", 1) for line in words.splitlines())
    return {slot: choices.split("|") for slot, choices in slots}, forms.splitlines()


def _markdown(notes: list[str], start: int) -> str:
    lines = ["# Notes"]
    for number, note in enumerate(notes, start):
        if number % PER_HEADING == 0:
            day = FIRST_DAY + timedelta(days=7 * (number // PER_HEADING) % DAYS)
            lines += ["", f"## Remembered -- {day.isoformat()}", ""]
        lines.append(f"- {note}")
    return "\n".join(lines) + "\n"

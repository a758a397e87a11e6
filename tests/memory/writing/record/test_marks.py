"""The marks of a text's lines, text after text."""

import random

from assistant.memory.writing.record.checkpoint import mark
from assistant.memory.writing.record.marks import Marks


def test_what_is_remembered_of_one_text_changes_nothing_in_the_next() -> None:
    draw, marks, text = random.Random(2), Marks(block=8), ""
    for _ in range(2_000):
        at = draw.randint(0, len(text))
        new = "".join(draw.choices("ab \n", k=draw.choice([0, 1, 5, 20])))
        text = (text[:at] + new + text[at + draw.choice([0, 1, 5, 30]) :])[-200:]
        assert marks.of(text).tolist() == [mark(line.strip()) for line in text.split("\n")]

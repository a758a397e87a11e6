"""The marks of a text's lines, text after text."""

import random

from assistant.memory.text.alike import BLOCK
from assistant.memory.writing.record.checkpoint import mark
from assistant.memory.writing.record.marks import Marks


def test_what_is_remembered_of_one_text_changes_nothing_in_the_next() -> None:
    draw, marks, text = random.Random(2), Marks(), ""
    for _ in range(300):
        at = draw.randint(0, len(text))
        new = "".join(draw.choices("ab \n", k=draw.choice([0, 1, 5, 20])))
        text = (text[:at] + new + text[at + draw.choice([0, 1, 5, 30]) :])[-40:]
        long = "".join(each if each == "\n" else each * (BLOCK // 5) for each in text)
        assert marks.of(long).tolist() == [mark(line.strip()) for line in long.split("\n")]

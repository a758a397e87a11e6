"""What two texts have in common, and the digests of those that begin alike."""

import hashlib
import random

from assistant.memory.text.alike import Digests, head, tail


def edited(draw: random.Random, text: str) -> str:
    at, size = draw.randint(0, len(text)), draw.choice([0, 0, 1, 30])
    new = "".join(draw.choices("ab\n", k=draw.choice([0, 1, 5, 20])))
    return (text[:at] + new + text[at + size :])[-200:]


def test_what_is_alike_at_either_end_is_never_more_than_there_is() -> None:
    draw, text = random.Random(3), ""
    for _ in range(1_000):
        old, text = text, edited(draw, text)
        begin = head(old, text, 8)
        end = tail(old, text, min(len(old), len(text)) - begin, 8)
        assert old[:begin] == text[:begin] and old[len(old) - end :] == text[len(text) - end :]


def test_a_digest_is_that_of_the_whole_whatever_came_before() -> None:
    draw, digests, text = random.Random(4), Digests(stride=8, longest=150), ""
    for _ in range(1_000):
        text = edited(draw, text)
        assert digests.of(text.encode()) == hashlib.sha256(text.encode()).hexdigest()

"""What two texts have in common, and the digests of those that begin alike."""

import hashlib
import random

from assistant.memory.text.alike import BLOCK, LONGEST, STRIDE, Digests, head, tail


def edited(draw: random.Random, text: str) -> str:
    at, size = draw.randint(0, len(text)), draw.choice([0, 0, 1, 30])
    new = "".join(draw.choices("ab\n", k=draw.choice([0, 1, 5, 20])))
    return (text[:at] + new + text[at + size :])[-40:]


def grown(text: str, size: int) -> str:
    """The text with each character so many times: some of it are within a block, some across."""
    return "".join(each * size for each in text)


def test_what_is_alike_at_either_end_is_never_more_than_there_is() -> None:
    draw, text = random.Random(3), ""
    for _ in range(300):
        before, text = text, edited(draw, text)
        old, new = grown(before, BLOCK // 5), grown(text, BLOCK // 5)
        begin = head(old, new)
        end = tail(old, new, min(len(old), len(new)) - begin)
        assert old[:begin] == new[:begin] and old[len(old) - end :] == new[len(new) - end :]


def test_a_digest_is_that_of_the_whole_whatever_came_before() -> None:
    draw, digests, text = random.Random(4), Digests(), ""
    for _ in range(40):
        text = edited(draw, text)
        data = grown(text, STRIDE // 5).encode()
        assert digests.of(data) == hashlib.sha256(data).hexdigest()
    long = bytes(LONGEST + 1)
    assert digests.of(long) == hashlib.sha256(long).hexdigest()

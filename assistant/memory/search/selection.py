"""From scored chunks to the list that is returned: order among kin, and the budget. Pure."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from assistant.memory.base import fill
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.identity import fold
from assistant.memory.text.markdown import named_successor, plain
from assistant.messages import estimate_tokens

TWINS = 0.65
"""Chunks that share so many of their words (Dice's coefficient) say the same of the same thing, or
contradict each other. Cosines tell it worse: MiniLM gives "Lives in Berlin" and "Lives in Lisbon"
0.46, and unrelated facts as much."""
CLOSE_SCORES = 1.5
"""Twins whose scores lie closer are told apart by their dates."""
LATEST_SCORES = 4.5
"""So if the latest is asked for."""
SAME_SUBJECT = 3.0
"""So if the latest is asked for of what both hold, whatever their words."""
RARE = 3
"""A word of the question that no more of the candidates hold says what it is about."""
OPENING = 3
"""Texts that begin with so many of the same words, and half of their words, say two things of the
same."""
DATED_WITHIN = 24
"""An entry of a log says its day within so many characters."""
TWINS_APART = 20
"""Twins stand at most so many places apart."""
NOISE = slice(20, 100)
"""The candidates of these ranks tell what a chunk scores that has nothing to do with a question."""
UNRELATED = 1.5
"""What they score where there are fewer."""
WEAK, STRONG = 2.5, 4.5
"""How far the best must stand out for more than the nearest, and for the whole budget; between the
two the tokens grow evenly, so that none hangs on a third decimal."""
NEAREST = 5
NEAREST_TOKENS = 90
"""What a turn is given in any case."""
OWN_EVIDENCE = 0.1
"""The share of the best's distance from the noise that every other passage must have."""
NOT_ASKED = 6.0
"""By so much less counts what a question mentions only to name a time."""
KEPT = 4096
"""Of so many texts the words are kept from one question to the next."""
STEP = 0.001
"""The least difference between two scores that makes an order."""

_WORD = re.compile(r"[\w\u0900-\u0d7f]+")
_DATED_ENTRY = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk with its score and what each signal adds to it; whether it is a turn of a talk."""

    chunk: Chunk
    score: float
    shares: dict[str, float]
    turn: bool = False

    @property
    def tokens(self) -> int:
        """What it costs of a budget."""
        return estimate_tokens(self.chunk.text)

    def moved(self, reason: str, score: float) -> "Scored":
        """The same with another score; the difference is a share of its own."""
        change = self.shares.get(reason, 0.0) + round(score - self.score, 4)
        return Scored(self.chunk, score, {**self.shares, reason: change}, self.turn)


def arrange(found: Iterable[Scored], asked: Set[str], *, latest: bool = False) -> list[Scored]:
    """Best first: each fact once, a successor above what it superseded, the later twin first.

    `asked` are the telling words of the question, folded; who asks for the `latest` is told it
    first though an earlier one fits better.
    """
    return _later_first(_successors_above(_once(found)), asked, latest)


def behind(found: Iterable[Scored], dating: Set[str]) -> list[Scored]:
    """What tells when an event was, behind: "before the move" asks for what was so before it."""
    return [
        each.moved("event", each.score - NOT_ASKED) if each.chunk.id in dating else each
        for each in found
    ]


def bearing(
    found: Sequence[Scored], scores: NDArray[np.float32], budget: int
) -> tuple[list[Scored], float]:
    """What bears on a turn's message, best first, and how strong that is, from 0 to 1.

    `scores` are those of all candidates, best first. The nearest are given whatever they score.
    """
    if not found:
        return [], 0.0
    ranks = scores[NOISE]
    length = NOISE.stop - NOISE.start
    noise = (float(ranks.sum()) + UNRELATED * (length - len(ranks))) / length
    best = found[0].score - noise
    share = min(1.0, max(0.0, (best - WEAK) / (STRONG - WEAK)))
    least = noise + OWN_EVIDENCE * best
    own = [each for n, each in enumerate(found) if n < NEAREST or each.score >= least]
    room = NEAREST_TOKENS + share * (budget - NEAREST_TOKENS)
    taken, _ = fill(own, len(own), max(round(room), min(budget, found[0].tokens)))
    return taken, share


def successor(chunk: Chunk) -> str | None:
    """What took the place of a superseded fact, folded, if the file tells."""
    named = named_successor(chunk.text)
    return fold(plain(named)) if named else None


def _sorted(found: Iterable[Scored]) -> list[Scored]:
    return sorted(found, key=lambda each: -each.score)


def _once(found: Iterable[Scored]) -> list[Scored]:
    """Each fact by its best, and a superseded one by the best for each of its successors."""
    kept: dict[tuple[str, str | None, tuple[str, ...]], list[Scored]] = {}
    for each in _sorted(found):
        now = successor(each.chunk) if each.chunk.status == "superseded" else None
        alike = kept.setdefault((each.chunk.status, now, words_of(each.chunk.plain)), [])
        if not any(_says_the_same(each.chunk, other.chunk) for other in alike):
            alike.append(each)
    return _sorted(each for alike in kept.values() for each in alike)


@lru_cache(KEPT)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded, in order."""
    return tuple(_WORD.findall(text.casefold()))


@lru_cache(KEPT)
def _telling(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if not word.isdigit())


def _says_the_same(chunk: Chunk, other: Chunk) -> bool:
    return chunk.plain == other.plain or (fold(chunk.plain) or chunk.text) == fold(other.plain)


def _successors_above(found: list[Scored]) -> list[Scored]:
    """Raise what took the place of a superseded fact just over it, and what took its place in turn.

    Who asks for what was once so is told first what is so now.
    """
    if not any(each.chunk.status == "superseded" for each in found):
        return found
    placed = list(found)
    above = _succeeding(found)
    for number in above:
        _raise_successors(placed, number, above, set())
    for number, successors in above.items():  # minds that changed in a circle have no order
        for each in successors:
            if placed[each].chunk.status == "current":
                _put_over(placed, each, number)
    return _sorted(placed)


def _succeeding(found: list[Scored]) -> dict[int, list[int]]:
    """By the number of each superseded one: the numbers of those that took its place.

    A fact that was given up more than once has all the successors that it ever had.
    """
    sayings = [fold(each.chunk.plain) for each in found]
    holders: dict[str, list[int]] = {}
    for number in sorted(range(len(found)), key=lambda n: found[n].chunk.status != "current"):
        held = holders.setdefault(sayings[number], [])
        if not held or found[number].chunk.status == found[held[0]].chunk.status:
            held.append(number)
    given_up = [n for n, each in enumerate(found) if each.chunk.status == "superseded"]
    after: dict[str, set[int]] = {}
    for number in given_up:
        now = holders.get(successor(found[number].chunk) or "", [])
        after.setdefault(sayings[number], set()).update(now)
    return {number: sorted(after[sayings[number]]) for number in given_up}


def _raise_successors(
    placed: list[Scored], number: int, above: dict[int, list[int]], walked: set[int]
) -> None:
    """Raise what took the place of one over it, then what took the place of that."""
    walked.add(number)
    for each in above.get(number, ()):
        if each not in walked:
            _put_over(placed, each, number)
            _raise_successors(placed, each, above, walked)


def _put_over(placed: list[Scored], number: int, below: int) -> None:
    least = placed[below].score + STEP
    if placed[number].score < least:
        placed[number] = placed[number].moved("successor", least)


def _later_first(found: list[Scored], asked: Set[str], latest: bool) -> list[Scored]:
    """Raise what contradicts an earlier chunk just over it, where relevance hardly differs."""
    words = [words_of(each.chunk.plain) for each in found]
    telling = [_telling(each.chunk.plain) for each in found]
    held = [_held(each.chunk, asked) for each in found]
    days = [_day(each.chunk) for each in found]
    gone = [each.chunk.status == "superseded" for each in found]
    rare = {word for word in asked if latest and sum(word in each for each in held) <= RARE}
    close = LATEST_SCORES if latest else CLOSE_SCORES
    for above, first in enumerate(found):
        if gone[above]:
            continue
        least, day, of = first.score - close, days[above], held[above]
        for below in range(above + 1, min(above + TWINS_APART, len(found))):
            second = found[below]
            if second.score < least:
                break
            if gone[below] or days[below] < day:
                continue
            alike = of == held[below]
            if not (alike or latest):
                continue
            news = latest and above == 0 and not second.turn and bool(rare & of & held[below])
            if days[below] == day and not _is_further_down(second.chunk, first.chunk):
                continue
            twins = alike and (
                _share_most(telling[above], telling[below])
                or (not (first.turn or second.turn) and _begin_alike(words[above], words[below]))
            )
            same = latest and alike and _is_subject(of, asked)
            newer = same and second.score >= first.score - SAME_SUBJECT
            if twins or newer or news or (latest and _in_one_log(first.chunk, second.chunk)):
                found[below] = second.moved("later", max(second.score, first.score + STEP))
    return _sorted(found)


def _held(chunk: Chunk, asked: Set[str]) -> Set[str]:
    """What a chunk and its heading hold of the question: tells apart facts about two people, or
    two things, but not two answers."""
    return asked & {*words_of(chunk.plain), *words_of(" ".join(chunk.heading))}


def _is_subject(held: Set[str], asked: Set[str]) -> bool:
    """Whether what is held of a question is most of what it is about, and more than a name."""
    return 2 * len(held) >= len(asked) > 0 and (len(held) > 1 or held == asked)


def _share_most(words: Set[str], others: Set[str]) -> bool:
    """Whether two texts say the same of the same, but for numbers."""
    return 2 * len(words & others) >= TWINS * (len(words) + len(others)) > 0


def _begin_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether they begin alike and go on to say something else of it, as turns of a talk do not."""
    if words[:OPENING] != others[:OPENING]:
        return False
    begun = zip(words, others, strict=False)
    opening = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], begun))
    return opening >= OPENING and 2 * opening >= min(len(words), len(others))


def _in_one_log(chunk: Chunk, other: Chunk) -> bool:
    """Whether both are entries of one list that dates its entries itself."""
    same = (chunk.source, chunk.heading) == (other.source, other.heading)
    return same and not chunk.date and bool(_day(chunk) and _day(other))


def _is_further_down(chunk: Chunk, other: Chunk) -> bool:
    """By the place in one file: what was recorded within one day is later there."""
    return chunk.source == other.source and chunk.ordinal > other.ordinal


def _day(chunk: Chunk) -> str:
    """When it was recorded; of what nothing dates, the day it begins with, as in a log."""
    if chunk.date or not chunk.mentions or not _DATED_ENTRY.search(chunk.plain[:DATED_WITHIN]):
        return chunk.date or ""
    return chunk.mentions[0] if len(chunk.mentions[0]) == len("2026-05-08") else ""

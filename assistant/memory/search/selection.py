"""From scored chunks to the list that is returned: order among kin, and the budget. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from assistant.memory.annotations import without
from assistant.memory.base import fill
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.identity import fold
from assistant.memory.text.markdown import named_successor, plain
from assistant.messages import estimate_tokens

TWINS = 0.65
"""Chunks that share so many of their words (Dice's coefficient) say the same of the same thing, or
contradict each other. Cosines tell it worse: MiniLM gives "Lives in Berlin" and "Lives in Lisbon"
0.46, and unrelated facts as much."""
CLOSE_SCORES = 0.1
"""Twins whose scores lie closer are told apart by their dates."""
OPENING = 3
"""Texts that begin with so many of the same words, and half of their words, say two things of the
same."""
TWINS_APART = 20
"""Twins stand at most so many places apart."""
WEAK, STRONG = 0.2, 0.3
"""What the best must score for more than the least, and for the most; between the two the
tokens grow evenly, so that none hangs on a third decimal."""
LEAST_TOKENS, MOST_TOKENS = 60, 450
"""What a turn is given in any case, and at most."""
KEPT = 4096
"""Of so many texts the words are kept from one question to the next."""
STEP = 0.001
"""The least difference between two scores that makes an order."""

LONGEST_CHAIN = 8
"""So often in a row a fact is followed up that took the place of another."""

_WORD = re.compile(r"[\w\u0900-\u0d7f]+")


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
        return estimate_tokens(without(self.chunk.text))

    def moved(self, reason: str, score: float) -> "Scored":
        """The same with another score; the difference is a share of its own."""
        change = self.shares.get(reason, 0.0) + round(score - self.score, 4)
        return Scored(self.chunk, score, {**self.shares, reason: change}, self.turn)


def arrange(found: Iterable[Scored], asked: Set[str]) -> list[Scored]:
    """Best first: each fact once, a successor above what it superseded, the later twin first.

    `asked` are the telling words of the question, folded.
    """
    return _later_first(_successors_above(_once(found)), asked)


def bearing(found: Sequence[Scored], budget: int) -> tuple[list[Scored], float]:
    """What bears on a turn's message, best first, and how strong that is, from 0 to 1."""
    if not found:
        return [], 0.0
    share = min(1.0, max(0.0, (found[0].score - WEAK) / (STRONG - WEAK)))
    room = round(LEAST_TOKENS + share * (MOST_TOKENS - LEAST_TOKENS))
    taken, _ = fill(found, len(found), min(budget, max(room, found[0].tokens)))
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

    Who asks for what was once so is told first what is so now. Minds that changed in a circle have
    no order.
    """
    placed = list(found)
    pairs = list(_succeeding(found))
    for _ in range(LONGEST_CHAIN):
        for below, successor in pairs:
            _put_over(placed, successor, below)
    for below, successor in pairs:
        if placed[successor].chunk.status == "current":
            _put_over(placed, successor, below)
    return _sorted(placed)


def _succeeding(found: list[Scored]) -> Iterator[tuple[int, int]]:
    """The number of each superseded one, with that of each that took its place.

    A fact that was given up more than once has all the successors that it ever had.
    """
    given_up: dict[str, set[str]] = {}
    sayings = [fold(each.chunk.plain) for each in found]
    current = {said for said, each in zip(sayings, found, strict=True) if _is_current(each)}
    for said, each in zip(sayings, found, strict=True):
        if not _is_current(each) and (now := successor(each.chunk)):
            given_up.setdefault(said, set()).add(now)
    for below, said in enumerate(sayings):
        if said not in given_up or _is_current(found[below]):
            continue
        for above, other in enumerate(sayings):
            if other in given_up[said] and (_is_current(found[above]) or other not in current):
                yield below, above


def _is_current(each: Scored) -> bool:
    return each.chunk.status == "current"


def _put_over(placed: list[Scored], number: int, below: int) -> None:
    least = placed[below].score + STEP
    if placed[number].score < least:
        placed[number] = placed[number].moved("successor", least)


def _later_first(found: list[Scored], asked: Set[str]) -> list[Scored]:
    """Raise what contradicts an earlier chunk just over it, where relevance hardly differs."""
    words = [words_of(each.chunk.plain) for each in found]
    telling = [_telling(each.chunk.plain) for each in found]
    held = [_held(each.chunk, asked) for each in found]
    for above, first in enumerate(found):
        for below in range(above + 1, min(above + TWINS_APART, len(found))):
            second = found[below]
            if second.score < first.score - CLOSE_SCORES:
                break
            if held[above] != held[below] or not _is_later(second.chunk, first.chunk):
                continue
            facts = not (first.turn or second.turn)
            if _share_most(telling[above], telling[below]) or (
                facts and _begin_alike(words[above], words[below])
            ):
                found[below] = second.moved("later", max(second.score, first.score + STEP))
    return _sorted(found)


def _is_later(chunk: Chunk, other: Chunk) -> bool:
    """Whether a chunk was recorded later, neither being superseded; within one day what is further
    down in the file was."""
    if "superseded" in (chunk.status, other.status):
        return False
    further_down = chunk.source == other.source and chunk.ordinal > other.ordinal
    day, before = chunk.date or "", other.date or ""
    return day > before or (day == before and further_down)


def _held(chunk: Chunk, asked: Set[str]) -> Set[str]:
    """What a chunk and its heading hold of the question: tells apart facts about two people, or
    two things, but not two answers."""
    return asked & {*words_of(chunk.plain), *words_of(" ".join(chunk.heading))}


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

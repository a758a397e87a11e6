"""From scored chunks to the list of results: duplicates, successors, budget of a turn. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from assistant.memory.annotations import without
from assistant.memory.base import fill
from assistant.memory.text.chunk import Chunk
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import named_successor, plain
from assistant.messages import estimate_tokens

TWINS = 0.65
"""Chunks with this share of common words (Dice's coefficient) repeat or contradict each other.
Cosines tell it worse: MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46, and unrelated
facts as much."""
CLOSE_SCORES = 0.1
"""Of twins whose scores differ less, the later goes first."""
OPENING = 3
"""Two texts are about the same thing if they begin with this many common words, which are at least
half of their words."""
TWINS_APART = 20
"""How many places apart in the list twins may be."""
WEAK, STRONG = 0.2, 0.3
"""A best score up to the first gives a turn the fewest tokens, from the second on the most; between
them the tokens grow linearly, so that none depends on a third decimal."""
LEAST_TOKENS, MOST_TOKENS = 60, 450
CACHED_TEXTS = 4096
"""Texts whose words and keys are cached from one question to the next."""
STEP = 0.001
"""The difference in score that puts one chunk just above another."""
LONGEST_CHAIN = 8
"""How many successors in a row are followed."""

_WORD = re.compile(r"[\w\u0900-\u0d7f]+")


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk with its score and each signal's share of it. `turn`: it is a conversation's turn."""

    chunk: Chunk
    score: float
    shares: dict[str, float]
    turn: bool = False

    @property
    def tokens(self) -> int:
        """What it costs of a token budget."""
        return estimate_tokens(without(self.chunk.text))

    def moved(self, reason: str, score: float) -> "Scored":
        """The chunk with another score; the difference is listed as a signal `reason`."""
        change = self.shares.get(reason, 0.0) + round(score - self.score, 4)
        return Scored(self.chunk, score, {**self.shares, reason: change}, self.turn)


def arrange(results: Iterable[Scored], question: Set[str]) -> list[Scored]:
    """Best first: each fact once, a successor above what it superseded, the later twin first.

    `question` are the telling words of the question, folded.
    """
    return _successors_above(_later_first(_distinct(results), question))


def relevant(results: Sequence[Scored], budget: int) -> tuple[list[Scored], float]:
    """The results relevant to a turn's message, and how strong the best is, from 0 to 1."""
    if not results:
        return [], 0.0
    share = min(1.0, max(0.0, (results[0].score - WEAK) / (STRONG - WEAK)))
    room = round(LEAST_TOKENS + share * (MOST_TOKENS - LEAST_TOKENS))
    chosen, _ = fill(results, len(results), min(budget, max(room, results[0].tokens)))
    return chosen, share


def successor(chunk: Chunk) -> str | None:
    """What superseded a fact, folded, if the file says."""
    named = named_successor(chunk.text)
    return _key(plain(named)) if named else None


def _sorted(results: Iterable[Scored]) -> list[Scored]:
    return sorted(results, key=lambda scored: -scored.score)


def _distinct(results: Iterable[Scored]) -> list[Scored]:
    """The best result for each fact; of a superseded fact, the best for each of its successors."""
    best: dict[tuple[str, str | None, str], Scored] = {}
    for scored in _sorted(results):
        chunk = scored.chunk
        now = successor(chunk) if chunk.status == "superseded" else None
        best.setdefault((chunk.status, now, _key(chunk.plain)), scored)
    return [*best.values()]


_key = lru_cache(CACHED_TEXTS)(fact_key)


@lru_cache(CACHED_TEXTS)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded, in order."""
    return tuple(_WORD.findall(text.casefold()))


@lru_cache(CACHED_TEXTS)
def _telling(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if not word.isdigit())


def _successors_above(results: list[Scored]) -> list[Scored]:
    """Raise the successor of a superseded fact just above it, and its own successor in turn.

    Whoever asks for what was true once reads first what is true now. Facts that supersede each
    other in a circle have no order.
    """
    raised = list(results)
    pairs = list(_succeeding(results))
    to_current = [(old, new) for old, new in pairs if _is_current(results[new])]
    for old, new in pairs * LONGEST_CHAIN + to_current:
        least = raised[old].score + STEP
        if raised[new].score < least:
            raised[new] = raised[new].moved("successor", least)
    return _sorted(raised)


def _succeeding(results: list[Scored]) -> Iterator[tuple[int, int]]:
    """The index of each superseded fact, with that of each of its successors.

    A fact that was superseded more than once has all the successors that it ever had.
    """
    successors: dict[str, set[str | None]] = {}
    texts = [_key(scored.chunk.plain) for scored in results]
    current = {text for text, scored in zip(texts, results, strict=True) if _is_current(scored)}
    for text, scored in zip(texts, results, strict=True):
        if not _is_current(scored):
            successors.setdefault(text, set()).add(successor(scored.chunk))
    for old, text in enumerate(texts):
        for new, other in enumerate(() if _is_current(results[old]) else texts):
            if other in successors[text] and (_is_current(results[new]) or other not in current):
                yield old, new


def _is_current(scored: Scored) -> bool:
    return scored.chunk.status == "current"


def _later_first(results: list[Scored], question: Set[str]) -> list[Scored]:
    """Let what contradicts an earlier chunk change places with it, where relevance hardly differs.

    The other results stay where they are.
    """
    results = list(results)
    for above in range(len(results)):
        for below in range(above + 1, min(above + TWINS_APART, len(results))):
            first, second = results[above], results[below]
            if second.score < first.score - CLOSE_SCORES:
                break
            if _is_later(second.chunk, first.chunk) and _are_twins(first, second, question):
                results[above] = second.moved("later", first.score)
                results[below] = first.moved("later", second.score)
    return results


def _are_twins(one: Scored, other: Scored, question: Set[str]) -> bool:
    """Whether two chunks say something about the same thing, for the words of the question."""
    text, other_text = one.chunk.plain, other.chunk.plain
    words, others = _telling(text), _telling(other_text)
    alike = 2 * len(words & others) >= TWINS * (len(words) + len(others)) > 0 or (
        not (one.turn or other.turn) and _begin_alike(words_of(text), words_of(other_text))
    )
    return alike and _in_question(one.chunk, question) == _in_question(other.chunk, question)


def _is_later(chunk: Chunk, other: Chunk) -> bool:
    """Whether a chunk was recorded later than another, both current; on the same day that is the
    one further down in the file."""
    if "superseded" in (chunk.status, other.status):
        return False
    further_down = chunk.source == other.source and chunk.ordinal > other.ordinal
    day, before = chunk.date or "", other.date or ""
    return day > before or (day == before and further_down)


def _in_question(chunk: Chunk, question: Set[str]) -> Set[str]:
    """The words of the question in a chunk and its headings: they differ for facts about two people
    or two things, but not for two answers."""
    return question & {*words_of(chunk.plain), *words_of(" ".join(chunk.heading))}


def _begin_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two facts begin alike and then differ, as turns of a conversation do by chance."""
    if words[:OPENING] != others[:OPENING]:
        return False
    pairs = zip(words, others, strict=False)
    opening = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return opening >= OPENING and 2 * opening >= min(len(words), len(others))

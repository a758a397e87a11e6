"""Arranges scored passages as results: duplicates, successors, budget of a turn. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import lru_cache

from assistant.memory.base import Passage, fill
from assistant.memory.text.headings import project_names
from assistant.memory.text.identity import fact_key
from assistant.memory.text.markdown import named_successor, plain

TWINS = 0.65
"""Chunks with this share of common words (Dice's coefficient) repeat or contradict each other.
Cosines are a worse indicator: MiniLM gives "Lives in Berlin" and "Lives in Lisbon" 0.46, and
unrelated facts as much."""
CLOSE_SCORES = 0.1
"""If the scores of twins differ by less, the later one comes first."""
TWINS_APART = 20
"""The maximum distance of twins in the list."""
WEAK, STRONG = 0.2, 0.3
"""At a best score up to the first, a turn gets the fewest tokens, from the second on the most; in
between the tokens grow linearly, so none depends on a third decimal."""
LEAST_TOKENS, MOST_TOKENS = 60, 450
CACHED_TEXTS = 4096
"""The number of texts whose words and keys are cached between questions."""
STEP = 0.001
"""The difference in score that puts one chunk just above another."""
LONGEST_CHAIN = 8
"""The maximum number of successors followed in a row."""

_WORD = re.compile(r"[\w\u0900-\u0d7f]+")


def arrange(results: Iterable[Passage], question: Set[str]) -> list[Passage]:
    """Sort best first: each fact once, a successor above what it superseded, the later twin first.

    `question` are the telling words of the question, folded.
    """
    return _successors_above(_later_first(_distinct(results), question))


def relevant(results: Sequence[Passage], budget: int) -> tuple[list[Passage], float]:
    """Return the results relevant to a turn's message, and how strong the best is, from 0 to 1."""
    if not results:
        return [], 0.0
    share = min(1.0, max(0.0, (results[0].score - WEAK) / (STRONG - WEAK)))
    room = round(LEAST_TOKENS + share * (MOST_TOKENS - LEAST_TOKENS))
    chosen, _ = fill(results, len(results), min(budget, max(room, results[0].tokens)))
    return chosen, share


def successor(passage: Passage) -> str | None:
    """Return the successor of a fact, folded, if the file names it."""
    named = named_successor(passage.text)
    return _key(plain(named)) if named else None


def _moved(passage: Passage, reason: str, score: float) -> Passage:
    """Return the passage with another score; the difference is listed as a signal `reason`."""
    change = passage.signals.get(reason, 0.0) + round(score - passage.score, 4)
    return replace(passage, score=score, signals={**passage.signals, reason: change})


def _sorted(results: Iterable[Passage]) -> list[Passage]:
    return sorted(results, key=lambda passage: -passage.score)


def _distinct(results: Iterable[Passage]) -> list[Passage]:
    """Return the best result for each fact; of a superseded fact, the best for each successor."""
    same: dict[tuple[str, str | None, str], list[Passage]] = {}
    for passage in _sorted(results):
        now = None if _is_current(passage) else successor(passage)
        same.setdefault((passage.status, now, _key(passage.plain)), []).append(passage)
    return [one for some in same.values() for one in (_of_projects(some) if some[1:] else some)]


def _of_projects(passages: Sequence[Passage]) -> list[Passage]:
    """Return the first of the passages that is of no project, or else the first of each project."""
    first: dict[tuple[str, ...], Passage] = {}
    for passage in passages:
        first.setdefault(tuple(project_names(passage.heading)), passage)
    return [first[()]] if () in first else [*first.values()]


_key = lru_cache(CACHED_TEXTS)(fact_key)


@lru_cache(CACHED_TEXTS)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, folded, in order."""
    return tuple(_WORD.findall(text.casefold()))


@lru_cache(CACHED_TEXTS)
def _telling(text: str) -> frozenset[str]:
    return frozenset(word for word in words_of(text) if not word.isdigit())


def _successors_above(results: list[Passage]) -> list[Passage]:
    """Raise the successor of a superseded fact just above it, and its own successor in turn.

    A query about what was true once should show first what is true now. Facts that supersede each
    other in a cycle have no order.
    """
    raised = list(results)
    pairs = list(_succeeding(results))
    to_current = [(old, new) for old, new in pairs if _is_current(results[new])]
    for old, new in pairs * LONGEST_CHAIN + to_current:
        least = raised[old].score + STEP
        if raised[new].score < least:
            raised[new] = _moved(raised[new], "successor", least)
    return _sorted(raised)


def _succeeding(results: list[Passage]) -> Iterator[tuple[int, int]]:
    """Yield the index of each superseded fact with that of each of its successors.

    A fact that was superseded more than once has all of its successors.
    """
    successors: dict[str, set[str | None]] = {}
    texts = [_key(passage.plain) for passage in results]
    current = {text for text, one in zip(texts, results, strict=True) if _is_current(one)}
    for text, passage in zip(texts, results, strict=True):
        if not _is_current(passage):
            successors.setdefault(text, set()).add(successor(passage))
    for old, text in enumerate(texts):
        for new, other in enumerate(() if _is_current(results[old]) else texts):
            if other in successors[text] and (_is_current(results[new]) or other not in current):
                yield old, new


def _is_current(passage: Passage) -> bool:
    return passage.status == "current"


def _later_first(results: list[Passage], question: Set[str]) -> list[Passage]:
    """Swap a chunk with a later one that contradicts it, if their relevance hardly differs.

    The other results stay where they are.
    """
    results = list(results)
    for above in range(len(results)):
        for below in range(above + 1, min(above + TWINS_APART, len(results))):
            first, second = results[above], results[below]
            if second.score < first.score - CLOSE_SCORES:
                break
            if _is_later(second, first) and _are_twins(first, second, question):
                results[above] = _moved(second, "later", first.score)
                results[below] = _moved(first, "later", second.score)
    return results


def _are_twins(one: Passage, other: Passage, question: Set[str]) -> bool:
    """Return whether two passages concern the same thing, given the words of the question."""
    words, others = _telling(one.plain), _telling(other.plain)
    is_similar = 2 * len(words & others) >= TWINS * (len(words) + len(others)) > 0
    return is_similar and _in_question(one, question) == _in_question(other, question)


def _is_later(passage: Passage, other: Passage) -> bool:
    """Return whether a passage was recorded later than another, if both are current; on the same
    day that is the one further down in the file."""
    if "superseded" in (passage.status, other.status):
        return False
    further_down = passage.source == other.source and passage.start_char > other.start_char
    day, before = passage.date or "", other.date or ""
    return day > before or (day == before and further_down)


def _in_question(passage: Passage, question: Set[str]) -> Set[str]:
    """Return the words of the question in a passage and its headings: they differ for facts about
    two people or two things, but not for two answers."""
    return question & {*words_of(passage.plain), *words_of(" ".join(passage.heading))}

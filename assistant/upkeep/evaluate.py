"""Measures recall with questions made from the owner's own facts.

"The door code is 4711" becomes "What is the door code?". Such questions share the facts' words, so
the result is an upper bound (self-retrieval).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assistant.memory.base import Query, Recall
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.identity import fact_key, fold
from assistant.upkeep.tidy import FACT_FILES, LONG, WORDS

DEPTH = 150
"""Number of passages in which the answer's rank is determined."""
UNLIMITED = 1_000_000
KEPT = 2 / 3
"""Share of a fact's words kept in a question, if the fact has no form of "to be"."""
_BE = re.compile(r"(?P<subject>.+?) (?P<be>is|are|was|were) (?!not\b)(?P<value>\S.*)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(])|\n")
Ask = Callable[[Query], Recall]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the fact that answers it."""

    text: str
    fact: Chunk


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether recall returned the answer, and its rank (from 1) among all passages."""

    question: Question
    found: bool
    rank: int | None


def facts(texts: Mapping[str, str]) -> list[Chunk]:
    """Return the current facts of memory files, without long texts.

    A fact that occurs twice is left out, since recall may return either.
    """
    current = [
        chunk
        for source in sorted(texts)
        if FACT_FILES.fullmatch(source)
        for chunk in chunks_of(texts[source], source)
        if chunk.status == "current" and len(chunk.text) < LONG
    ]
    stated = Counter(fact_key(chunk.plain) for chunk in current)
    return [chunk for chunk in current if stated[fact_key(chunk.plain)] == 1]


def sample(facts: Sequence[Chunk], count: int) -> list[Chunk]:
    """Return at most `count` facts, spread evenly over the files."""
    count = min(count, len(facts))
    return [facts[number * len(facts) // count] for number in range(count)]


def questions(facts: Iterable[Chunk]) -> list[Question]:
    """Return the questions that can be made from the facts."""
    pairs = ((fact, question_for(fact.plain)) for fact in facts)
    return [Question(text, fact) for fact, text in pairs if text]


def question_for(fact: str) -> str | None:
    """Return a question that a fact answers; None if it would be too vague."""
    sentence = _SENTENCE.split(fact.strip())[0].strip().rstrip(".!;,")
    statement = _BE.fullmatch(sentence)
    if statement and _is_specific(subject := statement["subject"]):
        if subject.split()[0].lower() in WORDS["unasked"]:
            subject = subject[0].lower() + subject[1:]
        return f"What {statement['be']} {subject}?"
    words = sentence.split()
    start = " ".join(words[: int(KEPT * len(words))])
    return f"{start} what?" if _is_specific(start) else None


def _is_specific(text: str) -> bool:
    """Return whether a question with these words is specific."""
    return any(word not in WORDS["unasked"] for word in fold(text).split())


def examine(ask: Ask, question: Question) -> Outcome:
    """Recall a question with default settings, and return the outcome."""
    returned = _rank(ask(Query(question.text)), question.fact)
    ranked = _rank(ask(Query(question.text, k=DEPTH, budget=UNLIMITED)), question.fact)
    return Outcome(question, returned is not None, ranked)


def _rank(recall: Recall, fact: Chunk) -> int | None:
    ids = [passage.id for passage in recall.passages]
    return ids.index(fact.id) + 1 if fact.id in ids else None

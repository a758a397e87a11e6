"""Whether recall finds the owner's own facts: questions made from them, and what is missed.

"The door code is 4711" becomes "What is the door code?". The questions share the facts' words,
which the owner's own might not: what is measured is *self-retrieval*, an upper bound.
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
"""Passages among which the rank of the answer is looked for."""
UNLIMITED = 1_000_000
KEPT = 2 / 3
"""Share of a fact's words that a question keeps where the fact says nothing that "is"."""
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
    """Whether recall returned the answer, and its rank among all that recall ranks (from 1)."""

    question: Question
    found: bool
    rank: int | None


def facts(texts: Mapping[str, str]) -> list[Chunk]:
    """The current facts of memory files, given by their names; nothing as long as a text.

    A fact that is stated twice is left out: recall may return either, and none would be wrong.
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
    """At most so many facts, spread evenly over the files."""
    count = min(count, len(facts))
    return [facts[number * len(facts) // count] for number in range(count)]


def questions(facts: Iterable[Chunk]) -> list[Question]:
    """The questions that can be made from facts; from some none can."""
    asked = ((fact, question_for(fact.plain)) for fact in facts)
    return [Question(text, fact) for fact, text in asked if text]


def question_for(fact: str) -> str | None:
    """A question for what a fact says; None where too little would be left to ask with."""
    sentence = _SENTENCE.split(fact.strip())[0].strip().rstrip(".!;,")
    says = _BE.fullmatch(sentence)
    if says and _tells(subject := says["subject"]):
        if subject.split()[0].lower() in WORDS["unasked"]:
            subject = subject[0].lower() + subject[1:]
        return f"What {says['be']} {subject}?"
    words = sentence.split()
    start = " ".join(words[: int(KEPT * len(words))])
    return f"{start} what?" if _tells(start) else None


def _tells(text: str) -> bool:
    """Whether a question with these words asks for anything in particular."""
    return any(word not in WORDS["unasked"] for word in fold(text).split())


def examine(ask: Ask, question: Question) -> Outcome:
    """Ask recall, with the settings that it has by itself."""
    returned = _rank(ask(Query(question.text)), question.fact)
    ranked = _rank(ask(Query(question.text, k=DEPTH, budget=UNLIMITED)), question.fact)
    return Outcome(question, returned is not None, ranked)


def _rank(recall: Recall, fact: Chunk) -> int | None:
    ids = [passage.id for passage in recall.passages]
    return ids.index(fact.id) + 1 if fact.id in ids else None

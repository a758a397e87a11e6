"""How well recall finds what answers a question: evidence recall, and how sure the figure is.

A *case* is a folder with a MEMORY.md and a qa.json: a list of `{"question", "category", "lines"}`,
the 1-based lines of MEMORY.md that hold the evidence. A question's score is the share of these
lines that the recalled passages cover, read in order while they fit the budget.

`assistant eval` makes its questions from the owner's own facts by rules: "The door code is 4711"
becomes "What is the door code?". They share the fact's words, which the owner's own might not:
what is measured is *self-retrieval*, an upper bound, and is called so.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.disk import storage
from assistant.errors import UsageError
from assistant.memory.base import Passage, Query, Recall, fill
from assistant.memory.text.chunk import Chunk, chunks_of
from assistant.memory.text.identity import fact_key, fold
from assistant.upkeep.tidy import FACT_FILES, LONG
from assistant.workspace.folder import MEMORY_FILE

QUESTIONS_FILE = "qa.json"
BUDGETS = (500, 1000, 2000)
KS = (5, 10)
MEASURES = (*(f"{budget:,} tokens" for budget in BUDGETS), *(f"k = {k}" for k in KS))
MOST = 150
"""Passages asked for: more than fit the largest budget."""
UNLIMITED = 1_000_000
DRAWS = 2000
"""Bootstrap samples: the interval's ends then move by less than its last printed digit."""
SELF_RETRIEVAL = "self-retrieval"
FEWEST = 1
"""Words with a meaning that a question must keep, or it asks for nothing in particular."""
KEPT = 2 / 3
"""Of a fact without a value that the rules know, so much of the beginning is kept."""

_BE = re.compile(r"(?P<subject>.+?) (?P<be>is|are|was|were) (?!not\b)(?P<value>\S.*)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(])|\n")
_NUMBER = re.compile(r"[^\w\s]?\d[\w.,:/%°-]*")
_NAME = re.compile(r"(?<=[\w,;:] )[A-Z]\w*(?: [A-Z]\w*)*")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at for to from by with and or is are was were be has have had it its i"
        " my we our he his she her they their you your this that these those there not no s",
    )
)

Ask = Callable[[Query], Recall]
Scores = NDArray[np.float64]
"""Shape (questions, measures), each from 0 to 1, in the order of `MEASURES`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the lines of `source` that answer it."""

    text: str
    category: str
    lines: frozenset[int]
    source: str = MEMORY_FILE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question: whether a recall as it is set returns all that answers it, where
    that stands among all that recall ranks (from 1; None if nowhere), and the scores."""

    question: Question
    found: bool
    place: int | None
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A memory and what is asked of it."""

    name: str
    memory: str
    questions: tuple[Question, ...]


def read_cases(folder: Path) -> list[Case]:
    """The cases in a folder of folders, by name. Raises UsageError, StorageError."""
    found = sorted(path.parent for path in folder.glob(f"*/{QUESTIONS_FILE}"))
    if not found:
        raise UsageError(
            f"{folder} holds no */{QUESTIONS_FILE}", f"Give a folder of */{MEMORY_FILE} with them"
        )
    return [_read_case(each) for each in found]


def _read_case(folder: Path) -> Case:
    file = folder / QUESTIONS_FILE
    try:
        questions = [_question(each) for each in json.loads(storage.read(file))]
        memory = storage.read(folder / MEMORY_FILE).decode()
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} and its {MEMORY_FILE} cannot be read: {error!r}") from error
    return Case(folder.name, memory, tuple(questions))


def _question(raw: dict[str, Any]) -> Question:
    lines = frozenset(int(line) for line in raw["lines"])
    return Question(str(raw["question"]), str(raw["category"]), lines)


def coverage(passages: Sequence[Passage], question: Question) -> float:
    """The share of the lines that answer a question that the passages hold."""
    held = {
        line
        for each in passages
        if each.source == question.source
        for line in range(each.start_line, each.end_line + 1)
    }
    return len(question.lines & held) / len(question.lines)


def score(ask: Ask, question: Question) -> list[float]:
    """A question's score by every measure; recall is asked once, its list cut to each limit."""
    return _scores(_ranked(ask, question), question)


def examine(ask: Ask, question: Question) -> Outcome:
    """What became of a question, with the settings that a recall has by itself."""
    ranked = _ranked(ask, question)
    returned = ask(Query(question.text)).passages
    holding = (n for n, each in enumerate(ranked, start=1) if coverage([each], question))
    complete = coverage(returned, question) == 1.0
    return Outcome(question, complete, next(holding, None), tuple(_scores(ranked, question)))


def _ranked(ask: Ask, question: Question) -> tuple[Passage, ...]:
    return ask(Query(question.text, k=MOST, budget=UNLIMITED)).passages


def _scores(found: Sequence[Passage], question: Question) -> list[float]:
    limits = [*((MOST, budget) for budget in BUDGETS), *((k, UNLIMITED) for k in KS)]
    return [coverage(fill(found, *limit)[0], question) for limit in limits]


def measure(ask: Ask, questions: Sequence[Question]) -> Scores:
    """The scores of all questions that have evidence."""
    return np.array([score(ask, each) for each in questions if each.lines])


def interval(values: Scores, seed: int = 0) -> tuple[Scores, Scores]:
    """The 95 % bootstrap interval of the mean over the first axis (Efron's percentiles)."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(values), size=(DRAWS, len(values)))
    means = np.array([values[pick].mean(axis=0) for pick in picks])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


# Questions made from facts


def facts(texts: Mapping[str, str]) -> list[Chunk]:
    """The current facts of memory files, given by their names; nothing as long as a text.

    A fact that is stated twice is left out: recall may return either, and none would be wrong.
    """
    found = [
        each
        for source in sorted(texts)
        if FACT_FILES.fullmatch(source)
        for each in chunks_of(texts[source], source)
        if each.status == "current"
    ]
    stated = Counter(fact_key(each.plain) for each in found)
    return [each for each in found if stated[fact_key(each.plain)] == 1 and len(each.text) < LONG]


def sample(found: Sequence[Chunk], count: int, seed: int = 0) -> list[Chunk]:
    """At most so many facts, each as likely as the others, in the order of the files.

    The same facts and seed give the same sample.
    """
    picked = random.Random(seed).sample(range(len(found)), min(count, len(found)))
    return [found[number] for number in sorted(picked)]


def by_rules(found: Iterable[Chunk]) -> list[Question]:
    """The questions that the rules make; of some facts they make none."""
    asked = ((each, ask_for(each.plain)) for each in found)
    return [
        Question(
            text, SELF_RETRIEVAL, frozenset(range(each.start_line, each.end_line + 1)), each.source
        )
        for each, text in asked
        if text
    ]


def ask_for(fact: str) -> str | None:
    """A question for what a fact says; None where too little would be left to ask with."""
    said = _SENTENCE.split(fact.strip())[0].strip().rstrip(".!;,")
    return _of_being(said) or _without(said, _NUMBER) or _without(said, _NAME) or _begun(said)


def _of_being(said: str) -> str | None:
    """What the subject of "is", "are", "was" or "were" is."""
    found = _BE.fullmatch(said)
    if not found or _telling(found["subject"]) < FEWEST:
        return None
    subject = found["subject"]
    if subject.split()[0].lower() in _EMPTY:
        subject = subject[0].lower() + subject[1:]
    return f"What {found['be']} {subject}?"


def _without(said: str, value: "re.Pattern[str]") -> str | None:
    """The sentence with its last such value asked for."""
    places = list(value.finditer(said))
    if not places:
        return None
    before, after = said[: places[-1].start()], said[places[-1].end() :]
    return f"{before}what{after}?" if _telling(f"{before} {after}") >= FEWEST else None


def _begun(said: str) -> str | None:
    """The first words, for the others to be found."""
    words = said.split()
    kept = " ".join(words[: int(KEPT * len(words))])
    return f"{kept} what?" if _telling(kept) >= FEWEST else None


def _telling(text: str) -> int:
    return sum(word not in _EMPTY for word in fold(text).split())

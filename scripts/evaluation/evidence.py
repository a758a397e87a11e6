"""The measures of recall: evidence recall, and its confidence interval.

A *case* is a folder with a MEMORY.md and a qa.json: a list of `{"question", "category", "lines"}`,
the 1-based lines of MEMORY.md that contain the evidence. A question's score is the share of these
lines that the recalled passages cover, taken in order while they fit the budget.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.disk import storage
from assistant.errors import UsageError
from assistant.memory.base import Passage, Query, fill
from assistant.upkeep.evaluate import UNLIMITED, Ask
from assistant.workspace.folder import MEMORY_FILE

QUESTIONS_FILE = "qa.json"
BUDGETS = (500, 1000, 2000)
KS = (5, 10)
MEASURES = (*(f"{budget:,} tokens" for budget in BUDGETS), *(f"k = {k}" for k in KS))
MOST = 150
"""Number of passages requested: more than fit the largest budget."""
DRAWS = 2000
"""Number of bootstrap samples, so that the interval's ends vary by less than their last printed
digit."""

Scores = NDArray[np.float64]
"""Shape (questions, measures), each from 0 to 1, in the order of `MEASURES`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the lines of MEMORY.md that answer it."""

    text: str
    category: str
    lines: frozenset[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A memory and its questions."""

    name: str
    memory: str
    questions: tuple[Question, ...]


def read_cases(folder: Path) -> list[Case]:
    """Return the cases in a folder of folders, by name. Raises UsageError, StorageError."""
    folders = sorted(path.parent for path in folder.glob(f"*/{QUESTIONS_FILE}"))
    if not folders:
        raise UsageError(
            f"{folder} contains no */{QUESTIONS_FILE}",
            f"Give a folder of */{MEMORY_FILE} with them",
        )
    return [_read_case(each) for each in folders]


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
    """Return the share of the lines answering a question that the passages contain."""
    covered = {
        line
        for passage in passages
        if passage.source == MEMORY_FILE
        for line in range(passage.start_line, passage.end_line + 1)
    }
    return len(question.lines & covered) / len(question.lines)


def score(ask: Ask, question: Question) -> list[float]:
    """Return a question's score by every measure, cutting the list of one recall to each limit."""
    passages = ask(Query(question.text, k=MOST, budget=UNLIMITED)).passages
    limits = [*((MOST, budget) for budget in BUDGETS), *((k, UNLIMITED) for k in KS)]
    return [coverage(fill(passages, *limit)[0], question) for limit in limits]


def measure(ask: Ask, questions: Sequence[Question]) -> Scores:
    """Return the scores of all questions that have evidence."""
    return np.array([score(ask, each) for each in questions if each.lines])


def interval(values: Scores, seed: int = 0) -> tuple[Scores, Scores]:
    """Return the 95 % bootstrap interval of the mean over the first axis (Efron's percentiles)."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(values), size=(DRAWS, len(values)))
    means = np.array([values[pick].mean(axis=0) for pick in picks])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high

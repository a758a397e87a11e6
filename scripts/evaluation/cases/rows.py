"""LoCoMo's conversations in the same table: cases from the folder in an environment variable.

They are not ours to ship. The weights were learnt on them, so there is no held-out half.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assistant.memory.base import Query
from assistant.memory.embedding.embedder import Embedder
from assistant.workspace.folder import MEMORY_FILE
from scripts.evaluation.evidence import BUDGETS, Question, coverage, read_cases, score
from scripts.evaluation.probes import Measure
from scripts.evaluation.report import Row, tell
from scripts.evaluation.room import Room, opened

MEASURES = (*(Measure(f"within {budget:,} tokens") for budget in BUDGETS), Measure("in the turn"))


def rows(folder: Path, embedder: Embedder) -> Iterator[Row]:
    """Yield evidence recall within each budget and with default settings. Raises UsageError."""
    scores = []
    for case in read_cases(folder):
        tell(f"asking {case.name} …")
        with opened({MEMORY_FILE: case.memory}, embedder) as room:
            scores += [_scores(room, each) for each in case.questions if each.lines]
    for measure, column in zip(MEASURES, np.array(scores).T, strict=True):
        yield Row("conversations", measure, (column,))


def _scores(room: Room, asked: Question) -> list[float]:
    ask = room.recall
    within = score(ask, asked)[: len(BUDGETS)]
    return [*within, coverage(ask(Query(asked.text, turn=True)).passages, asked)]

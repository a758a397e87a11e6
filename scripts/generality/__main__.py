"""Fit by what vector a message is told that anybody could answer.

A logistic regression with an L2 penalty on English texts: what people ask of any assistant
(`general.txt`), and what they ask of their own memory (`personal.txt`), both by hand, with the
development halves of the suites. It is fitted three times, on the default model's vectors and on
those that each model of other languages makes of the same texts: no text in another language is
read.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assistant.memory.embedding import compile, polyglot
from assistant.memory.search.asked.general import WEIGHTS
from assistant.settings.memory import EmbeddingSettings
from scripts.evaluation.suites import HALVES, questions

HERE = Path(__file__).parent
OWN = ("facts", "documents", "latest", "wordings", "procedures", "strings", "typos")
UNRELATED = ("unrelated", "unrelated/english")
SUITES_WEIGH = 0.5
"""Of a suite's own question: many are alike."""
PENALTY = 0.1
STEPS = 30
Numbers = NDArray[np.float64]


def main() -> None:
    """Fit and write the weights; say how many of the texts they take for the other kind."""
    general = [*_lines("general"), *_asked(UNRELATED)]
    by_hand, of_suites = _lines("personal"), _asked(OWN)
    texts = [*general, *by_hand, *of_suites]
    wanted = np.arange(len(texts)) < len(general)
    weigh = np.ones(len(texts))
    weigh[-len(of_suites) :] = SUITES_WEIGH
    weigh[wanted] *= weigh[~wanted].sum() / len(general)
    embedder = compile.load(EmbeddingSettings())
    readers = (embedder.english.embed, polyglot.meaning, embedder.meaning_of_others)
    found = [fitted(_with_one(read(texts)), wanted.astype(float), weigh) for read in readers]
    for read, weights in zip(readers, found, strict=True):
        wrong = (_with_one(read(texts)) @ weights > 0) != wanted
        print(f"{len(texts)} texts, {wrong.sum()} taken for the other kind")
    np.save(WEIGHTS, np.array(found, dtype=np.float32))


def fitted(rows: Numbers, wanted: Numbers, weigh: Numbers) -> Numbers:
    """The weights that make what is wanted likeliest, by Newton's method."""
    weights = np.zeros(rows.shape[1])
    penalty = np.full(rows.shape[1], PENALTY)
    penalty[-1] = 1e-6
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (weigh * (likely - wanted)) + penalty * weights
        bend = (rows.T * (weigh * likely * (1 - likely))) @ rows + np.diag(penalty)
        weights -= np.linalg.solve(bend, slope)
    return weights


def _with_one(vectors: NDArray[np.float32]) -> Numbers:
    return np.hstack([vectors, np.ones((len(vectors), 1))]).astype(np.float64)


def _lines(name: str) -> list[str]:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def _asked(suites: Sequence[str]) -> list[str]:
    return [each.question for suite in suites for each in questions(suite, HALVES[0])]


if __name__ == "__main__":
    main()

"""Learns the weights of the signals from questions whose answers are known. Pure.

A conditional logit (McFadden, 1974): the likelihood that an answering chunk is drawn from a softmax
over all candidates, maximised by Newton's method. It is concave: one answer, no seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 0.001
"""Factor of the squared weights, for signals scaled to unit variance; keeps unused ones at 0."""
STEPS = 30
_CONVERGED = 1e-6

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A question: its candidates' signals, shape (chunks, signals), and which candidates answer
    it."""

    matrix: Table
    answers: NDArray[np.bool_]


def learn(examples: Sequence[Example]) -> Table:
    """Return the weight of each signal. Examples without an answering candidate teach nothing."""
    useful = [example for example in examples if example.answers.any()]
    scale = np.concatenate([example.matrix for example in useful]).std(axis=0)
    scale[scale == 0] = 1
    tables = [(example.matrix / scale, example.answers) for example in useful]
    weights = np.zeros(len(scale))
    for _ in range(STEPS):
        step = np.linalg.solve(*_derivatives(tables, weights))
        here = _likelihood(tables, weights)
        while _likelihood(tables, weights + step) < here and np.abs(step).max() > _CONVERGED:
            step /= 2
        weights += step
        if np.abs(step).max() <= _CONVERGED:
            break
    return np.asarray(weights / scale)


def _likelihood(tables: Sequence[tuple[Table, NDArray[np.bool_]]], weights: Table) -> float:
    """Return the mean log-likelihood minus the ridge penalty."""
    total = 0.0
    for table, answers in tables:
        logits = table @ weights
        top = logits.max()
        total += logits[answers].mean() - top - np.log(np.exp(logits - top).sum())
    return float(total / len(tables) - RIDGE * weights @ weights)


def _derivatives(
    tables: Sequence[tuple[Table, NDArray[np.bool_]]], weights: Table
) -> tuple[Table, Table]:
    """Return the negative Hessian of the likelihood, and its gradient."""
    slope = -2 * RIDGE * weights
    curvature = 2 * RIDGE * np.eye(len(weights))
    for table, answers in tables:
        logits = table @ weights
        chance = np.exp(logits - logits.max())
        chance /= chance.sum()
        mean = chance @ table
        slope += (table[answers].mean(axis=0) - mean) / len(tables)
        spread = (table * chance[:, None]).T @ table - np.outer(mean, mean)
        curvature += spread / len(tables)
    return curvature, slope

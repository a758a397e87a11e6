"""Weights learnt from questions whose answers are known."""

import numpy as np
import pytest

from scripts.evaluation.cases.learning import Example, learn


def examples(count: int, true: np.ndarray, seed: int = 0) -> list[Example]:  # type: ignore[type-arg]
    """Questions whose answer is drawn from the softmax of these weights."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        table = rng.normal(size=(20, len(true)))
        chance = np.exp(table @ true)
        answers = np.zeros(20, dtype=np.bool_)
        answers[rng.choice(20, p=chance / chance.sum())] = True
        found.append(Example(table, answers))
    return found


def test_the_weights_that_made_the_answers_are_found_again() -> None:
    true = np.array([2.0, -1.0, 0.0])
    assert learn(examples(3000, true)) == pytest.approx(true, abs=0.15)


def test_a_signals_unit_does_not_matter() -> None:
    found = examples(300, np.array([2.0, -1.0]))
    scaled = [Example(each.matrix * [1000, 1], each.answers) for each in found]
    assert learn(scaled) * [1000, 1] == pytest.approx(learn(found), abs=1e-4)


def test_a_question_without_an_answer_teaches_nothing() -> None:
    found = examples(200, np.array([1.0]))
    idle = Example(np.ones((3, 1)) * 99, np.zeros(3, dtype=np.bool_))
    assert learn([*found, idle]) == pytest.approx(learn(found))


def test_a_signal_that_never_varies_gets_no_weight() -> None:
    found = [
        Example(np.hstack([each.matrix, np.ones((20, 1))]), each.answers)
        for each in examples(200, np.array([1.0]))
    ]
    assert learn(found)[1] == pytest.approx(0.0)


def test_signals_that_tell_the_answer_for_certain_do_not_run_away() -> None:
    table = np.eye(4)
    sure = [Example(table, np.arange(4) == 0)] * 50
    assert np.isfinite(learn(sure)).all()

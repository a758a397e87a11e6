"""The suites are sound, and recall is no worse on them than was recorded last."""

from collections import Counter
from itertools import islice

import pytest

from assistant.memory.embedding.onnx import OnnxEmbedder
from assistant.settings import Settings
from scripts.evaluation import bulk, report, suites
from scripts.evaluation.catalogue import PLANS, Plan
from scripts.evaluation.report import Row
from scripts.evaluation.room import opened
from scripts.evaluation.suites import HALVES, Asked

BY_NAME = {plan.name: plan for plan in PLANS}
ONCE = list({plan.suite: plan for plan in PLANS}.values())
QUICK = ("facts", "unrelated", "follow-ups", "procedures", "strings")
SLACK = 0.07
"""Another rounding of the vectors moves a few questions of a hundred across a threshold."""


def every(plan: Plan) -> list[Asked]:
    return [each for half in HALVES for each in suites.questions(plan.suite, half)]


def worse(row: Row, before: list[float]) -> bool:
    """Whether any half is worse than recorded; tokens are free to differ."""
    sign = -1 if row.measure.less_is_better else 1
    pairs = zip(row.means, before, strict=False)
    return not row.measure.tokens and any(sign * (was - now) > SLACK for now, was in pairs)


@pytest.mark.parametrize("plan", ONCE, ids=lambda plan: plan.name)
def test_a_suite_has_a_hundred_questions_whose_evidence_stands_once(plan: Plan) -> None:
    asked = every(plan)
    assert len(asked) >= 100
    assert Counter((each.history, each.question) for each in asked).most_common(1)[0][1] == 1
    lines = [
        line for text in suites.workspace(*plan.workspaces).values() for line in text.split("\n")
    ]
    texts = {text for each in asked for text in each.evidence}
    assert {text for text in texts if sum(text in line for line in lines) != 1} == set()
    said = [(text, each) for each in asked for text in each.evidence]
    assert not [
        each for text, each in said if any(text in s for s in (each.question, *each.history))
    ]


@pytest.mark.parametrize("plan", ONCE, ids=lambda plan: plan.name)
def test_what_is_held_out_is_not_answered_by_what_recall_is_tuned_on(plan: Plan) -> None:
    first, second = (
        {(each.kind, *each.evidence[:1]) for each in suites.questions(plan.suite, half)}
        for half in HALVES
    )
    assert {key for key in first & second if len(key) > 1} == set()
    sizes = [len(suites.questions(plan.suite, half)) for half in HALVES]
    assert min(sizes) >= 0.4 * sum(sizes)


@pytest.mark.parametrize("kind", sorted({plan.bulk for plan in PLANS}))
def test_distractors_are_the_same_each_time_and_answer_nothing(kind: str) -> None:
    assert list(islice(bulk.sentences(kind), 300)) == list(islice(bulk.sentences(kind), 300))
    assert sum(text.count("\n- ") for text in bulk.files(1030, kind).values()) == 1030
    plans = [plan for plan in PLANS if plan.bulk == kind]
    evidence = {text for plan in plans for each in every(plan) for text in each.evidence}
    whole = "\n".join(islice(bulk.sentences(kind), max(plan.distractors for plan in plans)))
    assert [text for text in evidence if text in whole] == []


@pytest.mark.parametrize("name", QUICK)
def test_recall_is_no_worse_than_recorded(name: str, embedder: OnnxEmbedder) -> None:
    plan, before = BY_NAME[name], report.recorded()[name]
    with opened(plan.files(), embedder) as room:
        rows = list(report.measured(plan, room, of=HALVES[:1]))
    assert [
        (row.measure.name, row.means) for row in rows if worse(row, before[row.measure.name])
    ] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_suite_is_worse_than_recorded(embedder: OnnxEmbedder) -> None:
    before = report.recorded()
    rows = report.rows(PLANS, embedder, Settings())
    found = {
        f"{row.plan}: {row.measure.name}": row.means
        for row in rows
        if worse(row, before[row.plan][row.measure.name])
    }
    assert found == {}

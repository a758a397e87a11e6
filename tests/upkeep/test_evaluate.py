"""Evidence recall, on a small corpus of our own and, where there is one, on the folder given."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import UsageError
from assistant.memory.base import Passage, Query, Recall
from assistant.memory.embedding.polyglot import PolyglotEmbedder
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search.recall import Recaller
from assistant.settings.sections import IndexSettings, MemorySettings
from assistant.workspace.folder import Workspace
from scripts.evaluation import evidence as evaluate
from scripts.evaluation.evidence import Case, Question

OWN = Path(__file__).parent / "data"
GIVEN = os.environ.get("ASSISTANT_EVAL_DATA")
"""Read before the environment is emptied for each test."""
ROUNDED = 0.01
"""The share by which figures differ between processors, which round int8 vectors otherwise."""


def line(number: int, characters: int = 40) -> Passage:
    text = "x" * characters
    return Passage(str(number), text, text, "MEMORY.md", number, number, 0, characters)


def asked(*lines: int) -> Question:
    return Question("?", "1", frozenset(lines))


def test_a_score_is_the_share_of_the_evidence_within_the_limit() -> None:
    passages = tuple(line(number, 400) for number in range(1, 31))  # 100 tokens each

    def ask(query: Query) -> Recall:
        return Recall(query.text, passages)

    assert evaluate.score(ask, asked(1, 7, 15, 25)) == [0.25, 0.5, 0.75, 0.25, 0.5]
    assert evaluate.measure(ask, [asked(1), asked(99), asked()]).tolist() == [[1] * 5, [0] * 5]


def test_a_passage_of_another_file_is_no_evidence() -> None:
    other = Passage("1", "x", "x", "AGENTS.md", 3, 3, 0, 1)
    assert evaluate.coverage([other], asked(3)) == 0
    assert evaluate.coverage([line(3)], asked(3, 4)) == 0.5


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few = np.tile([[0.0, 1.0], [1.0, 1.0]], (10, 1))
    many = np.tile(few, (20, 1))
    low, high = evaluate.interval(few)
    assert low[0] < 0.5 < high[0]
    assert low[1] == high[1] == 1
    closer = evaluate.interval(many)
    assert closer[1][0] - closer[0][0] < high[0] - low[0]


def test_what_is_no_case_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contains no"):
        evaluate.read_cases(tmp_path)
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "qa.json").write_text(json.dumps([{"question": "?"}]), encoding="utf-8")
    with pytest.raises(UsageError, match="broken"):
        evaluate.read_cases(tmp_path)


@pytest.fixture
def recallers(
    tmp_path: Path, embedder: PolyglotEmbedder
) -> Iterator[dict[str, tuple[Recaller, Case]]]:
    """The small corpus, each case with its recall."""
    found, indexes = {}, []
    for case in evaluate.read_cases(OWN):
        root = tmp_path / case.name
        root.mkdir()
        (root / "MEMORY.md").write_text(case.memory, encoding="utf-8")
        index = Synchronizer(Workspace(root), embedder, IndexSettings())
        index.refresh()
        indexes.append(index)
        found[case.name] = Recaller(index.store, embedder, MemorySettings()), case
    yield found
    for index in indexes:
        index.close()


@pytest.mark.parametrize(("name", "at_500", "at_5"), [("facts", 0.98, 0.97), ("talk", 0.9, 0.65)])
def test_recall_finds_the_evidence_of_the_small_corpus(
    recallers: dict[str, tuple[Recaller, Case]], name: str, at_500: float, at_5: float
) -> None:
    recaller, case = recallers[name]
    scores = evaluate.measure(recaller.recall, case.questions).mean(axis=0)
    measured = dict(zip(evaluate.MEASURES, scores.tolist(), strict=True))
    assert measured["500 tokens"] >= at_500
    assert measured["k = 5"] >= at_5


def test_a_shorter_list_is_the_beginning_of_a_longer_one(
    recallers: dict[str, tuple[Recaller, Case]],
) -> None:
    recaller, case = recallers["facts"]
    for each in case.questions[:10]:
        whole = recaller.recall(Query(each.text, k=evaluate.MOST, budget=evaluate.UNLIMITED))
        cut = recaller.recall(Query(each.text, k=5, budget=evaluate.UNLIMITED))
        assert [p.id for p in cut.passages] == [p.id for p in whole.passages[:5]]


@pytest.mark.skipif(GIVEN is None, reason="ASSISTANT_EVAL_DATA names no folder of cases")
@pytest.mark.slow
def test_recall_holds_on_the_folder_given(tmp_path: Path, embedder: PolyglotEmbedder) -> None:
    scores = []
    for case in evaluate.read_cases(Path(str(GIVEN))):
        root = tmp_path / case.name
        root.mkdir()
        (root / "MEMORY.md").write_text(case.memory, encoding="utf-8")
        index = Synchronizer(Workspace(root), embedder, IndexSettings())
        index.refresh()
        recaller = Recaller(index.store, embedder, MemorySettings())
        scores.append(evaluate.measure(recaller.recall, case.questions))
        index.close()
    at_500, at_1000, at_2000 = np.concatenate(scores).mean(axis=0)[:3]
    assert at_500 >= 0.80 - ROUNDED
    assert at_1000 >= 0.88 - ROUNDED
    assert at_2000 >= 0.92 - ROUNDED

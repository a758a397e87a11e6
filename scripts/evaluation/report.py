"""The figures of the suites, one row per measure: both halves with intervals, baselines, record."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from assistant.memory.embedding.embedder import Embedder
from scripts.evaluation import baselines, suites
from scripts.evaluation.catalogue import Plan
from scripts.evaluation.evidence import Scores, interval
from scripts.evaluation.probes import Measure, Probe
from scripts.evaluation.room import Room, opened
from scripts.evaluation.suites import HALVES, Asked

RECORD = suites.SUITES / "figures.json"
Figures = dict[str, dict[str, list[float]]]
"""By plan and measure, the means of both halves."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one plan, or of one kind of its questions.

    `halves` are the scores of each half, in the order of `HALVES`, of which the held-out one may be
    missing; `beside` are the baselines' scores of the last half.
    """

    plan: str
    measure: Measure
    halves: tuple[Scores, ...]
    beside: tuple[Scores, ...] = ()

    @property
    def means(self) -> list[float]:
        """The means of both halves, as recorded."""
        return [round(float(each.mean()), 4) for each in self.halves]

    def line(self, before: Sequence[float] | None) -> str:
        """Return the row of the table; `before` are the recorded means."""
        shown = [*(self._cell(each) for each in self.halves), "–"][: len(HALVES)]
        recorded = [self.measure.shown(each) for each in before] if before else ["–"]
        count = " + ".join(str(len(each)) for each in self.halves)
        beside = [self.measure.shown(float(each.mean())) for each in self.beside]
        beside = beside or ["–"] * len(baselines.NAMES)
        cells = [self.plan, self.measure.name, count, *shown, *beside, " · ".join(recorded)]
        return f"| {' | '.join(cells)} |"

    def _cell(self, scores: Scores) -> str:
        low, high = interval(scores[:, None])
        shown = self.measure.shown
        return f"{shown(float(scores.mean()))} ({shown(low[0])}–{shown(high[0])})"


COLUMNS = "suite", "measure", "questions", "development", "held out", *baselines.NAMES, "recorded"
HEADING = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def rows(
    plans: Sequence[Plan],
    embedder: Embedder,
    *,
    kinds: bool = False,
) -> Iterator[Row]:
    """Measure the plans in order; plans with the same memory share a room."""
    for _, group in groupby(plans, key=lambda plan: (plan.workspaces, plan.distractors, plan.edit)):
        same_memory = list(group)
        tell(f"indexing {same_memory[0].name} …")
        with opened(same_memory[0].files(), embedder) as room:
            for plan in same_memory:
                tell(f"asking {plan.name} …")
                yield from measured(plan, room, kinds=kinds, beside=baselines.NAMES)


def together(rows: Iterable[Row]) -> Iterator[Row]:
    """Merge consecutive rows of one name into one row per measure."""
    for _, group in groupby(rows, key=lambda row: row.plan.partition(":")[0]):
        same: dict[tuple[str, Measure], list[Row]] = {}
        for row in group:
            same.setdefault((row.plan, row.measure), []).append(row)
        for (plan, measure), parts in same.items():
            halves = zip(*(part.halves for part in parts), strict=True)
            beside = zip(*(part.beside for part in parts), strict=True)
            yield Row(
                plan,
                measure,
                tuple(map(np.concatenate, halves)),
                tuple(map(np.concatenate, beside)),
            )


def measured(
    plan: Plan,
    room: Room,
    *,
    kinds: bool = False,
    of: Sequence[str] = HALVES,
    beside: Sequence[str] = (),
) -> Iterator[Row]:
    """Yield the rows of one plan in its room; with `kinds`, also those of each kind of question.

    `beside` are the baselines, which are measured on the last half.
    """
    halves = [suites.questions(plan.suite, half) for half in of]
    for probe in plan.probes:
        rooms = [room] * len(halves) + [replace(room, ranking=name) for name in beside]
        questions = [*halves, *(halves[-1] for _ in beside)]
        scores = [
            np.array([_score(probe, of_room, each) for each in half])
            for of_room, half in zip(rooms, questions, strict=True)
        ]
        named = sorted({each.kind for half in halves for each in half} - {""}) if kinds else []
        for kind in ["", *named]:
            selected = tuple(
                _of_kind(found, half, kind) for found, half in zip(scores, questions, strict=True)
            )
            for column, measure in enumerate(probe.measures):
                name = f"{plan.name}: {kind}" if kind else plan.name
                columns = tuple(each[:, column] for each in selected)
                yield Row(name, measure, columns[: len(of)], columns[len(of) :])


def recorded(path: Path = RECORD) -> Figures:
    """Return the figures recorded last."""
    figures: Figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return figures


def record(rows: Sequence[Row], path: Path = RECORD) -> None:
    """Record the figures of these rows; those of other plans are unchanged."""
    figures = recorded(path)
    for row in rows:
        figures.setdefault(row.plan, {})[row.measure.name] = row.means
    path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tell(progress: str) -> None:
    """Report progress, separately from the report."""
    print(progress, file=sys.stderr, flush=True)


def _score(probe: Probe, room: Room, asked: Asked) -> Sequence[float]:
    room.calendar.day = asked.day
    return probe.score(room, asked)


def _of_kind(scores: Scores, half: Sequence[Asked], kind: str) -> Scores:
    chosen = [not kind or each.kind == kind for each in half]
    return scores[np.array(chosen, dtype=np.bool_)]

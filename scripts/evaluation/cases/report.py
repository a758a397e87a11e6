"""Evidence recall of a folder of cases: by category, and by ablation.

Every figure comes from the real recall over a real index in a temporary workspace. The weights of
an ablation are learnt again, for each case on the other cases; so are those of the row "learnt on
the other cases", which shows how much the shipped weights depend on their training data.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from assistant.memory.base import Query
from assistant.memory.embedding import compile
from assistant.memory.embedding.embedder import Embedder, Vectors
from assistant.memory.index.refresh import Synchronizer
from assistant.memory.search.question import read
from assistant.memory.search.ranking import SIGNALS, WEIGHTS, Weights
from assistant.memory.search.recall import Recaller
from assistant.settings.sections import EmbeddingSettings, IndexSettings, MemorySettings
from assistant.workspace.folder import MEMORY_FILE, Workspace
from scripts.evaluation.cases.learning import Example, learn
from scripts.evaluation.evidence import (
    MEASURES,
    Case,
    Scores,
    interval,
    measure,
    read_cases,
)
from scripts.evaluation.suites import ROOT

PLOT = ROOT / "build" / "recall.svg"
WORDS = {"covered", "bm25"}
ABLATIONS: dict[str, set[str]] = {
    "dense only": set(SIGNALS) - {"dense"},
    "words only": set(SIGNALS) - WORDS,
    "dense and words only": set(SIGNALS) - {"dense"} - WORDS,
    **{f"without {name}": {name} for name in SIGNALS},
}
"""The signals left out of each ablation."""


class Remembering:
    """Embeds each question once, however often it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts like the embedder."""
        if len(texts) != 1:
            return self._embedder.embed(texts)
        if texts[0] not in self._known:
            self._known[texts[0]] = self._embedder.embed(texts)
        return self._known[texts[0]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A case with its index."""

    case: Case
    index: Synchronizer
    embedder: Embedder

    def recaller(self, weights: Weights = WEIGHTS) -> Recaller:
        """Return a recaller with these weights."""
        return Recaller(self.index.store, self.embedder, MemorySettings(), weights=weights)

    def scores(self, weights: Weights = WEIGHTS) -> Scores:
        """Return the scores of its questions."""
        return measure(self.recaller(weights).recall, self.case.questions)

    def examples(self) -> list[Example]:
        """Its questions, to learn from."""
        recaller, catalog = self.recaller(), self.index.store.catalog
        every = catalog.chunks(catalog.layout().rowid.tolist())
        found = []
        for each in self.case.questions:
            parsed = read(each.text, catalog, date.today())
            ranked = recaller.rank(parsed, Query(each.text))
            chunks = [every[position] for position in ranked.positions]
            answering = [
                bool(each.lines & set(range(c.start_line, c.end_line + 1))) for c in chunks
            ]
            found.append(
                Example(ranked.matrix.astype(np.float64), np.array(answering, dtype=np.bool_))
            )
        return found


def run(folder: Path, *, ablate: bool, plot_to: Path) -> None:
    """Print the report on the cases in a folder, and write the plot."""
    with opened(read_cases(folder)) as cases:
        rows = report(cases, ablate=ablate)
    plot_to.parent.mkdir(parents=True, exist_ok=True)
    plot_to.write_text(plot(rows), encoding="utf-8")
    print(f"\nThe plot is in {plot_to}")


@contextlib.contextmanager
def opened(cases: Sequence[Case], *, together: bool = False) -> Iterator[list[Opened]]:
    """Yield the cases, each as a temporary real workspace; if `together`, each workspace holds all
    of them, one file per case."""
    embedder: Any = Remembering(compile.load(EmbeddingSettings()))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        indexed = []
        for case in cases:
            root = Path(folder) / case.name
            (root / "memory").mkdir(parents=True)
            for other in cases if together else [case]:
                file = root / (MEMORY_FILE if other is case else f"memory/{other.name}.md")
                file.write_text(other.memory, encoding="utf-8", newline="")
            index = Synchronizer(Workspace(root), embedder, IndexSettings())
            stack.callback(index.close)
            index.refresh()
            index.store.dense.drain()
            indexed.append(Opened(case, index, embedder))
        yield indexed


def report(cases: Sequence[Opened], *, ablate: bool) -> dict[str, Scores]:
    """Print every table; return the rows of the plot, by name."""
    scores = [each.scores() for each in cases]
    by_category(cases, scores)
    by_case(cases, scores)
    among_others(cases)
    rows = {"all signals": np.concatenate(scores)}
    if ablate:
        rows |= ablations(cases)
    return rows


def by_category(cases: Sequence[Opened], scores: Sequence[Scores]) -> None:
    """Print the scores of the shipped weights."""
    together = np.concatenate(scores)
    kinds = np.array([q.category for each in cases for q in each.case.questions if q.lines])
    heading("Evidence recall by category, with 95 % bootstrap intervals", "category")
    for kind in sorted(set(kinds)):
        row(kind, together[kinds == kind])
    row("all", together)


def by_case(cases: Sequence[Opened], scores: Sequence[Scores]) -> None:
    """Print the same by case."""
    heading("By case", "case")
    for each, case_scores in zip(cases, scores, strict=True):
        row(each.case.name, case_scores)


def among_others(cases: Sequence[Opened]) -> None:
    """Print the same questions for one memory that holds all cases."""
    if len(cases) < 2:
        return
    heading("All cases in one memory", "chunks")
    with opened([each.case for each in cases], together=True) as larger:
        chunks = f"{len(larger[0].index.store.catalog.layout()):,}"
        row(chunks, np.concatenate([each.scores() for each in larger]))


def ablations(cases: Sequence[Opened]) -> dict[str, Scores]:
    """Print and return scores with all signals and without some, learnt on the other cases."""
    if len(cases) < 2:
        print("\nAblations need a second case to learn on.")
        return {}
    examples = [each.examples() for each in cases]
    heading("Learnt on the other cases", "signals")
    rows = {"all, learnt on the others": set[str](), **ABLATIONS}
    results = {}
    for name, without in rows.items():
        results[name] = np.concatenate(
            [
                each.scores(learnt([e for o in examples if o is not own for e in o], without))
                for each, own in zip(cases, examples, strict=True)
            ]
        )
        row(name, results[name])
    return results


def learnt(examples: Sequence[Example], without: set[str]) -> Weights:
    """Return the weights of the remaining signals."""
    names = [name for name in SIGNALS if name not in without]
    columns = [SIGNALS.index(name) for name in names]
    reduced = [Example(example.matrix[:, columns], example.answers) for example in examples]
    return dict(zip(names, learn(reduced).tolist(), strict=True))


def heading(title: str, first: str) -> None:
    """Print the head of a table."""
    print(f"\n### {title}\n")
    print(f"| {first} | questions | {' | '.join(MEASURES)} |")
    print("|---" * (len(MEASURES) + 2) + "|", flush=True)


def row(name: str, scores: Scores) -> None:
    """Print one row of a table."""
    low, high = interval(scores)
    cells = [
        f"{100 * mean:.1f} ({100 * below:.1f}–{100 * above:.1f})"
        for mean, below, above in zip(scores.mean(axis=0), low, high, strict=True)
    ]
    print(f"| {name} | {len(scores)} | {' | '.join(cells)} |", flush=True)


def plot(rows: dict[str, Scores]) -> str:
    """Return bars of the mean at each budget with their intervals, as SVG for dark and light
    pages."""
    budgets, left, width, step = 3, 280, 150, 26
    parts = []
    for line, (name, scores) in enumerate(rows.items()):
        y = 46 + line * step
        parts.append(f'<text x="{left - 10}" y="{y + 12}" text-anchor="end">{name}</text>')
        low, high = interval(scores)
        for column, mean in enumerate(scores.mean(axis=0)[:budgets]):
            x = left + column * (width + 60)
            ends = [x + width * float(end) for end in (low[column], high[column])]
            parts.append(f'<rect x="{x}" y="{y}" width="{width * mean:.1f}" height="16"/>')
            parts.append(f'<path d="M{ends[0]:.1f} {y + 8}H{ends[1]:.1f}"/>')
            parts.append(f'<text x="{x + width + 6}" y="{y + 12}">{100 * mean:.1f}</text>')
    for column, title in enumerate(MEASURES[:budgets]):
        parts.append(f'<text x="{left + column * (width + 60)}" y="28">{title}</text>')
    size = f'width="{left + budgets * (width + 60)}" height="{60 + len(rows) * step}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
        "<style>text{fill:#222}rect{fill:#5b8def}path{stroke:#222;stroke-width:2}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}path{stroke:#ddd}}</style>"
        f"{''.join(parts)}</svg>\n"
    )

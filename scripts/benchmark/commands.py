"""Commands as whole processes, and an edit until it can be recalled, at 5,000 facts."""

import json
from pathlib import Path

import numpy as np

from assistant.memory.base import Keeper, Query
from assistant.memory.daemon import lifecycle
from assistant.memory.embedding.embedder import Embedder
from assistant.workspace.folder import Workspace
from scripts.benchmark import indexing, measure
from scripts.benchmark.facts import Fact, facts, write_single
from scripts.benchmark.measure import ASSISTANT, PYTHON, clocked, rival, run, seconds
from scripts.benchmark.page.report import Report, Result
from scripts.benchmark.vectors import FactEmbedder

FACTS = 5000


def help_(report: Report) -> None:
    """Compare `assistant --help` with the bare import of its command-line library."""
    ours, typer = seconds(
        lambda: run(ASSISTANT, "--help"), lambda: run(PYTHON, "-c", "import typer"), times=15
    )
    baseline = f"`python -c 'import typer'` {typer:.3f} s: {ours / typer:.2f} ×"
    report.add(Result("`assistant --help`", f"{ours:.3f} s", baseline, "≤ 2 ×", ours / typer, 2.0))


def recall(report: Report, workspace: Workspace, bare: Path, items: list[Fact]) -> None:
    """Measure one recall as a process, with and without a daemon."""
    query = items[len(items) // 2].question
    ask = (ASSISTANT, "-w", str(workspace.root), "recall", query)
    with measure.daemon(workspace) as memory:
        memory.recall(Query(query))
        warm, start = seconds(lambda: run(*ask), lambda: run(PYTHON, "-c", "pass"), times=15)
    spent = []
    rivals = []
    for _ in range(3):
        spent.append(clocked(lambda: run(*ask))[0])
        lifecycle.ask_to_yield(workspace)
        rivals.append(clocked(lambda: rival("search", bare, query))[0])
    cold, script = float(np.median(spent)), float(np.median(rivals))
    baseline = f"sentence-transformers and chromadb {script:.2f} s: {script / cold:.1f} × as long"
    report.add(
        Result(f"warm recall, {len(items):,} facts, whole process", f"{warm:.3f} s",
               f"`python -c pass` {start:.3f} s", "≤ 0.2 s", warm, 0.2),
        Result(f"cold recall, {len(items):,} facts, no daemon", f"{cold:.2f} s", baseline,
               "≤ 1.2 s", cold, 1.2),
    )  # fmt: skip


def edit(report: Report, workspace: Workspace, items: list[Fact], encoder: float) -> None:
    """Measure a line inserted at the top, from the save to the answer that cites it."""
    path = workspace.root / "MEMORY.md"
    with measure.daemon(workspace) as memory:
        memory.recall(Query("ready"))
        before = embedded(workspace)
        times = [
            insert(memory, path, f"The {n}th key of the boathouse hangs in the pantry.")
            for n in range(5)
        ]
        added = (embedded(workspace) - before) / len(times)
    spent = float(np.median(times))
    baseline = f"embedding all of the file again {len(items) / encoder:.1f} s"
    report.add(
        Result(f"one line inserted at the top of {len(items):,} facts, save to recallable",
               f"{spent:.2f} s", baseline, "≤ 1 s", spent, 1.0),
        Result("texts embedded for it", f"{added:.1f}", f"{len(items):,} chunks", "≤ 12",
               added, 12),
    )  # fmt: skip


def insert(memory: Keeper, path: Path, fact: str) -> float:
    """Return the seconds from saving a file with a new line at its top until recall returns that
    line."""
    head, gap, rest = path.read_text(encoding="utf-8").partition("\n- ")
    written = path.with_suffix(".new")
    written.write_text(f"{head}\n- {fact}{gap}{rest}", encoding="utf-8")

    def save_and_recall() -> None:
        written.replace(path)
        while not any(fact in passage.text for passage in memory.recall(Query(fact)).passages):
            pass

    return clocked(save_and_recall)[0]


def embedded(workspace: Workspace) -> int:
    """Return how many document texts have been embedded for a workspace."""
    status = json.loads(run(ASSISTANT, "-w", str(workspace.root), "memory", "status", "--json"))
    return int(status["embedded_total"])


def prepare(root: Path, embedder: FactEmbedder | Embedder) -> tuple[Workspace, list[Fact]]:
    """Return a workspace whose only file holds the facts, indexed."""
    workspace = measure.make_workspace(root)
    items = facts(FACTS)
    write_single(workspace.root, items)
    indexing.index(workspace, embedder)
    return workspace, items

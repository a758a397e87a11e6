"""First indexing compared with the bare encoders, and Chroma's bare upsert."""

import shutil
from pathlib import Path
from statistics import median

from assistant.memory.embedding.embedder import Embedder
from assistant.memory.index.refresh import Synchronizer
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark import measure
from scripts.benchmark.facts import facts, write_single
from scripts.benchmark.measure import clocked, rival
from scripts.benchmark.page.report import Report, Result

FACTS = 5000
ROUNDS = 5
SAMPLE = 500
"""Number of texts for sentence-transformers, which is slow."""


def first(report: Report, directory: Path, embedder: Embedder) -> float:
    """Index new workspaces; return the bare encoder's texts per second."""
    items = facts(FACTS)
    texts = [fact.text for fact in items]
    (directory / "texts").write_text("\n".join(texts[:SAMPLE]), encoding="utf-8")
    embedder.embed(texts[:100])
    ours, bare, original = [], [], []
    for number in range(ROUNDS):
        workspace = measure.make_workspace(directory / f"first{number}")
        write_single(workspace.root, items)
        before = clocked(lambda: embedder.embed(texts))[0]
        made = Synchronizer(workspace, embedder, IndexSettings())
        spent, done = clocked(made.refresh)
        made.close()
        after = clocked(lambda: embedder.embed(texts))[0]
        ours.append(done.embedded / spent)
        bare.append(2 * FACTS / (before + after))
        original.append(float(rival("encode", directory / "texts")))
    rate, encoder, slow = median(ours), median(bare), median(original)
    to_bare = median(a / b for a, b in zip(ours, bare, strict=True))
    to_original = median(a / b for a, b in zip(ours, original, strict=True))
    report.add(
        Result("first indexing", f"{rate:,.0f} texts/s",
               f"bare int8 encoder {encoder:,.0f} texts/s: {to_bare:.2f} ×", "≥ 0.9 ×",
               to_bare, 0.9, at_least=True),
        Result("first indexing", f"{rate:,.0f} texts/s",
               f"sentence-transformers with one of the two models {slow:,.0f} texts/s: "
               f"{to_original:.1f} ×", "≥ 2 ×",
               to_original, 2.0, at_least=True),
    )  # fmt: skip
    return encoder


def bare_upsert(directory: Path, vectors: Path, chunks: int) -> float:
    """Return the seconds of Chroma's own upsert; the collection stays there."""
    shutil.rmtree(directory, ignore_errors=True)
    return float(rival("upsert", directory, vectors, chunks))


def index(workspace: Workspace, embedder: Embedder) -> None:
    """Index a workspace in this process, including Chroma."""
    made = Synchronizer(workspace, embedder, IndexSettings())
    made.refresh()
    made.store.dense.drain()
    made.close()

"""First indexing beside the bare encoders, and Chroma's bare upsert."""

import shutil
from pathlib import Path

from assistant.memory.embedder import Embedder
from assistant.memory.sync import Synchronizer
from assistant.settings import IndexSettings
from scripts.benchmark import measure
from scripts.benchmark.facts import facts, write_single
from scripts.benchmark.measure import clocked, rival
from scripts.benchmark.report import Report, Result

FACTS = 5000
SAMPLE = 500
"""Texts that sentence-transformers is given; it is slow."""


def first(report: Report, directory: Path, embedder: Embedder) -> float:
    """Index a new workspace; returns the bare encoder's texts a second."""
    items = facts(FACTS)
    texts = [fact.text for fact in items]
    place = measure.make_workspace(directory / "first")
    write_single(place.root, items)
    (directory / "texts").write_text("\n".join(texts[:SAMPLE]), encoding="utf-8")
    embedder.embed(texts[:100])
    bare_before = clocked(lambda: embedder.embed(texts))[0]
    index = Synchronizer(place, embedder, IndexSettings())
    spent, done = clocked(index.refresh)
    index.close()
    bare_after = clocked(lambda: embedder.embed(texts))[0]
    original = float(rival("encode", directory / "texts"))
    ours = done.embedded / spent
    bare = 2 * FACTS / (bare_before + bare_after)
    report.add(
        Result("first indexing", f"{ours:,.0f} texts/s",
               f"bare int8 encoder {bare:,.0f} texts/s: {ours / bare:.2f} ×", "≥ 0.9 ×",
               ours / bare, 0.9, at_least=True),
        Result("first indexing", f"{ours:,.0f} texts/s",
               f"sentence-transformers {original:,.0f} texts/s: {ours / original:.1f} ×", "≥ 2 ×",
               ours / original, 2.0, at_least=True),
    )  # fmt: skip
    return bare


def bare_upsert(directory: Path, vectors: Path, chunks: int) -> float:
    """Seconds of Chroma's own upsert; leaves the collection there."""
    shutil.rmtree(directory, ignore_errors=True)
    return float(rival("upsert", directory, vectors, chunks))

"""10,000, 100,000 and a million chunks: recall, an edit, a fact told, the start, and memory.

Beyond the facts that are embedded vectors are synthetic. Where other work shares the processors,
the processor's time that the daemon takes for a recall tells more than the clock.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from assistant import config
from assistant.memory.base import Fact, Query
from assistant.memory.daemon import client
from assistant.memory.index.sync import Synchronizer
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark import growth, measure
from scripts.benchmark.commands import insert
from scripts.benchmark.facts import facts, queries, write_many
from scripts.benchmark.kept import KeptEmbedder
from scripts.benchmark.measure import Latency, clocked, latency
from scripts.benchmark.report import Report, table

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 220
MB = 1e6


@dataclass(frozen=True, slots=True)
class Step:
    """What was measured at one size; seconds, and bytes of the daemon."""

    chunks: int
    made: float
    start: float
    recall: Latency
    processor: float
    edit: float
    told: float
    daemon: int


def step(place: Workspace, embedder: KeptEmbedder, size: int, url: str | None) -> Step:
    """Index a workspace if it is not, Chroma included, and ask it through its daemon."""
    made, index = clocked(lambda: _made(place, embedder, IndexSettings(url=url)))
    index.close()
    asked, last = queries(facts(size), QUERIES), max(place.root.glob("memory/*.md"))
    variables = {"ASSISTANT_INDEX__URL": url} if url else {}
    with mock.patch.dict(os.environ, variables):
        start, first = clocked(lambda: _started(place))
        first.close()
        with measure.daemon(place) as memory:
            growth.settle(place, memory)
            status = client.daemon_status(place)
            assert status is not None
            before = measure.ticks(status.pid)
            found = latency(lambda query: memory.recall(Query(query)), asked)
            spent = (measure.ticks(status.pid) - before) / os.sysconf("SC_CLK_TCK") / len(asked)
            edit = insert(memory, last, "The spare key of the boathouse hangs in the pantry.")
            told = clocked(lambda: memory.remember([Fact("The boat is called Petrel")]))[0]
            return Step(size, made, start, found, spent, edit, told, measure.resident(status.pid))


def tell(report: Report, steps: Sequence[Step], served: Sequence[Step]) -> None:
    """The curve, embedded and with a server."""
    heads = ("chunks", "indexed", "start to first answer", "recall p50 / p95",
             "processor per recall", "one line added", "a fact told", "daemon")  # fmt: skip
    tables = [
        table(heads, [
            (f"{each.chunks:,}", f"{each.made:.0f} s", f"{each.start:.2f} s", each.recall,
             f"{1000 * each.processor:.0f} ms", f"{1000 * each.edit:.0f} ms",
             f"{1000 * each.told:.0f} ms", f"{each.daemon / MB:.0f} MB")
            for each in half
        ])
        for half in (steps, served) if half
    ]  # fmt: skip
    words = "Embedded first, then with a Chroma server on this machine."
    report.section("To a million chunks", words, *tables)


def prepare(directory: Path, size: int) -> Workspace:
    """A workspace of so many facts."""
    place = measure.make_workspace(directory / f"m{size}")
    write_many(place.root, facts(size))
    return place


def _made(place: Workspace, embedder: KeptEmbedder, settings: IndexSettings) -> Synchronizer:
    index = Synchronizer(place, embedder, settings)
    index.refresh()
    index.store.dense.drain()
    return index


def _started(place: Workspace) -> client.DaemonMemory:
    memory = client.connect(place, config.load())
    memory.recall(Query("ready"))
    return memory

"""10,000, 100,000 and a million chunks: recall, an edit, a fact told, the start, and memory.

Beyond the facts that are embedded vectors are synthetic. Where other work shares the processors,
the processor's time that the daemon takes tells more than the clock: both are measured.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from assistant import config
from assistant.memory.base import Fact, Query
from assistant.memory.daemon import client
from assistant.memory.index.sync import Synchronizer
from assistant.memory.protocol import Keeper
from assistant.settings.memory import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark import growth, measure
from scripts.benchmark.commands import insert
from scripts.benchmark.facts import facts, markdown, parted, queries
from scripts.benchmark.measure import Latency, clocked
from scripts.benchmark.page.report import Report, table
from scripts.benchmark.vectors import FactEmbedder

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 220
WARM_UP = 20
TIMES = 5
"""Edits, and facts told, of which the median is told."""
FILLING = 30 * 60.0
"""Seconds that Chroma has to be filled in; a size that takes longer is left out."""
MB = 1e6
HEADS = (
    "chunks", "indexed", "start to first answer", "of the processor", "recall p50 / p95",
    "of the processor", "one line added", "of the processor", "a fact told", "of the processor",
    "daemon",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """How long something took by the clock, and of the daemon's processor."""

    clock: Latency
    processor: Latency

    @classmethod
    def of(cls, pid: int, works: Iterable[Callable[[], object]]) -> "Taken":
        """Of works that a daemon does, one after the other."""
        clocks, processors = [], []
        for work in works:
            before = measure.processor(pid)
            clocks.append(1000 * clocked(work)[0])
            processors.append(1000 * (measure.processor(pid) - before))
        return cls(measure.spread(clocks), measure.spread(processors))


@dataclass(frozen=True, slots=True)
class Step:
    """What was measured at one size; seconds, of the clock and till it `started` of the daemon's
    processor; and the bytes that the daemon holds."""

    chunks: int
    made: float
    start: float
    started: float
    recall: Taken
    edit: Taken
    told: Taken
    daemon: int

    def row(self) -> tuple[object, ...]:
        """In the table."""
        once = ((each.clock.p50, each.processor.p50) for each in (self.edit, self.told))
        return (
            f"{self.chunks:,}", f"{self.made:.0f} s",
            f"{self.start:.2f} s", f"{self.started:.2f} s",
            self.recall.clock, self.recall.processor,
            *(f"{value:.0f} ms" for pair in once for value in pair), f"{self.daemon / MB:.0f} MB",
        )  # fmt: skip


def step(place: Workspace, embedder: FactEmbedder, size: int, url: str | None) -> Step | None:
    """Index a workspace if it is not, Chroma included, and ask it through its daemon; None if that
    fills no Chroma in time."""
    print(f"{size:,} chunks, {'with a server' if url else 'embedded'}", flush=True)
    made, whole = clocked(lambda: _is_made(place, embedder, IndexSettings(url=url)))
    if not whole:
        return None
    asked, last = queries(facts(size), QUERIES), max(place.root.glob("memory/*.md"))
    variables = {"ASSISTANT_INDEX__URL": url} if url else {}
    with mock.patch.dict(os.environ, variables):
        start, first = clocked(lambda: _started(place))
        first.close()
        status = client.daemon_status(place)
        assert status is not None
        pid = status.pid
        started = measure.processor(pid)
        with measure.daemon(place) as memory:
            growth.settle(place, memory)
            for text in asked[:WARM_UP]:
                memory.recall(Query(text))
            found = Taken.of(pid, (_recalling(memory, text) for text in asked[WARM_UP:]))
            held = measure.resident(pid)
            where = "pier" if url else "quay"
            keys = (f"The key of {where} {n} hangs in the pantry." for n in range(TIMES))
            edit = Taken.of(pid, (_editing(memory, last, key) for key in keys))
            boats = (f"The boat at {where} {n} is called Petrel" for n in range(TIMES))
            told = Taken.of(pid, (_telling(memory, boat) for boat in boats))
            held = max(held, measure.resident(pid))
            return Step(size, made, start, started, found, edit, told, held)


def tell(report: Report, steps: Sequence[Step | None], served: Sequence[Step | None]) -> None:
    """The curve, embedded and with a server."""
    halves = ([each for each in half if each] for half in (steps, served))
    tables = [table(HEADS, [each.row() for each in half]) for half in halves if half]
    words = "Embedded first, then with a Chroma server on this machine."
    if None in (*steps, *served):
        words += f" A size that is missing filled no Chroma in {FILLING / 60:.0f} minutes."
    report.section("To a million chunks", words, *tables)


def prepare(directory: Path, size: int) -> Workspace:
    """A workspace of so many facts; one that is there already is put as it was, and is reused."""
    root = directory / f"m{size}"
    place = measure.workspace_at(root)
    (root / "memory").mkdir(exist_ok=True)
    files = {root / "MEMORY.md": "# Memory\n"}
    files |= {root / name: markdown(part, start) for name, start, part in parted(facts(size))}
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return place


def _is_made(place: Workspace, embedder: FactEmbedder, settings: IndexSettings) -> bool:
    """Bring the index up, Chroma included; whether that was done in time."""
    index = Synchronizer(place, embedder, settings)
    index.refresh()
    deadline = time.monotonic() + FILLING

    def look_at_the_clock(*_: object) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    try:
        index.store.dense.drain(look_at_the_clock)
    except TimeoutError:
        return False
    finally:
        index.close()
    return True


def _started(place: Workspace) -> client.DaemonMemory:
    memory = client.connect(place, config.load())
    memory.recall(Query("ready"))
    return memory


def _recalling(memory: Keeper, text: str) -> Callable[[], object]:
    return lambda: memory.recall(Query(text))


def _editing(memory: Keeper, path: Path, fact: str) -> Callable[[], object]:
    return lambda: insert(memory, path, fact)


def _telling(memory: Keeper, fact: str) -> Callable[[], object]:
    return lambda: memory.remember([Fact(fact)])

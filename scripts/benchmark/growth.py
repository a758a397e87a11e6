"""Measures a memory as it grows from 100 to 100,000 chunks, with Chroma local and on a server."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from assistant.app.chat import open_chat
from assistant.app.options import ChatOptions
from assistant.memory.base import Keeper, Query
from assistant.memory.daemon import lifecycle, sockets
from assistant.memory.index.refresh import Synchronizer
from assistant.settings.sections import IndexSettings
from assistant.workspace.folder import Workspace
from scripts.benchmark import indexing, measure
from scripts.benchmark.commands import insert
from scripts.benchmark.facts import facts, queries, write_many
from scripts.benchmark.measure import Latency, clocked, latency, resident, rival
from scripts.benchmark.page.report import Report, Result
from scripts.benchmark.vectors import FactEmbedder

QUERIES = 220
UNLIMITED = 10**9


@dataclass(frozen=True, slots=True)
class Stage:
    """The measurements at one size; seconds, bytes."""

    chunks: int
    catalog: float
    chroma: float
    chroma_embedded: int
    bare: float
    disk: int
    recall: Latency
    edit: float
    edit_embedded: int
    daemon: int
    bare_memory: int


def stage(directory: Path, embedder: FactEmbedder, vectors: Path, size: int) -> Stage:
    """Build a memory of this size, then query and edit it through its daemon."""
    workspace = measure.make_workspace(directory / f"w{size}")
    items = facts(size)
    last = write_many(workspace.root, items)
    made = Synchronizer(workspace, embedder, IndexSettings())
    catalog = clocked(made.refresh)[0]
    made.close()
    shutil.rmtree(workspace.index / "chroma", ignore_errors=True)
    before = indexing.bare_upsert(directory / "bare", vectors, size)
    made = Synchronizer(workspace, embedder, IndexSettings())
    embedded = made.store.catalog.vectors.embedded_total
    chroma = clocked(made.store.dense.drain)[0]
    embedded = made.store.catalog.vectors.embedded_total - embedded
    made.close()
    bare = (before + indexing.bare_upsert(directory / "bare", vectors, size)) / 2
    with measure.daemon(workspace) as memory:
        questions = queries(items, QUERIES)
        settle(workspace, memory)
        recall = latency(lambda query: memory.recall(Query(query)), questions)
        memory_bytes = about(workspace)
        known = memory.status().embedded_total
        edit = insert(memory, last, "The spare key of the boathouse hangs in the pantry.")
        status = memory.status()
    return Stage(
        size, catalog, chroma, embedded, bare, status.index_bytes, recall, edit,
        status.embedded_total - known, memory_bytes, int(rival("resident", directory / "bare")),
    )  # fmt: skip


def process(workspace: Workspace) -> int:
    """Return the process of a workspace's daemon, which must be running."""
    connection = sockets.connect(workspace.root)
    assert connection is not None
    with connection:
        return sockets.peer(connection).process


def settle(workspace: Workspace, memory: Keeper) -> None:
    """Query once, and return when the daemon has then opened Chroma."""
    memory.recall(Query("ready"))
    measure.await_rest(process(workspace))


def about(workspace: Workspace) -> int:
    """Return the bytes that a workspace's daemon uses; it must not have loaded torch."""
    daemon = process(workspace)
    assert not measure.loads(daemon, "torch"), "the daemon has loaded torch"
    return resident(daemon)


@dataclass(frozen=True, slots=True)
class Served:
    """The same memory with its vectors on a Chroma server."""

    chunks: int
    chroma: float
    recall: Latency
    daemon: int


@contextlib.contextmanager
def server(directory: Path) -> Iterator[str]:
    """Run a real Chroma server; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chroma = str(Path(measure.PYTHON).with_name("chroma"))
    command = [chroma, "run", "--path", str(directory), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        measure.await_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def served(directory: Path, embedder: FactEmbedder, size: int) -> Served:
    """Move the vectors of a stage's memory to a server, and query it again."""
    workspace = Workspace(directory / f"w{size}")
    with server(directory / f"server{size}") as url:
        made = Synchronizer(workspace, embedder, IndexSettings(url=url))
        made.refresh()
        chroma = clocked(made.store.dense.drain)[0]
        made.close()
        with (
            mock.patch.dict(os.environ, ASSISTANT_INDEX__URL=url),
            measure.daemon(workspace) as memory,
        ):
            questions = queries(facts(size), QUERIES)
            settle(workspace, memory)
            recall = latency(lambda query: memory.recall(Query(query)), questions)
            return Served(size, chroma, recall, about(workspace))


def context(report: Report, directory: Path, sizes: tuple[int, int]) -> None:
    """Compare a turn's prompt in a large memory with that in a memory of ten facts."""
    small, large = sizes
    figures = []
    for size in sizes:
        workspace = Workspace(directory / f"w{size}")
        questions = queries(facts(size), QUERIES)
        with open_chat(workspace, ChatOptions(off_the_record=True)) as chat:
            recall = latency(lambda text: chat.memory.recall(Query(text)), questions)
            turn = latency(chat.conversation.preview, questions)
            tokens = [
                sum(section.tokens for section in chat.conversation.preview(text))
                for text in questions[:50]
            ]
        lifecycle.ask_to_yield(workspace)
        figures.append((size, recall, turn, sum(tokens) / len(tokens)))
    (_, _, _, few), (_, recall, turn, many) = figures
    report.add(
        Result(f"context of a turn, {large:,} chunks", f"{turn.p50:.1f} ms (p50)",
               f"recall alone {recall.p50:.1f} ms", "≤ recall + 5 ms", turn.p50 - recall.p50, 5.0),
        Result(f"tokens of that context, {large:,} chunks", f"{many:,.0f}",
               f"{few:,.0f} at {small} chunks: {many / few:.2f} ×", "≤ 1.05 ×", many / few, 1.05),
    )  # fmt: skip

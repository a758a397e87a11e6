"""Measures the cost of a write with all facts in one file, compared with a thousand facts per file.

In processor seconds of the thread that answers: other processes on the machine do not count, nor
does Chroma, which is updated after the answer. No model is used: vectors are bags of hashed words,
since embedding a fact always costs the same.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median

from assistant.memory.base import Fact, Query
from assistant.memory.local import LocalMemory
from assistant.secrets.registered import CurrentRedactor
from assistant.settings.tree import Settings
from assistant.workspace.folder import MEMORY_FILE, Workspace
from scripts.benchmark import measure
from scripts.benchmark.facts import facts, write_many, write_single
from scripts.benchmark.page.report import Report, Result, table
from tests.support.hashing import HashingEmbedder

TIMES = 5
GOALS = {
    "remember": 0.1,
    "batch": 0.2,
    "supersede": 0.12,
    "edit": 0.3,
    "due": 0.05,
    "stale": 0.3,
    "status": 0.05,
    "purge": 1.0,
}
TOLD = {
    "remember": "`remember`",
    "batch": "twenty facts at once",
    "supersede": "`remember --replaces`",
    "edit": "a line typed in the middle, save to recallable",
    "due": "what is due",
    "stale": "a save of an older copy, to its offer",
    "status": "`memory status` while that is offered",
    "purge": "`forget --purge`",
    "pairs": "pairs for `memory tidy`",
}


@dataclass(frozen=True, slots=True)
class Costs:
    """The processor seconds of each operation, and of reading its file once, including its
    digest."""

    facts: int
    single: bool
    seconds: dict[str, float]
    read: float


def costs(directory: Path, size: int, *, single: bool) -> Costs:
    """Make a memory of this size, in one file or in many, and write to it."""
    workspace = measure.make_workspace(directory / f"{'one' if single else 'many'}{size}")
    items = facts(size)
    path = (write_single if single else write_many)(workspace.root, items)
    memory = LocalMemory(
        Workspace(workspace.root), Settings(), HashingEmbedder(), redactor=CurrentRedactor()
    )
    memory.refresh()
    memory.index.store.dense.drain()
    works = _works(memory, path, workspace.root / MEMORY_FILE, [item.text for item in items])
    seconds = {name: _clocked(work) for name, work in works.items() if name != "purge"}
    seconds["purge"] = _once(works["purge"], 1)  # the next one would wait until Chroma is filled
    memory.close()
    return Costs(size, single, seconds, _clocked(lambda _: _read(path)))


def _works(
    memory: LocalMemory, path: Path, written: Path, items: Sequence[str]
) -> dict[str, Callable[[int], object]]:
    """Return each operation by name; its number makes each call different."""
    copies: list[bytes] = []

    def remember(number: int) -> None:
        copies.append(written.read_bytes() if written.exists() else b"")
        assert memory.remember([Fact(f"The key number {number} hangs in shed {number}")])

    def batch(number: int) -> None:
        assert memory.remember([Fact(f"Crate {number}-{each} holds apples") for each in range(20)])

    def supersede(number: int) -> None:
        before = memory.locate(f"The key number {number} hangs in shed {number}").passages[0].id
        now = Fact(f"The key number {number} hangs in barn {number}", replaces=before)
        assert memory.remember([now])[0].status == "superseded"

    def edit(number: int) -> None:
        line = f"Boat number {number} is moored at pier {number}"
        text = path.read_text(encoding="utf-8")
        at = text.index("\n- ", len(text) // 2)
        path.write_text(f"{text[:at]}\n- {line}{text[at:]}", encoding="utf-8")
        assert memory.recall(Query(line, k=1)).passages[0].text == f"- {line}"

    def stale(number: int) -> None:
        written.write_bytes(copies[-1 - number])
        memory.refresh()
        assert memory.erased()

    def purge(number: int) -> None:
        assert memory.purge(memory.locate(items[number]).passages).purged

    return {
        "remember": remember,
        "batch": batch,
        "supersede": supersede,
        "edit": edit,
        "due": lambda _: memory.due("2026-11-20", "2027-01-20"),
        "stale": stale,
        "status": lambda _: memory.status(),
        "pairs": lambda _: memory.pairs(),
        "purge": purge,
    }


def _read(path: Path) -> str:
    data = path.read_bytes()
    return data.decode() + sha256(data).hexdigest()


def _clocked(work: Callable[[int], object]) -> float:
    """Return the median time, after one call that is not counted."""
    work(0)
    return median(_once(work, number) for number in range(1, TIMES + 1))


def _once(work: Callable[[int], object], number: int) -> float:
    start = time.thread_time()
    work(number)
    return time.thread_time() - start


def side_by_side(report: Report, directory: Path, sizes: Sequence[int], many: int) -> None:
    """Report the cost of each operation at each size, in one file and in many, and at the size
    `many` in many."""
    measured = [costs(directory, size, single=single) for single in (True, False) for size in sizes]
    measured.append(costs(directory, many, single=False))
    first, last = (
        next(cost for cost in measured if cost.facts == size) for size in (sizes[0], sizes[-1])
    )
    report.add(
        *(
            Result(
                f"{TOLD[name]}, {last.facts:,} facts in one file", f"{last.seconds[name]:.3f} s",
                f"{first.seconds[name]:.3f} s at {first.facts:,}; reading the file once"
                f" {last.read:.3f} s", f"≤ {goal} s", last.seconds[name], goal,
            )
            for name, goal in GOALS.items()
        )
    )  # fmt: skip
    rows = [
        ("one file" if cost.single else "a thousand a file", f"{cost.facts:,}",
         *(f"{cost.seconds[name]:.3f} s" for name in TOLD), f"{cost.read:.3f} s")
        for cost in measured
    ]  # fmt: skip
    report.section(
        "In one file",
        "`remember` writes to MEMORY.md, however long that is. The figures are processor seconds "
        "of the thread that answers; vectors are bags of hashed words, without a model, and Chroma "
        "is updated after the answer. The file is read three times and written whole: compare that "
        "with the last column, its bytes read once, decoded and hashed.",
        table(("facts in", "facts", *TOLD.values(), "reading the file once"), rows),
    )

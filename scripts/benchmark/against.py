"""Compares another commit with this one: the same commands on the same facts, alternating.

Everything goes through the command line, which any two commits share; each side has a separate
home, and processor time is comparable even on a busy machine.
"""

import contextlib
import json
import os
import resource
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from scripts.benchmark import measure
from scripts.benchmark.facts import facts, queries, write_many
from scripts.benchmark.measure import PYTHON, ROOT, clocked
from scripts.benchmark.page.report import table

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 60
WARM_UP = 10
FILLING_SECONDS = 600.0
"""Timeout for a daemon to fill Chroma after its first answer."""
MB = 1e6
Spent = tuple[float, float]
"""Seconds of wall-clock and of processor time."""


class Side:
    """A commit's tree, with a separate home in `room`; `figures` are the measurements."""

    def __init__(self, tree: Path, room: Path) -> None:
        self.figures: dict[str, float] = {}
        self._tree = tree
        self._room = room
        (room / "run").mkdir(mode=0o700, parents=True)
        project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
        module, _, name = project["project"]["scripts"]["assistant"].partition(":")
        self._command = [PYTHON, "-c", f"from {module} import {name}; {name}()"]
        self._variables = os.environ | {
            "PYTHONPATH": str(tree),
            "HOME": str(room),
            "XDG_RUNTIME_DIR": str(room / "run"),
        }

    def run(self, *words: str) -> str:
        """Return the output of a command. Raises CalledProcessError."""
        done = subprocess.run(
            [*self._command, *words],
            cwd=self._tree,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()

    def ask(self, workspace: str, question: str) -> Spent:
        """Recall in a separate process."""
        began = _children()
        seconds = clocked(lambda: self.run("-w", workspace, "recall", question))[0]
        return seconds, _children() - began

    def make(self, size: int) -> str:
        """Create a workspace with this many facts, not indexed yet."""
        workspace = self._room / f"w{size}"
        self.run("init", str(workspace))
        (workspace / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        write_many(workspace, facts(size))
        return str(workspace)

    def daemon(self, workspace: str) -> int:
        """Return the process that owns a workspace's index."""
        return int(json.loads(self.run("-w", workspace, "daemon", "status", "--json"))["pid"])


def against(directory: Path, commit: str, sizes: Sequence[int] = SIZES) -> None:
    """Measure both sides, and print each figure with its ratio to the other's."""
    with _checked_out(directory / "tree", commit) as tree:
        sides = Side(ROOT, directory / "here"), Side(tree, directory / "there")
        for size in sizes:
            _compare(sides, size)
    here, there = (side.figures for side in sides)
    rows = [
        (what, f"{value:.4g}", f"{there[what]:.4g}", f"{value / there[what]:.2f} ×")
        for what, value in here.items()
    ]
    print(table(("what", "here", commit, "here / there"), rows), flush=True)


@contextlib.contextmanager
def _checked_out(tree: Path, commit: str) -> Iterator[Path]:
    """Yield the files of a commit while they are measured."""
    git = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _compare(sides: Sequence[Side], size: int) -> None:
    """Index the same facts on each side, then query them alternately."""
    workspaces = [side.make(size) for side in sides]
    try:
        for side, workspace in zip(sides, workspaces, strict=True):
            _index(side, workspace, size)
        _ask(sides, workspaces, size)
    finally:
        for side, workspace in zip(sides, workspaces, strict=True):
            side.run("-w", workspace, "daemon", "stop")


def _index(side: Side, workspace: str, size: int) -> None:
    spent = clocked(lambda: side.run("-w", workspace, "recall", "ready"))[0]
    pid = side.daemon(workspace)
    measure.await_rest(pid, FILLING_SECONDS)
    side.figures |= {
        f"first indexing, {size:,} facts, until the first answer, s": spent,
        f"the same with Chroma, {size:,} facts, processor s": measure.ticks(pid) / _per_second(),
    }


def _ask(sides: Sequence[Side], workspaces: Sequence[str], size: int) -> None:
    pids = [side.daemon(workspace) for side, workspace in zip(sides, workspaces, strict=True)]
    questions = queries(facts(size), QUESTIONS + WARM_UP)
    for question in questions[:WARM_UP]:
        for side, workspace in zip(sides, workspaces, strict=True):
            side.ask(workspace, question)
    before = [measure.ticks(pid) for pid in pids]
    times: tuple[list[Spent], list[Spent]] = ([], [])
    for number, question in enumerate(questions[WARM_UP:]):
        for turn in (0, 1) if number % 2 else (1, 0):
            times[turn].append(sides[turn].ask(workspaces[turn], question))
    for side, pid, began, spent in zip(sides, pids, before, times, strict=True):
        daemon = (measure.ticks(pid) - began) / _per_second() / QUESTIONS
        side.figures |= {
            f"warm recall, {size:,} facts, whole process, ms": 1000 * median(t for t, _ in spent),
            f"of it the client's processor, {size:,} facts, ms": 1000 * median(c for _, c in spent),
            f"the daemon's processor for a recall, {size:,} facts, ms": 1000 * daemon,
            f"the daemon's memory, {size:,} facts, MB": measure.resident(pid) / MB,
        }


def _children() -> float:
    """Return the processor seconds that ended child processes used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _per_second() -> int:
    return os.sysconf("SC_CLK_TCK")

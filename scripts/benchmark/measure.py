"""Clocks, processes, and a home directory for the measured program."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from assistant import config
from assistant.memory.base import Keeper
from assistant.memory.daemon import client, lifecycle
from assistant.workspace import folder as workspace
from assistant.workspace.folder import Workspace

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache"
PYTHON = sys.executable
ASSISTANT = str(Path(PYTHON).with_name("assistant"))
SETTINGS = ("ASSISTANT_", "XDG_", "PYTHON")
"""Variables that would affect the measurements, such as one that makes Python write no byte
code."""
T = TypeVar("T")


@contextlib.contextmanager
def room() -> Iterator[Path]:
    """Make an empty temporary home for this process and its children; only compiled models are
    shared."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as temporary:
        home = Path(temporary)
        for variable in [name for name in os.environ if name.startswith(SETTINGS)]:
            del os.environ[variable]
        (home / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
        models = home / "cache" / "assistant" / "models"
        models.parent.mkdir(parents=True)
        models.symlink_to(CACHE / "assistant" / "models")
        os.environ |= {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        yield home


def make_workspace(root: Path) -> Workspace:
    """Return a workspace from the template, trusted, without the template's memory and
    questions."""
    run(ASSISTANT, "init", str(root))
    (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    Workspace(root).new.unlink()
    return workspace.find(root)


@contextlib.contextmanager
def daemon(workspace: Workspace) -> Iterator[Keeper]:
    """Yield the memory of a workspace through its daemon, which ends with the block."""
    memory = client.connect(workspace, config.load())
    try:
        yield memory
    finally:
        memory.close()
        lifecycle.ask_to_yield(workspace)


def run(*command: str) -> str:
    """Return the output of a command. Raises CalledProcessError with its standard error."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout


def await_port(port: int) -> None:
    """Return when something listens there. Raises TimeoutError after a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


def rival(name: str, *arguments: object) -> str:
    """Return the output of one of `rivals`, run as a separate process."""
    return run(PYTHON, "-m", "scripts.benchmark.rivals", name, *map(str, arguments))


def clocked(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that the work took, and its result."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def seconds(*works: Callable[[], object], times: int) -> list[float]:
    """Return the median seconds of each work; they alternate, so that all see the same machine."""
    rounds = [[clocked(work)[0] for work in works] for _ in range(times)]
    return [median(each) for each in zip(*rounds, strict=True)]


@dataclass(frozen=True, slots=True)
class Latency:
    """The time that many calls of one kind took, in milliseconds."""

    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{self.p50:.1f} / {self.p95:.1f} ms"


def latency(work: Callable[[str], object], queries: Sequence[str], warm_up: int = 20) -> Latency:
    """Return the latency of a call for each query, not counting the first ones."""
    for query in queries[:warm_up]:
        work(query)
    return spread([1000 * clocked(lambda: work(query))[0] for query in queries[warm_up:]])  # noqa: B023


def spread(milliseconds: Sequence[float]) -> Latency:
    """Return the median and the 95th percentile."""
    ordered = sorted(milliseconds)
    return Latency(ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)])


def resident(pid: int | str = "self") -> int:
    """Return VmRSS of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    found = next(line for line in lines if line.startswith("VmRSS"))
    return int(found.split()[1]) * 1024


def await_rest(pid: int, seconds: float = 120) -> None:
    """Return when a process has used almost no processor time for a second. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        before = ticks(pid)
        time.sleep(1)
        if ticks(pid) - before <= 0.05 * os.sysconf("SC_CLK_TCK"):
            return
    raise TimeoutError(f"process {pid} does not come to rest")


def ticks(pid: int) -> int:
    """Return the processor ticks that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def processor(pid: int) -> float:
    """Return the processor seconds that the threads of a process have used."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9


def processor_ticks() -> tuple[int, int]:
    """Return the ticks of all processors since they started, and those that other machines on the
    same hardware took."""
    first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    return sum(map(int, first)), int(first[7])


def loads(pid: int, library: str) -> bool:
    """Return whether a process has mapped a library."""
    return library in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")

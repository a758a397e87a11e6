"""Memory over the daemon: the same contract, and all that comes between a client and its daemon."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import assistant
from assistant.errors import DaemonError, EmbedderError
from assistant.memory.base import Fact, Keeper, Query
from assistant.memory.daemon import client
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import pid, running
from tests.memory.memory_contract import FACTS, MemoryContract, found, remember

ROOT = Path(assistant.__file__).parent.parent


@pytest.mark.slow
class TestDaemonMemory(MemoryContract):
    pass


def test_status_tells_of_the_daemon(memory: Keeper, workspace: Workspace) -> None:
    daemon = memory.status().daemon
    assert daemon is not None
    assert daemon.pid == pid(workspace) != os.getpid()
    assert daemon.version == assistant.__version__
    assert daemon.rss_bytes > 30_000_000


def test_no_daemon_is_started_to_ask_for_its_status(workspace: Workspace) -> None:
    assert running(workspace) is None
    assert not workspace.private.exists()


def test_a_fact_of_one_client_is_in_recall_of_another_at_once(workspace: Workspace) -> None:
    """25 of 25."""
    one, other = client.connect(workspace, {}), client.connect(workspace, {})
    for number in range(25):
        fact = f"The locker number {number} belongs to guest {number * 7919 % 1000}"
        remember(one, fact)
        assert fact in found(other, f"locker number {number}")
    one.close()
    other.close()


def test_a_dead_daemon_is_replaced_and_its_stale_socket_too(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    dead = pid(workspace)
    os.kill(dead, signal.SIGKILL)
    assert found(memory, FACTS[0]) == [FACTS[0]]
    assert pid(workspace) != dead


def test_a_write_is_done_once_though_its_daemon_dies_under_it(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """The daemon is stopped, asked, killed before it can answer; the retry meets a fresh one."""
    remember(memory, FACTS[0])
    stopped = pid(workspace)
    os.kill(stopped, signal.SIGSTOP)
    done: list[list[str]] = []
    asking = threading.Thread(target=lambda: done.append(remember(memory, FACTS[1])))
    asking.start()
    os.kill(stopped, signal.SIGKILL)
    asking.join()
    assert len(done) == 1
    assert found(memory, FACTS[1]).count(FACTS[1]) == 1
    assert (workspace.root / "MEMORY.md").read_text("utf-8").count(FACTS[1]) == 1


def test_what_keeps_memory_from_opening_reaches_the_client(workspace: Workspace) -> None:
    memory = client.connect(workspace, {"embedding": {"model": "/nowhere"}})
    for _ in range(2):
        with pytest.raises(EmbedderError, match="/nowhere") as caught:
            memory.recall(Query("anything"))
        assert caught.value.cure
    memory.close()


def test_progress_of_a_long_indexing_reaches_the_client(workspace: Workspace) -> None:
    lines = "".join(f"- Fact {number} about {FACTS[number % 5]}\n" for number in range(700))
    (workspace.root / "MEMORY.md").write_text(lines, encoding="utf-8")
    told: list[tuple[str, int, int]] = []
    memory = client.connect(workspace, {}, lambda *progress: told.append(progress))
    with contextlib.closing(memory):
        while memory.status().chunks < 700:  # an answer does not wait for ever
            pass
    assert ("Indexing MEMORY.md", 700, 700) in told and told[-1][1] == told[-1][2]


def test_what_the_owner_should_know_comes_with_the_answer(workspace: Workspace) -> None:
    told: list[str] = []
    memory = client.connect(workspace, {}, notify=told.append)
    (workspace.root / "AGENTS.md").write_bytes(b"\xff")
    memory.recall(Query("anything"))
    memory.recall(Query("anything"))
    memory.close()
    assert len(told) == 1
    assert "AGENTS.md" in told[0]


def test_a_client_may_be_used_by_several_threads(memory: Keeper) -> None:
    remember(memory, *FACTS)
    answers: list[list[str]] = []

    def ask(fact: str) -> None:
        answers.extend(found(memory, fact) for _ in range(10))

    threads = [threading.Thread(target=ask, args=[fact]) for fact in FACTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer[0] for answer in answers) == sorted(FACTS * 10)


def test_a_too_long_request_is_refused_and_the_connection_lives(memory: Keeper) -> None:
    with pytest.raises(DaemonError, match="bytes long"):
        memory.remember([Fact("x" * 2_000_000)])
    assert memory.status().chunks == 0


@pytest.mark.slow
def test_a_request_interrupted_halfway_is_not_answered_to_the_next(workspace: Workspace) -> None:
    """Ctrl-C while a progress report is shown; the answer that still comes belongs to nobody."""
    lines = "".join(f"- Line {number} about {FACTS[number % 5]}\n" for number in range(600))
    (workspace.root / "AGENTS.md").write_text(lines, encoding="utf-8")

    def interrupt(*progress: object) -> None:
        raise KeyboardInterrupt

    memory = client.connect(workspace, {}, interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory.status()
    quiet = client.connect(workspace, {})
    assert quiet.status().chunks == 600
    assert memory.recall(Query("line 7", k=1)).query == "line 7"
    for each in (memory, quiet):
        each.close()


WARM = """
import sys
sys.argv = ["assistant", "-w", sys.argv[1], "recall", "dentist"]
from assistant.cli.front import run
try:
    run()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def test_a_warm_recall_loads_typer_the_codec_and_a_handful_of_ours(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    command = [sys.executable, "-c", WARM, str(workspace.root)]
    told = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)
    assert FACTS[0] in told.stdout
    loaded = set(told.stderr.split())
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert foreign - {"__main__", "_distutils_hack"} <= {
        "assistant", "typer", "annotated_doc", "shellingham", "msgspec", "typing_extensions",
    }  # fmt: skip
    ours = {name.removeprefix("assistant.") for name in loaded if name.startswith("assistant.")}
    assert {name for name in ours if not name.startswith("cli")} == {
        "characters", "config", "disk", "disk.exchange", "disk.locking",
        "disk.storage", "display", "errors",
        "memory", "memory.annotations", "memory.base", "memory.daemon", "memory.daemon.client",
        "memory.daemon.sockets", "memory.daemon.wire", "memory.open",
        "messages", "secrets", "secrets.stand_ins", "workspace",
        "workspace.folder", "workspace.machine",
    }  # fmt: skip
    slow = {"asyncio", "ctypes", "logging", "sqlite3", "tomllib", "multiprocessing", "email"}
    assert loaded & slow == set()

"""Memory over the daemon: the same contract, and all that comes between a client and its daemon."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import assistant
from assistant.errors import ConfigError, DaemonError, EmbedderError
from assistant.memory.base import Fact, Query
from assistant.memory.daemon import client, owner, sockets, wire
from assistant.memory.door import open_in_process
from assistant.memory.protocol import Keeper
from assistant.settings import Settings
from assistant.workspace import Workspace
from tests.memory.memory_contract import FACTS, MemoryContract, found, remember

ROOT = Path(assistant.__file__).parent.parent


@pytest.fixture(autouse=True)
def daemon(workspace: Workspace) -> Iterator[None]:
    """Whatever daemon a test starts ends with it."""
    yield
    status = client.daemon_status(workspace)
    if status is not None:
        os.kill(status.pid, signal.SIGKILL)


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[client.DaemonMemory]:
    connected = client.connect(workspace, {})
    yield connected
    connected.close()


class TestDaemonMemory(MemoryContract):
    pass


def pid(workspace: Workspace) -> int:
    status = client.daemon_status(workspace)
    assert status is not None
    return status.pid


def test_status_tells_of_the_daemon(memory: Keeper, workspace: Workspace) -> None:
    daemon = memory.status().daemon
    assert daemon is not None
    assert daemon.pid == pid(workspace) != os.getpid()
    assert daemon.version == assistant.__version__
    assert daemon.rss_bytes > 30_000_000


def test_no_daemon_is_started_to_ask_for_its_status(workspace: Workspace) -> None:
    assert client.daemon_status(workspace) is None
    assert not workspace.private.exists()


def test_a_fact_of_one_client_is_in_recall_of_another_at_once(workspace: Workspace) -> None:
    """100 of 100."""
    one, other = client.connect(workspace, {}), client.connect(workspace, {})
    for number in range(100):
        fact = f"The locker number {number} belongs to guest {number * 7919 % 1000}"
        remember(one, fact)
        assert fact in found(other, f"locker number {number}")
    one.close()
    other.close()


def test_clients_that_start_at_once_share_one_daemon(workspace: Workspace) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(8) as pool:
        pids = pool.map(_pid_of_started, [workspace] * 8)
    assert set(pids) == {pid(workspace)}


def _pid_of_started(workspace: Workspace) -> int:
    memory = client.connect(workspace, {})
    daemon = memory.status().daemon
    memory.close()
    assert daemon is not None
    return daemon.pid


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


def test_a_daemon_with_other_settings_is_replaced(workspace: Workspace) -> None:
    one = client.connect(workspace, {"memory": {"k": 3}})
    remember(one, *FACTS)
    first = pid(workspace)
    same = client.connect(workspace, {"memory": {"k": 3}, "model": {"name": "some/model"}})
    assert (len(found(same, "tea dentist car")), pid(workspace)) == (3, first)
    other = client.connect(workspace, {"memory": {"k": 1}})
    assert (len(found(other, "tea dentist car")), pid(workspace) != first) == (1, True)
    assert len(found(one, "tea dentist car")) == 3
    for memory in (one, same, other):
        memory.close()


def test_a_daemon_of_another_protocol_is_seen_off(memory: Keeper, workspace: Workspace) -> None:
    """As after an upgrade: it answers no, lets go of the index, and a fresh one is started."""
    first = pid(workspace)
    newer = wire.Hello(wire.PROTOCOL + 1, "9.9", "", str(workspace.root))
    connection = sockets.connect(workspace.root)
    assert connection is not None
    with connection, connection.makefile("rb") as lines:
        connection.sendall(wire.request("1", wire.HELLO, wire.Greeting(newer)))
        assert lines.readline() == b'{"id":"1","result":false}\n'
        owner.wait_until_gone(connection)
    assert client.daemon_status(workspace) is None
    assert memory.status().daemon is not None
    assert pid(workspace) != first


def test_what_keeps_a_daemon_from_starting_reaches_the_client(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match=r"daemon\.idle") as caught:
        client.connect(workspace, {"daemon": {"idle": "3"}})
    assert "config show" in caught.value.cure
    assert client.daemon_status(workspace) is None


def test_what_keeps_memory_from_opening_reaches_the_client(workspace: Workspace) -> None:
    memory = client.connect(workspace, {"embedding": {"model": "/nowhere"}})
    for _ in range(2):
        with pytest.raises(EmbedderError, match="/nowhere") as caught:
            memory.recall(Query("anything"))
        assert caught.value.cure
    memory.close()


def test_an_idle_daemon_ends_and_is_started_again(workspace: Workspace) -> None:
    memory = client.connect(workspace, {"daemon": {"idle_seconds": 0.2}})
    remember(memory, FACTS[0])
    first = sockets.connect(workspace.root)
    assert first is not None
    with first:
        owner.wait_until_gone(first)
    assert client.daemon_status(workspace) is None
    assert found(memory, FACTS[0]) == [FACTS[0]]
    memory.close()


def test_a_daemon_told_to_end_finishes_and_leaves_nothing(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    watching = sockets.connect(workspace.root)
    assert watching is not None
    os.kill(pid(workspace), signal.SIGTERM)
    with watching:
        owner.wait_until_gone(watching)
    assert not any(path.exists() for path in sockets.paths(workspace.root))
    assert list(workspace.index.glob("*.open")) == []


def test_memory_in_this_process_takes_the_index_over_and_gives_it_back(
    memory: Keeper, workspace: Workspace
) -> None:
    remember(memory, FACTS[0])
    local = open_in_process(workspace, Settings())
    assert client.daemon_status(workspace) is None
    assert found(local, FACTS[0]) == [FACTS[0]]
    with pytest.raises(DaemonError, match=f"process {os.getpid()} works on") as caught:
        owner.claim(workspace, 0.1)
    assert "--no-daemon" in caught.value.cure
    local.close()
    assert found(memory, FACTS[0]) == [FACTS[0]]


def test_progress_of_a_long_indexing_reaches_the_client(workspace: Workspace) -> None:
    lines = "".join(f"- Fact {number} about {FACTS[number % 5]}\n" for number in range(700))
    (workspace.root / "MEMORY.md").write_text(lines, encoding="utf-8")
    told: list[tuple[str, int, int]] = []
    memory = client.connect(workspace, {}, lambda *progress: told.append(progress))
    assert memory.status().chunks == 700
    memory.close()
    assert told[-1] == ("Indexing MEMORY.md", 700, 700)


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
from assistant.cli.main import run
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
        "config", "display", "errors", "exchange", "memory", "memory.base", "memory.daemon",
        "memory.daemon.client", "memory.daemon.operations", "memory.daemon.sockets",
        "memory.daemon.wire", "memory.door", "memory.protocol", "messages", "locking", "storage",
        "trust", "workspace",
    }  # fmt: skip
    slow = {"asyncio", "ctypes", "logging", "sqlite3", "tomllib", "multiprocessing", "email"}
    assert loaded & slow == set()

"""The daemon answers its owner, whatever comes over its socket."""

import contextlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

import assistant
from assistant import config
from assistant.disk import locking
from assistant.errors import DaemonError
from assistant.memory.base import Fact
from assistant.memory.daemon import client, sockets, wire
from assistant.memory.daemon.server import MOST_CONNECTIONS
from assistant.memory.daemon.wire import OPERATIONS
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import answer, dial, ended, pid
from tests.memory.memory_contract import FACTS, found, remember


@pytest.fixture
def memory(memory: client.DaemonMemory) -> client.DaemonMemory:
    """A client's memory, with facts in it."""
    remember(memory, *FACTS)
    return memory


@pytest.fixture
def daemon(memory: client.DaemonMemory, workspace: Workspace) -> Iterator[int]:
    """The daemon's process, which must be the same and answer when the test is over."""
    before = pid(workspace)
    yield before
    assert pid(workspace) == before
    assert found(memory, FACTS[0])[0] == FACTS[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(daemon: int, workspace: Workspace) -> None:
    """The directory keeps them out; a link to the socket in an open one does not let them in."""
    (path,) = [path for path in sockets.paths(workspace.root) if path.exists()]
    script = (
        "import os, socket, sys\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "connection = socket.socket(socket.AF_UNIX)\n"
        "connection.connect(sys.argv[1])\n"
        'connection.sendall(b\'{"id":"1","op":"about","params":{}}\\n\')\n'
        "print(connection.recv(100))\n"
    )

    def attempt(target: Path) -> str:
        command = [sys.executable, "-I", "-S", "-c", script, str(target)]
        told = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        return told.stdout + told.stderr

    assert "PermissionError" in attempt(path)
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        link = Path(place) / "link"
        link.hardlink_to(path)
        link.chmod(0o666)
        told = attempt(link)
        assert told == "b''\n" or "ConnectionResetError" in told or "BrokenPipeError" in told


def test_a_gigabyte_without_a_newline_is_refused_unread(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    piece = b"x" * (1 << 20)
    sent = 0
    with dial(workspace) as connection:
        try:
            for _ in range(1024):
                sent += connection.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 16 * len(piece)
    about = memory.status().daemon
    assert about is not None and about.rss_bytes < 400_000_000


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"hello\n",
        b"\x00\xff\xfe\n",
        b"[]\n",
        b"{}\n",
        b'{"id":1}\n',
        b'{"id":"1","op":"recall","params":{"query":{"text":"a"}}}\n',
        b'{"id":"1","op":["yield"],"params":{}}\n',
        b'{"id":"1","op":"__class__","params":{}}\n',
        b"[" * 100_000 + b"\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_garbage_gets_an_error_and_the_connection_lives(
    daemon: int, workspace: Workspace, garbage: bytes
) -> None:
    with dial(workspace) as connection, connection.makefile("rb") as lines:
        connection.sendall(garbage)
        for _ in range(garbage.count(b"\n")):
            assert wire.raised(answer(lines).error).__class__ is DaemonError
        connection.sendall(wire.request("a", "status", {}))
        assert "before a hello" in wire.raised(answer(lines).error).message


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.binary(max_size=50)
        | st.builds(
            lambda op, params: wire.request("1", op, params),
            st.sampled_from(sorted(OPERATIONS.keys() - {"rebuild"} | {"close"})),
            st.dictionaries(
                st.sampled_from(["query", "facts", "target", "passages", "limit"]),
                st.none() | st.integers() | st.text(max_size=3) | st.just({"text": "x", "k": -1}),
                max_size=2,
            ),
        ),
        max_size=4,
    )
)
def test_fuzzed_lines_never_end_the_daemon(
    daemon: int, workspace: Workspace, lines: list[bytes]
) -> None:
    hello = wire.Hello(
        wire.PROTOCOL, assistant.__version__, config.index_digest({}), str(workspace.root)
    )
    with dial(workspace) as connection:
        connection.sendall(wire.request("0", wire.HELLO, wire.Greeting(hello)))
        for line in lines:
            connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        assert ended(connection)


def test_a_client_that_reads_nothing_keeps_nobody_waiting(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    silent = [dial(workspace) for _ in range(20)]
    about = wire.request("a", "status", {})
    for connection in silent:
        connection.setblocking(False)
        try:
            for _ in range(10_000):
                connection.send(about)
        except BlockingIOError:
            pass
    assert found(memory, FACTS[1])[0] == FACTS[1]
    for connection in silent:
        connection.close()


def test_half_a_line_keeps_nobody_waiting(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    halves = [dial(workspace) for _ in range(20)]
    for connection in halves:
        connection.sendall(b'{"id":"1","op":"rec')
    assert found(memory, FACTS[1])[0] == FACTS[1]
    for connection in halves:
        connection.close()


def test_one_client_too_many_takes_the_place_of_the_one_idle_for_longest(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """It is the first of all that is hung up on, and comes again by itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST_CONNECTIONS + 500
    if 0 <= hard < needed:
        pytest.skip("this machine allows fewer open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    many = [dial(workspace) for _ in range(MOST_CONNECTIONS)]
    try:
        assert found(memory, FACTS[1])[0] == FACTS[1]
        assert ended(many[0])
        with many[1].makefile("rb") as lines:
            many[1].sendall(wire.request("1", "status", {}))
            assert answer(lines).id == "1"
        with contextlib.closing(client.connect(workspace, {})) as fresh:
            assert found(fresh, FACTS[2])[0] == FACTS[2]
    finally:
        for connection in many:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_that_vanishes_halfway_does_no_harm(daemon: int, workspace: Workspace) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from assistant.memory.daemon import client\n"
        "from assistant.memory.base import Fact\n"
        "from assistant.workspace.folder import Workspace\n"
        "memory = client.connect(Workspace(Path(sys.argv[1])), {})\n"
        "print('ready', flush=True)\n"
        "for number in range(10_000):\n"
        "    memory.remember([Fact(f'Item {number}')])\n"
    )
    for _ in range(3):
        started = subprocess.Popen(
            [sys.executable, "-c", script, str(workspace.root)],
            stdout=subprocess.PIPE,
            cwd=Path(assistant.__file__).parent.parent,
        )
        with started:
            assert started.stdout is not None
            started.stdout.readline()
            started.kill()


def asking(workspace: Workspace, fact: str) -> socket.socket:
    """A connection on which a fact was given to be remembered, and nobody waits yet."""
    hello = wire.Hello(
        wire.PROTOCOL, assistant.__version__, config.index_digest({}), str(workspace.root)
    )
    connection = dial(workspace)
    with connection.makefile("rb") as lines:
        connection.sendall(wire.request("0", wire.HELLO, wire.Greeting(hello)))
        assert answer(lines).value == b"true"
    connection.sendall(OPERATIONS["remember"].request("1", [Fact(fact)]))
    return connection


def test_what_a_client_gave_up_is_not_done_later(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """It waited for another process's write, and its client lost patience meanwhile."""
    with locking.lock(workspace.ledger_lock):
        with asking(workspace, "The first was given up") as given_up:
            while not given_up.recv(65536).endswith(b'"progress":null}\n'):
                pass  # the daemon is at work on it: it waits for the lock
        asking(workspace, "The second was given up").close()
        waiting = asking(workspace, "The third waits")
    with waiting, waiting.makefile("rb") as lines:
        said = answer(lines)
        while said.progress is not UNSET:
            said = answer(lines)
    assert b"stored" in said.value
    text = (workspace.root / "MEMORY.md").read_text("utf-8")
    assert ("The third waits" in text, "given up" in text) == (True, False)

"""The daemon answers its owner, whatever comes over its socket or happens around it."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assistant
from assistant.errors import DaemonError
from assistant.memory.base import Query
from assistant.memory.daemon import client, owner, sockets, wire
from assistant.memory.daemon.operations import OPERATIONS
from assistant.workspace import Workspace
from tests.memory.memory_contract import FACTS, found, remember


@pytest.fixture
def memory(workspace: Workspace) -> Iterator[client.DaemonMemory]:
    connected = client.connect(workspace, {})
    remember(connected, *FACTS)
    yield connected
    connected.close()
    status = client.daemon_status(workspace)
    if status is not None:
        os.kill(status.pid, signal.SIGKILL)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime directory of a name short enough for a socket's path."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
        yield Path(directory)


@pytest.fixture
def daemon(memory: client.DaemonMemory, workspace: Workspace) -> Iterator[int]:
    """The daemon's process, which must be the same and answer when the test is over."""
    before = client.daemon_status(workspace)
    assert before is not None
    yield before.pid
    after = client.daemon_status(workspace)
    assert after is not None
    assert after.pid == before.pid
    assert found(memory, FACTS[0])[0] == FACTS[0]


def dial(workspace: Workspace) -> socket.socket:
    connection = sockets.connect(workspace.root)
    assert connection is not None
    connection.settimeout(20)
    return connection


def answer(lines: IO[bytes]) -> wire.Answer:
    """The next line of the daemon."""
    return wire.parse(lines.readline(), wire.Answer)


def ended(connection: socket.socket) -> bool:
    """Read on until the daemon hangs up."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    return True


def test_the_socket_is_the_users_alone(memory: client.DaemonMemory, workspace: Workspace) -> None:
    (path,) = [path for path in sockets.paths(workspace.root) if path.exists()]
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(path)) <= sockets.LONGEST_PATH


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


def test_a_directory_that_others_can_write_is_refused(workspace: Workspace, runtime: Path) -> None:
    own = runtime / "assistant"
    own.mkdir(mode=0o700)
    assert sockets.usable_path(workspace.root).parent == own
    own.chmod(0o777)
    assert sockets.usable_path(workspace.root).parent != own
    own.rmdir()
    own.symlink_to(runtime)
    assert sockets.usable_path(workspace.root).parent != own


def test_a_client_finds_the_daemon_that_another_environment_started(
    workspace: Workspace, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One terminal has XDG_RUNTIME_DIR, a cron job has not."""
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    plain = client.connect(workspace, {})
    assert found(plain, FACTS[0]) == []
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    other = client.connect(workspace, {})
    remember(other, FACTS[0])
    assert found(plain, FACTS[0]) == [FACTS[0]]
    daemons = [memory.status().daemon for memory in (plain, other)]
    assert len({daemon.pid for daemon in daemons if daemon}) == 1
    owner.ask_to_yield(workspace)
    plain.close()
    other.close()


def test_a_gigabyte_without_a_newline_is_refused_unread(daemon: int, workspace: Workspace) -> None:
    piece = b"x" * (1 << 20)
    sent = 0
    with dial(workspace) as connection:
        try:
            for _ in range(1024):
                sent += connection.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 16 * len(piece)
    about = client.daemon_status(workspace)
    assert about is not None
    assert about.rss_bytes < 400_000_000


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
        connection.sendall(wire.request("a", wire.ABOUT, {}))
        assert json.loads(answer(lines).value)["pid"] == daemon


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.binary(max_size=50)
        | st.builds(
            lambda op, params: wire.request("1", op, params),
            st.sampled_from(sorted(OPERATIONS.keys() - {"rebuild"} | {"about", "close"})),
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
        wire.PROTOCOL, assistant.__version__, client.config.memory_digest({}), str(workspace.root)
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
    about = wire.request("a", wire.ABOUT, {})
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


def test_a_thousand_connections_keep_nobody_waiting(
    daemon: int, memory: client.DaemonMemory, workspace: Workspace
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 2000:
        pytest.skip("this machine allows fewer open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    many = [dial(workspace) for _ in range(1000)]
    try:
        assert found(memory, FACTS[1])[0] == FACTS[1]
        fresh = client.connect(workspace, {})
        assert found(fresh, FACTS[2])[0] == FACTS[2]
        fresh.close()
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
        "from assistant.workspace import Workspace\n"
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


def test_a_deleted_workspace_ends_its_daemon(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    watching = dial(workspace)
    watching.settimeout(None)
    shutil.rmtree(workspace.root)
    with watching:
        owner.wait_until_gone(watching)
    assert client.daemon_status(workspace) is None


def test_a_workspace_made_again_gets_a_daemon_of_its_own(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    before = client.daemon_status(workspace)
    shutil.rmtree(workspace.root)
    workspace.root.mkdir()
    (workspace.root / "MEMORY.md").write_text("- Something else\n", encoding="utf-8")
    assert found(memory, "anything else") == ["Something else"]
    after = client.daemon_status(workspace)
    assert before and after
    assert before.pid != after.pid


def test_a_save_is_indexed_before_anybody_asks(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    """The watcher's hint does it; what is asked here is the catalog file, not the daemon."""
    with contextlib.closing(sqlite3.connect(workspace.index / "catalog.db")) as catalog:
        path = workspace.root / "MEMORY.md"
        path.write_text(path.read_text("utf-8") + "- Sails on Sundays\n", encoding="utf-8")
        until = time.monotonic() + 20
        wanted = "SELECT count(*) FROM chunks WHERE plain = 'Sails on Sundays'"
        while not catalog.execute(wanted).fetchone()[0]:
            assert time.monotonic() < until


def test_the_log_holds_no_query_and_no_fact(
    memory: client.DaemonMemory, workspace: Workspace
) -> None:
    memory.recall(Query("zanzibar"))
    remember(memory, "The safe is in zanzibar")
    log = sockets.log_path(workspace.root)
    assert "listening as process" in log.read_text("utf-8")
    assert "zanzibar" not in log.read_text("utf-8")
    assert log.parent.stat().st_mode & 0o777 == 0o700


def test_nothing_but_unix_sockets_is_used(workspace: Workspace) -> None:
    """Any other socket, connection or name look-up raises, in the client and in its daemon."""
    guard = workspace.root.parent / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(
        "import socket, pathlib\n"
        "real = socket.socket\n"
        "class Guarded(real):\n"
        "    def __init__(self, family=-1, *rest, **options):\n"
        "        if family != socket.AF_UNIX and options.get('fileno') is None:\n"
        f"            pathlib.Path({str(guard / 'tried')!r}).touch()\n"
        "            raise OSError('sockets are blocked')\n"
        "        super().__init__(family, *rest, **options)\n"
        "def blocked(*arguments, **options):\n"
        f"    pathlib.Path({str(guard / 'tried')!r}).touch()\n"
        "    raise OSError('look-ups are blocked')\n"
        "socket.socket = Guarded\n"
        "socket.getaddrinfo = socket.gethostbyname = blocked\n",
        encoding="utf-8",
    )
    script = (
        "import sys, socket\n"
        "from pathlib import Path\n"
        "from assistant.memory.daemon import client\n"
        "from assistant.memory.base import Fact, Query\n"
        "from assistant.workspace import Workspace\n"
        "assert socket.socket.__name__ == 'Guarded'\n"
        "memory = client.connect(Workspace(Path(sys.argv[1])), {})\n"
        "memory.remember([Fact('Ana breeds sheep')])\n"
        "memory.rebuild()\n"
        "print(memory.recall(Query('sheep')).passages[0].text, memory.status().daemon.pid)\n"
    )
    root = Path(assistant.__file__).parent.parent
    told = subprocess.run(
        [sys.executable, "-c", script, str(workspace.root)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(guard)},
    )
    owner.ask_to_yield(workspace)
    assert told.stdout.startswith("- Ana breeds sheep"), told.stderr
    assert not (guard / "tried").exists()


def test_a_daemon_does_not_end_while_it_is_asked(workspace: Workspace) -> None:
    """Longer than its idle time, by many requests that each come in time."""
    memory = client.connect(workspace, {"daemon": {"idle_seconds": 1.0}})
    first = client.daemon_status(workspace)
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        memory.recall(Query("anything"))
    assert client.daemon_status(workspace) and first
    now = client.daemon_status(workspace)
    assert now is not None
    assert now.pid == first.pid
    memory.close()
    owner.ask_to_yield(workspace)

"""A daemon is started once, and what keeps it from that is told."""

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import assistant
from assistant import config
from assistant.disk import storage
from assistant.errors import ConfigError, DaemonError
from assistant.memory.daemon import client, lifecycle, sockets, wire
from assistant.workspace.folder import Workspace
from tests.memory.daemon.daemons import pid, running


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


def test_what_keeps_a_daemon_from_starting_reaches_the_client(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match=r"daemon\.idle") as caught:
        client.connect(workspace, {"daemon": {"idle": "3"}})
    assert "daemon.idle_seconds" in caught.value.cure
    assert running(workspace) is None


def test_a_daemon_that_hangs_while_it_starts_is_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = workspace.root.parent / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(
        "import faulthandler, os, time\n"
        "faulthandler.enable = lambda: (time.sleep(15), os._exit(1))\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(guard))
    monkeypatch.setattr(lifecycle, "START_SECONDS", 0.5)
    begun = time.monotonic()
    with pytest.raises(DaemonError, match="could not start"):
        client.connect(workspace, {})
    assert time.monotonic() - begun < 14


def test_a_daemon_stays_though_whoever_started_it_has_gone(workspace: Workspace) -> None:
    storage.private_directory(sockets.log_path(workspace.root).parent)
    root = str(workspace.root)
    hello = wire.Hello(wire.PROTOCOL, assistant.__version__, config.index_digest({}), root)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "assistant.memory.daemon", str(writing)]
    line = wire.line(wire.Greeting(hello))
    subprocess.run(command, input=line, pass_fds=[writing], start_new_session=True, check=True)
    os.close(writing)
    deadline = time.monotonic() + 60
    while (process := running(workspace)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert _pid_of_started(workspace) == process


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
        "from assistant.workspace.folder import Workspace\n"
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
    lifecycle.ask_to_yield(workspace)
    assert told.stdout.startswith("- Ana breeds sheep"), told.stderr
    assert not (guard / "tried").exists()


@pytest.mark.parametrize("in_place_of", ["the log", "its folder"])
def test_a_daemon_that_cannot_log_starts(workspace: Workspace, in_place_of: str) -> None:
    log = sockets.log_path(workspace.root)
    if in_place_of == "the log":
        log.mkdir(parents=True)
    else:
        log.parent.parent.mkdir(parents=True)
        log.parent.write_text("")
    assert _pid_of_started(workspace) == running(workspace)

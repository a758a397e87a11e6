"""What a command starts ends with it, and with whoever started it, however that ends."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.tools.sandbox.process import available
from assistant.workspace.folder import Workspace
from tests.tools.conftest import ends, happens, reached, running

WAYS = [*(["inside"] if available() else []), "outside"]
ROOT = Path(__file__).resolve().parents[3]
HOST = Path(__file__).with_name("host.py")
HIDES = "(setsid sleep {n} & disown) & (trap '' TERM HUP INT; sleep {n}; sleep {n}) & "
"""Leaves its session, is orphaned, and takes no signal that can be refused."""
COMMAND = HIDES + "touch started; sleep {n}"

Kill = Callable[["subprocess.Popen[bytes]"], None]
KILLS: dict[str, Kill] = {
    "terminated": lambda host: host.send_signal(signal.SIGTERM),
    "hung up": lambda host: host.send_signal(signal.SIGHUP),
    "killed": lambda host: host.kill(),
    "interrupted": lambda host: host.send_signal(signal.SIGINT),
}


@pytest.fixture
def number() -> str:
    """Seconds to sleep that no other test's commands sleep."""
    return f"9{os.getpid()}.{os.urandom(3).hex().translate(str.maketrans('abcdef', '123456'))}"


def names(workspace: Workspace) -> list[str]:
    return sorted(path.name for path in workspace.root.iterdir())


def host(workspace: Workspace, way: str, command: str, *more: str) -> list[str]:
    return [sys.executable, str(HOST), str(workspace.root), way, command, *more]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("end", "background"),
    [
        *(pytest.param(end, False, id=f"{end}-waited for") for end in KILLS),
        *(
            pytest.param(
                end,
                True,
                id=f"{end}-in the background",
                marks=[] if end == "killed" else [pytest.mark.slow],
            )
            for end in KILLS
        ),
    ],
)
def test_it_ends_with_the_assistant(
    workspace: Workspace, number: str, way: str, end: str, background: bool
) -> None:
    arguments = host(workspace, way, COMMAND.format(n=number), *(["yes"] if background else []))
    process = subprocess.Popen(arguments, env=environment(), stdout=subprocess.DEVNULL)
    assert reached(workspace.root / "started")
    assert running(number)
    KILLS[end](process)
    process.wait(90)
    assert ends(number)
    assert happens(lambda: names(workspace) == ["MEMORY.md", "started"])


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_the_terminal(workspace: Workspace, number: str, way: str) -> None:
    command = COMMAND.format(n=number)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, host(workspace, way, command), environment())
    assert reached(workspace.root / "started")
    os.close(terminal)
    os.waitpid(pid, 0)
    assert ends(number)


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_its_supervisor(workspace: Workspace, number: str, way: str) -> None:
    arguments = host(workspace, way, f"touch started; sleep {number}")
    process = subprocess.Popen(arguments, env=environment(), stdout=subprocess.PIPE)
    assert reached(workspace.root / "started")
    (supervisor,) = children(process.pid)
    os.kill(supervisor, signal.SIGKILL)
    said, _ = process.communicate(timeout=600)
    assert b"[ended: killed]" in said
    assert way == "outside" or ends(number)


@pytest.mark.parametrize("way", WAYS)
def test_what_it_leaves_behind_ends_with_it(workspace: Workspace, number: str, way: str) -> None:
    arguments = host(workspace, way, HIDES.format(n=number) + "echo done")
    done = subprocess.run(
        arguments, env=environment(), stdout=subprocess.PIPE, timeout=600, check=True
    )
    assert done.stdout == b"done\n"
    assert ends(number)


def children(parent: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True)
    return [int(pid) for pid in found.stdout.split()]

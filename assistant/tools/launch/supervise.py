"""Runs one command, watches over it, and ends with it or with whoever started this process.

The plan is one line of JSON on standard input; after that, standard input stays open as long as
the command is wanted. When it closes, because the assistant said so or is no more, everything that
the command started is ended, also what has left its session: orphans fall to this process. The
command's output goes to standard output; how it ended goes to standard error, as JSON.
"""

import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from assistant.tools.launch import namespaces
from assistant.tools.launch.processes import below


class Placeholders:
    """The stand-ins of one command. `record` is the lock, and lists those that were made."""

    def __init__(self, record: str, guards: list[tuple[str, str]]) -> None:
        self._record = os.open(record, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._guards = guards

    def hold(self) -> None:
        """Put something empty, `file` or `directory`, wherever a guarded path is missing."""
        fcntl.flock(self._record, fcntl.LOCK_SH)
        for path, kind in self._guards:
            if Path(path).parent.is_dir() and not os.path.lexists(path):
                os.write(self._record, os.fsencode(path) + b"\0")
                with suppress(OSError):  # where we may not create, no command may
                    Path(path).mkdir() if kind == "directory" else Path(path).touch(exist_ok=False)

    def release(self) -> None:
        """Take the stand-ins away, if no other command needs them."""
        try:
            fcntl.flock(self._record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for path in reversed(os.pread(self._record, 1 << 20, 0).split(b"\0")):
            if path:
                _take_away(Path(os.fsdecode(path)))
        os.ftruncate(self._record, 0)


def _take_away(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            path.rmdir()
        elif path.stat().st_size == 0:
            path.unlink()


NOT_CONFINED = 125
GRACE = 1.0
"""Seconds between asking a command to end and killing it."""
LOOK = 0.5
"""Seconds between two looks at what a command uses, unless looking itself takes long."""
SHARE = 50
"""A look may take one part in so many of the time."""


def main() -> NoReturn:
    """Serve the plan on standard input."""
    plan = json.loads(_line())
    os.set_inheritable(0, False)
    if namespaces.LINUX:
        namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
    with _placeholders(plan), _signals() as woken:
        child = os.fork()
        if child == 0:
            _become(plan)
        _silence(1)
        ending = _Watch(plan, child, woken).to_end()
    os.write(2, json.dumps(ending).encode())
    os._exit(0)


def _line() -> bytes:
    """The first line of standard input, and no byte more."""
    line = bytearray()
    while not line.endswith(b"\n"):
        data = os.read(0, 65536)
        if not data:
            os._exit(0)
        line += data
    return bytes(line)


@contextmanager
def _placeholders(plan: dict[str, Any]) -> Iterator[None]:
    if not plan["record"]:
        yield
        return
    held = Placeholders(plan["record"], plan["guards"])
    held.hold()
    try:
        yield
    finally:
        held.release()


@contextmanager
def _signals() -> Iterator[int]:
    """A descriptor that can be read once a child has ended, or this process is told to."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, lambda *_: None)
    yield woken


def _become(plan: dict[str, Any]) -> NoReturn:
    """Turn this process, a fresh child, into the command."""
    watcher = os.getppid()
    signal.set_wakeup_fd(-1)
    try:
        os.setsid()
        if namespaces.LINUX:
            namespaces.check(namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL))
            if os.getppid() != watcher:
                os._exit(NOT_CONFINED)
        _silence(0)
        os.dup2(1, 2)
        os.closerange(3, 64)
        namespaces.limit_resources(plan["memory"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if plan["view"]:
            namespaces.run(plan)
    except OSError as error:
        os.write(2, f"cannot confine: {error}\n".encode())
        os._exit(NOT_CONFINED)
    namespaces.execute(plan)


def _silence(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


class _Watch:
    """Waits for the end of a command and of all it started, or brings it about."""

    def __init__(self, plan: dict[str, Any], child: int, woken: int) -> None:
        self._plan = plan
        self._child = child
        self._woken = woken
        self._code: int | None = None
        self._lifeline = [0]

    def to_end(self) -> dict[str, Any]:
        """Wait; the command's exit code, and why it was ended if it was."""
        seconds = self._plan["seconds"]
        deadline = time.monotonic() + seconds if seconds else float("inf")
        looked, pause = time.monotonic(), LOOK
        ended = ""
        while self._code is None and not ended:
            now = time.monotonic()
            ended = self._wait(max(0.0, min(deadline, looked + pause) - now))
            if time.monotonic() >= deadline:
                ended = ended or "time"
            elif time.monotonic() >= looked + pause:
                began = time.monotonic()
                ended = ended or self._beyond_limits()
                looked = time.monotonic()
                pause = max(LOOK, SHARE * (looked - began))
        if self._code is None:
            self._ask_to_end()
        self._kill()
        return {"code": self._code, "ended": ended}

    def _wait(self, seconds: float) -> str:
        """Wait for a child's end, a signal or the lifeline's; why to end, if that is to be."""
        ready, _, _ = select.select([self._woken, *self._lifeline], [], [], seconds)
        if 0 in ready and not os.read(0, 4096):
            self._lifeline.clear()
            return "stopped"
        if self._woken in ready:
            told = set(os.read(self._woken, 4096)) - {signal.SIGCHLD}
            self._reap()
            return "stopped" if told and self._code is None else ""
        return ""

    def _beyond_limits(self) -> str:
        used = below(os.getpid())
        if len(used) > self._plan["processes"]:
            return "processes"
        return "memory" if sum(used.values()) > self._plan["memory"] else ""

    def _ask_to_end(self) -> None:
        _signal(self._child, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while self._code is None and (left := deadline - time.monotonic()) > 0:
            self._sleep(left)
            self._reap()

    def _kill(self) -> None:
        """Kill whatever is left, orphans too, until nothing is."""
        _signal(self._child, signal.SIGKILL)
        while self._reap():
            for pid in below(os.getpid()) or (self._child,):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self._sleep(0.01)

    def _sleep(self, seconds: float) -> None:
        """Until something happened, or for so long."""
        if select.select([self._woken], [], [], seconds)[0]:
            os.read(self._woken, 4096)

    def _reap(self) -> bool:
        """Take note of children that have ended; whether there are any left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._code = namespaces.exit_code(status)


def _signal(group: int, sign: int) -> None:
    try:
        os.killpg(group, sign)
    except (ProcessLookupError, PermissionError):  # gone, or not yet a group of its own
        return

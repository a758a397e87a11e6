"""A process that runs one command or server, and ends with it or with whoever started this process.

When standard input closes, because the assistant said so or is no more, everything that was started
is ended, also what has left its session: orphans fall to this process.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from assistant.tools.launch import namespaces

NOT_CONFINED = 125
GRACE = 1.0
"""Seconds between asking a command to end and killing it."""
LOOK = 0.5
"""Seconds between two looks at what a command uses, unless looking itself takes long."""
SHARE = 50
"""A look may take one part in so many of the time."""


def run_command() -> NoReturn:
    """Run the command of a plan: one line of JSON on standard input, which then stays open as long
    as the command is wanted.

    Its output goes to standard output; how it ended goes to standard error, as JSON.
    """
    plan = json.loads(_line())
    os.set_inheritable(0, False)
    _adopt_orphans()
    with _placeholders(plan["record"], plan["guards"]):
        woken = _signals()
        child = os.fork()
        if child == 0:
            _become(plan)
        _silence(1)
        ending = _Watch(plan, child, woken).to_end()
    os.write(2, json.dumps(ending).encode())
    os._exit(0)


def _adopt_orphans() -> None:
    if namespaces.LINUX:
        namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)


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
def _placeholders(record: str, guards: list[tuple[str, str]]) -> Iterator[None]:
    """Something empty, `file` or `directory`, wherever a guarded path is missing.

    The file `record` is the lock of all commands that share them, and lists those that were made;
    the last command takes them away.
    """
    if not record:
        yield
        return
    made = os.open(record, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(made, fcntl.LOCK_SH)
    for path, kind in guards:
        if Path(path).parent.is_dir() and not os.path.lexists(path):
            os.write(made, os.fsencode(path) + b"\0")
            with suppress(OSError):  # where we may not create, no command may
                Path(path).mkdir() if kind == "directory" else Path(path).touch(exist_ok=False)
    try:
        yield
    finally:
        with suppress(BlockingIOError):  # another command needs them
            fcntl.flock(made, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in filter(None, reversed(os.pread(made, 1 << 20, 0).split(b"\0"))):
                _take_away(Path(os.fsdecode(name)))
            os.ftruncate(made, 0)


def _take_away(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            path.rmdir()
        elif path.stat().st_size == 0:
            path.unlink()


def _signals() -> int:
    """A descriptor that can be read once a child has ended, or this process is told to."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, lambda *_: None)
    return woken


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
            _signal_all(self._child, signal.SIGKILL)
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
    with suppress(ProcessLookupError, PermissionError):  # gone, or not yet a group of its own
        os.killpg(group, sign)


def _signal_all(child: int, sign: int) -> None:
    """Signal all that this process has started; `child` alone where /proc does not tell."""
    for pid in below(os.getpid()) or (child,):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, sign)


PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


def below(ancestor: int) -> dict[int, int]:
    """Each process under `ancestor`, and the bytes of memory that are its own."""
    children: dict[int, list[int]] = {}
    for path in PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            parent = (path / "stat").read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(path.name))
    found: dict[int, int] = {}
    waiting = [ancestor]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found[child] = 0
            waiting.append(child)
            with suppress(OSError):
                _, resident, shared, *_ = (PROC / str(child) / "statm").read_bytes().split()
                found[child] = (int(resident) - int(shared)) * PAGE
    return found


LINE = 8_000_000
"""Bytes of one line that a server may say."""
FLOOD = 64_000_000
"""Bytes that it may say without having been told anything."""
COMPLAINTS = 20_000
"""Bytes of standard error that are passed on."""
STOPPING = 0.5
"""Seconds between closing its input, asking it to end, and killing it."""
PIECE = 65_536


def run_server() -> NoReturn:
    """Run the server whose command is in the arguments, and pass on what it says and is told.

    No line and no flood of it can so fill the assistant's memory.
    """
    _adopt_orphans()
    try:
        server = _Server(sys.argv[1:])
    except OSError as error:
        os.write(2, f"{sys.argv[1]}: {error.strerror}".encode())
        os._exit(127)
    server.serve()


class _Server:
    """A server and the three streams between it and the assistant."""

    def __init__(self, command: list[str]) -> None:
        self._unasked = 0
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output = self._process.stdin, self._process.stdout.fileno()
        self._errors = self._process.stderr.fileno()

    def serve(self) -> NoReturn:
        """Pass on what is said until one side is through."""
        for work in (self._hear, self._complain):
            threading.Thread(target=work, daemon=True).start()
        line = 0
        while data := os.read(self._output, PIECE):
            start, end = data.find(b"\n"), data.rfind(b"\n")
            longest = line + (len(data) if start < 0 else start)
            line = longest if end < 0 else len(data) - end - 1
            self._unasked += len(data)
            if longest > LINE or self._unasked > FLOOD:
                self._end(f"\nended: it said more than {(LINE, FLOOD)[longest <= LINE]:,} bytes")
            _write(1, data)
        self._end()

    def _hear(self) -> None:
        """Tell the server what it is told; the end of that is its end."""
        with suppress(OSError):  # the server may have closed its input
            while data := os.read(0, PIECE):
                self._unasked = 0
                _write(self._input.fileno(), data)
        self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOPPING)
        self._end()

    def _complain(self) -> None:
        left = COMPLAINTS
        while data := os.read(self._errors, PIECE):
            _write(2, data[:left])
            left = max(0, left - len(data))

    def _end(self, why: str = "") -> NoReturn:
        """End the server and all that it has started, and this process."""
        os.write(2, why.encode())
        for sign in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):  # what was started meanwhile
            _signal_all(self._process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOPPING)
        os._exit(self._process.returncode or 0)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]

"""A process that runs one command or server, and never outlives it or its own parent.

When standard input closes, because the assistant closed it or died, all started processes are
ended, even those that have left its session: this process is the subreaper of orphans.
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
"""Seconds between terminating a command and killing it."""
LOOK = 0.5
"""Minimum seconds between checks of a command's resource use."""
SHARE = 50
"""A check may take at most 1/SHARE of the time."""


def run_command() -> NoReturn:
    """Run the command of a plan, which is one line of JSON on standard input.

    Standard input then stays open as long as the command should run. The command's output goes to
    standard output; how it ended goes to standard error, as JSON.
    """
    plan = json.loads(_read_line())
    os.set_inheritable(0, False)
    _adopt_orphans()
    existing = _matching(plan["renamed"])
    with _placeholders(plan["record"], plan["guards"]):
        wakeup = _signals()
        child = os.fork()
        if child == 0:
            _exec_child(plan)
        _redirect_to_null(1)
        ending = _Watch(plan, child, wakeup).to_end()
        ending["renamed"] = list(map(_rename, sorted(_matching(plan["renamed"]) - existing)))
    os.write(2, json.dumps(ending).encode())
    os._exit(0)


def _adopt_orphans() -> None:
    if namespaces.LINUX:
        namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)


def _read_line() -> bytes:
    """Return the first line of standard input, reading no further."""
    line = bytearray()
    while not line.endswith(b"\n"):
        data = os.read(0, 65536)
        if not data:
            os._exit(0)
        line += data
    return bytes(line)


@contextmanager
def _placeholders(record: str, guards: list[tuple[str, str]]) -> Iterator[None]:
    """Put an empty `file` or `directory` at each guarded path that is missing.

    The file `record` is the lock of all commands that share the placeholders, and lists those
    created; the last command removes them.
    """
    if not record:
        yield
        return
    descriptor = os.open(record, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    for path, kind in guards:
        if Path(path).parent.is_dir() and not os.path.lexists(path):
            os.write(descriptor, os.fsencode(path) + b"\0")
            with suppress(OSError):  # where this process may not create, no command may
                Path(path).mkdir() if kind == "directory" else Path(path).touch(exist_ok=False)
    try:
        yield
    finally:
        with suppress(BlockingIOError):  # another command needs them
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in filter(None, reversed(os.pread(descriptor, 1 << 20, 0).split(b"\0"))):
                _remove_empty(Path(os.fsdecode(name)))
            os.ftruncate(descriptor, 0)


def _matching(patterns: list[tuple[str, str]]) -> set[Path]:
    """Return the entries directly in these folders that have their suffix."""
    matching = set()
    for folder, suffix in patterns:
        with suppress(OSError):
            entries = Path(folder).iterdir()
            matching |= {path for path in entries if path.name.casefold().endswith(suffix)}
    return matching


def _rename(path: Path) -> str:
    """Add a suffix that nothing executes to a path; return its old and new names."""
    renamed = path.with_name(f"{path.name}_")
    while os.path.lexists(renamed):
        renamed = renamed.with_name(f"{renamed.name}_")
    try:
        path.rename(renamed)
    except OSError as error:
        return f"{path.name} remains: {error.strerror}"
    return f"{path.name} is now {renamed.name}"


def _remove_empty(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            path.rmdir()
        elif path.stat().st_size == 0:
            path.unlink()


def _signals() -> int:
    """Return a descriptor that becomes readable when a child ends or this process gets a signal."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return read_end


def _exec_child(plan: dict[str, Any]) -> NoReturn:
    """Turn this process, a fresh child, into the command."""
    watcher = os.getppid()
    signal.set_wakeup_fd(-1)
    try:
        os.setsid()
        if namespaces.LINUX:
            namespaces.check(namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL))
            if os.getppid() != watcher:
                os._exit(NOT_CONFINED)
        _redirect_to_null(0)
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


def _redirect_to_null(descriptor: int) -> None:
    null_device = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_device, descriptor)
    os.close(null_device)


class _Watch:
    """Waits for the end of a command and its descendants, or ends them."""

    def __init__(self, plan: dict[str, Any], child: int, wakeup: int) -> None:
        self._plan = plan
        self._child = child
        self._wakeup = wakeup
        self._code: int | None = None
        self._lifeline = [0]

    def to_end(self) -> dict[str, Any]:
        """Wait; return the command's exit code, and the reason if it was ended."""
        seconds = self._plan["seconds"]
        deadline = time.monotonic() + seconds if seconds else float("inf")
        checked_at, pause = time.monotonic(), LOOK
        ended = ""
        while self._code is None and not ended:
            now = time.monotonic()
            ended = self._wait(max(0.0, min(deadline, checked_at + pause) - now))
            if time.monotonic() >= deadline:
                ended = ended or "time"
            elif time.monotonic() >= checked_at + pause:
                started_at = time.monotonic()
                ended = ended or self._exceeded_limit()
                checked_at = time.monotonic()
                pause = max(LOOK, SHARE * (checked_at - started_at))
        if self._code is None:
            self._terminate()
        self._kill()
        return {"code": self._code, "ended": ended}

    def _wait(self, seconds: float) -> str:
        """Wait for a child's end, a signal or the lifeline; return the reason to end the command,
        if any."""
        ready, _, _ = select.select([self._wakeup, *self._lifeline], [], [], seconds)
        if 0 in ready and not os.read(0, 4096):
            self._lifeline.clear()
            return "stopped"
        if self._wakeup in ready:
            signals = set(os.read(self._wakeup, 4096)) - {signal.SIGCHLD}
            self._reap()
            return "stopped" if signals and self._code is None else ""
        return ""

    def _exceeded_limit(self) -> str:
        used = below(os.getpid())
        if len(used) > self._plan["processes"]:
            return "processes"
        return "memory" if sum(used.values()) > self._plan["memory"] else ""

    def _terminate(self) -> None:
        _signal(self._child, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while self._code is None and (remaining := deadline - time.monotonic()) > 0:
            self._wait(remaining)

    def _kill(self) -> None:
        """Kill all remaining processes, including orphans."""
        _signal(self._child, signal.SIGKILL)
        while self._reap():
            _signal_all(self._child, signal.SIGKILL)
            self._wait(0.01)

    def _reap(self) -> bool:
        """Reap children that have ended; return whether any are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._code = namespaces.exit_code(status)


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # ended, or not yet a process group
        os.killpg(group, number)


def _signal_all(child: int, number: int) -> None:
    """Signal every descendant of this process; only `child` if /proc is missing."""
    for pid in below(os.getpid()) or (child,):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


def below(ancestor: int) -> dict[int, int]:
    """Return each process under `ancestor`, with its private memory in bytes."""
    children: dict[int, list[int]] = {}
    for path in PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            parent = (path / "stat").read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(path.name))
    memory_by_pid: dict[int, int] = {}
    pending = [ancestor]
    while pending:
        for child in children.get(pending.pop(), ()):
            memory_by_pid[child] = 0
            pending.append(child)
            with suppress(OSError):
                _, resident, shared, *_ = (PROC / str(child) / "statm").read_bytes().split()
                memory_by_pid[child] = (int(resident) - int(shared)) * PAGE
    return memory_by_pid


FLOOD = 8_000_000
"""Maximum bytes that a server may send between two messages to it."""
COMPLAINTS = 20_000
"""Maximum bytes of standard error that are passed on."""
STOPPING = 0.5
"""Seconds between closing a server's input, terminating it, and killing it."""
PIECE = 65_536


def run_server() -> NoReturn:
    """Run the server whose command is in the arguments, and relay its input and output.

    A limit on its output keeps it from filling the assistant's memory.
    """
    _adopt_orphans()
    try:
        server = _Server(sys.argv[1:])
    except OSError as error:
        os.write(2, f"{sys.argv[1]}: {error.strerror}".encode())
        os._exit(127)
    server.serve()


class _Server:
    """A server and its three streams to and from the assistant."""

    def __init__(self, command: list[str]) -> None:
        self._unsolicited = 0
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
        """Relay the output until one side is done."""
        for work in (self._forward_input, self._forward_errors):
            threading.Thread(target=work, daemon=True).start()
        while data := os.read(self._output, PIECE):
            self._unsolicited += len(data)
            if self._unsolicited > FLOOD:
                self._end(f"\nended: it printed more than {FLOOD:,} bytes")
            _write(1, data)
        self._end()

    def _forward_input(self) -> None:
        """Relay input to the server; end the server when the input ends."""
        with suppress(OSError):  # the server may have closed its input
            while data := os.read(0, PIECE):
                self._unsolicited = 0
                _write(self._input.fileno(), data)
        self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOPPING)
        self._end()

    def _forward_errors(self) -> None:
        remaining = COMPLAINTS
        while data := os.read(self._errors, PIECE):
            _write(2, data[:remaining])
            remaining = max(0, remaining - len(data))

    def _end(self, reason: str = "") -> NoReturn:
        """End the server and its descendants, then this process."""
        os.write(2, reason.encode())
        # Killed twice, to catch processes started meanwhile.
        for sign in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
            _signal_all(self._process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOPPING)
        os._exit(self._process.returncode or 0)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]

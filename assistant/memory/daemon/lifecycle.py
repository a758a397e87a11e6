"""Own a workspace's index; start and end its daemon.

Exactly one process owns an index: a daemon, or a command with `--no-daemon`. Ownership is a kernel
lock on `.assistant/owner.lock`, which is released when its holder exits.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import assistant
from assistant import config
from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.errors import DaemonError, StorageError
from assistant.memory.base import Notify, Progress, no_notices, no_progress
from assistant.memory.daemon import sockets, wire
from assistant.workspace import machine
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.local import LocalMemory
    from assistant.settings.tree import Settings

CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved or its socket removed."""
RETRY_SECONDS = 0.5
"""The time between two attempts at the lock."""
START_SECONDS = 60.0
"""How long a daemon may take to listen, or to report why not; it loads nothing heavy before."""
YIELD_SECONDS = 60.0
"""How long a daemon may take to finish its requests before it yields."""
END_SECONDS = 5.0
"""How long a process may take to exit after a signal."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""glibc gives each thread an arena, which keeps 20 MB after indexing a thousand facts. Threads that
share Python's lock need only one."""
TRIM_SECONDS = 3.0
"""How long after the last answer freed memory is returned to the system."""
WORKED_SECONDS = 0.1
"""Processor time since the last trim that makes another one worthwhile."""
IDLE_SECONDS = 0.05
"""A process that uses less processor time between two checks is idle."""
CODE_SECONDS = 1.0
"""The minimum time between two checks of the program's own files: one takes half a millisecond."""

# Owning the index


def lock_path(workspace: Workspace) -> Path:
    """Return the file whose lock grants the index; if the workspace is not writable, it is in the
    user's own folder."""
    try:
        storage.private_directory(workspace.private)
        return storage.private_directory(workspace.locks) / "owner.lock"
    except StorageError:
        lock = machine.own(config.state_dir(), "locks", workspace.root).with_suffix(".lock")
        storage.private_directory(lock.parent)
        return lock


def claim(
    workspace: Workspace,
    seconds: float = CLAIM_SECONDS,
    progress: Progress = no_progress,
    is_needless: Callable[[], bool] = lambda: False,
) -> Lock | None:
    """Become the owner of a workspace's index; None once `is_needless`, which is called between
    attempts.

    Raises DaemonError if another process owns it after `seconds`; StorageError.
    """
    path, deadline = lock_path(workspace), time.monotonic() + seconds
    while (lock := _try_lock(path, min(RETRY_SECONDS, seconds))) is None and not is_needless():
        process = locking.holder(path)
        if time.monotonic() >= deadline:
            raise DaemonError(
                f"process {process} is using the memory of {workspace.root}",
                "End the `assistant --no-daemon` that runs there, or `assistant daemon stop`",
            )
        progress(f"Waiting for process {process}, which is using this memory", 0, 0)
    return lock


def _try_lock(path: Path, seconds: float) -> Lock | None:
    try:
        return locking.lock(path, seconds)
    except locking.LockHeld:
        return None


def open_owned(
    workspace: Workspace,
    settings: "Settings",
    progress: Progress = no_progress,
    notify: Notify = no_notices,
    on_close: Callable[[], None] | None = None,
    *,
    resident: bool = False,
) -> "LocalMemory":
    """Open memory in this process, which must own the index already; reads no memory files yet.

    `resident`: this process stays. Raises EmbedderError, StorageError.
    """
    from assistant.memory.embedding import compile
    from assistant.secrets.registered import CurrentRedactor

    with ThreadPoolExecutor(1) as loader:
        loading = loader.submit(compile.load, settings.embedding, progress)
        from assistant.memory.local import LocalMemory  # 0.2 s, while the model loads

        embedder = loading.result()
    return LocalMemory(
        workspace,
        settings,
        embedder,
        progress,
        notify,
        on_close,
        redactor=CurrentRedactor(),
        resident=resident,
    )


# Starting


def start(greeting: wire.Greeting, progress: Progress = no_progress) -> None:
    """Start a daemon, detached, for a client with this greeting; return when it or another one
    listens.

    Raises what kept it from starting: ConfigError, StorageError, DaemonError.
    """
    log = sockets.log_path(Path(greeting.hello.workspace))
    order = wire.line(greeting)
    ready, writing = socket.socketpair()
    ready.settimeout(START_SECONDS)
    with ready, ready.makefile("rb") as lines, _opened(log) as output:
        with writing:
            _spawn(writing.fileno(), order, output.fileno())
        with contextlib.suppress(TimeoutError):
            for answer in (wire.parse(line, wire.Answer) for line in lines):
                if answer.error:
                    raise wire.raised(answer.error)
                if not answer.progress:
                    return
                progress(*answer.progress)
    raise DaemonError("the memory daemon could not start", f"Its log is {log}")


def _opened(log: Path) -> BinaryIO:
    """Open a log to append to it; the null device if that is not possible, as on a read-only
    disk."""
    try:
        return storage.private_directory(log.parent).joinpath(log.name).open("ab")
    except (OSError, StorageError):
        return Path(os.devnull).open("ab")


def _spawn(ready: int, order: bytes, output: int) -> None:
    """Run the daemon's module, which outlives this process."""
    # Its directory is the package's, so the same code runs wherever the client was started.
    home = Path(assistant.__file__).parent.parent
    command = [sys.executable, "-m", "assistant.memory.daemon", str(ready)]
    subprocess.run(
        command,
        input=order,
        stdout=output,
        stderr=output,
        env=ONE_ARENA | os.environ,
        cwd=home,
        pass_fds=(ready,),
        start_new_session=True,
        check=False,
    )


# Ending


def ask_to_yield(workspace: Workspace) -> bool:
    """Make the workspace's daemon finish its requests and exit; False if none runs.

    Raises DaemonError if it does not exit, or does not answer.
    """
    connection = sockets.connect(workspace.root)
    if connection is None:
        return False
    with connection:
        try:
            connection.sendall(wire.request("yield", wire.YIELD, {}))
            wait_until_gone(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was already exiting
        except TimeoutError as error:
            raise sockets.silent(connection) from error
    return True


def wait_until_gone(connection: socket.socket) -> None:
    """Wait until the daemon has released the index. Raises DaemonError if it does not."""
    deadline = time.monotonic() + YIELD_SECONDS
    connection.settimeout(sockets.SILENCE_SECONDS)
    try:
        while time.monotonic() < deadline:
            if not connection.recv(65536):
                return
    except ConnectionResetError:
        return
    except TimeoutError as error:
        raise sockets.silent(connection) from error
    process = sockets.peer(connection).process
    raise DaemonError(
        f"the memory daemon, process {process}, is busy and did not yield within "
        f"{YIELD_SECONDS:.0f} s",
        "Try again when it has finished, or end it with `assistant daemon stop`",
    )


def stop(workspace: Workspace, notify: Notify) -> bool:
    """End the workspace's daemon: by a request, then by signals. False if none runs.

    Raises DaemonError if the owner of the index is not a daemon, or does not end.
    """
    process = _process(workspace)
    if process is None:
        return False
    try:
        if ask_to_yield(workspace):
            return True
    except DaemonError as error:
        notify(error.message)
    for number in (signal.SIGTERM, signal.SIGKILL):
        notify(f"Ending process {process} ({number.name})")
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return True
        if _is_free(workspace):
            return True
    raise DaemonError(f"process {process} does not end", "Restart the machine")


def _process(workspace: Workspace) -> int | None:
    """Return the daemon's process id; None if no daemon runs. Raises DaemonError for another
    owner."""
    connection = sockets.connect(workspace.root)
    if connection is not None:
        with connection:
            return sockets.peer(connection).process
    if _is_free(workspace, 0):
        return None
    process = locking.holder(lock_path(workspace))
    if process is None or not _is_daemon(process):
        raise DaemonError(
            f"process {process or '?'} is using the memory of {workspace.root} and is not a daemon",
            "End the `assistant --no-daemon` that runs there",
        )
    return process


def _is_free(workspace: Workspace, seconds: float = END_SECONDS) -> bool:
    """Return whether nobody owns the index, or its owner releases it in time."""
    lock = _try_lock(lock_path(workspace), seconds)
    if lock is not None:
        lock.release()
    return lock is not None


def _is_daemon(process: int) -> bool:
    """Return whether a process runs the daemon's module: its id may have been reused."""
    listed = Path(f"/proc/{process}/cmdline")
    try:
        command = listed.read_bytes().replace(b"\0", b" ")
    except OSError:
        command = subprocess.run(
            ["/bin/ps", "-o", "command=", "-p", str(process)], capture_output=True, check=False
        ).stdout
    return b"-m assistant.memory.daemon " in command


# While it runs


class Code:
    """The program's own files, as imported by this process.

    A checkout or an in-place upgrade changes them, perhaps without changing the version number.
    """

    def __init__(self) -> None:
        self._stats: dict[str, tuple[int, ...] | None] = {}
        """Inode, size and mtime of each file; a backup may change its ctime."""
        self._checked = 0.0
        self.check()

    def check(self) -> bool:
        """Note newly imported modules; return whether any imported file has changed on disk."""
        self._checked = time.monotonic()
        modules = list(sys.modules.items())  # another thread may import meanwhile
        files = {module.__file__ for name, module in modules if name.startswith("assistant.")}
        now: dict[str, tuple[int, ...] | None] = {
            file: (stat := storage.stat_or_none(file)) and stat[:3] for file in files if file
        }
        has_changed = any(now.get(file) != then for file, then in self._stats.items())
        self._stats = now | self._stats
        return has_changed

    def changed(self) -> bool:
        """Call `check`, at most once in `CODE_SECONDS`."""
        return time.monotonic() - self._checked >= CODE_SECONDS and self.check()


class MemoryTrim:
    """Returns freed memory to the system, once after work."""

    def __init__(self) -> None:
        self._time = self._time_at_trim = time.process_time()

    def is_due(self, idle: float) -> bool:
        """Return whether there was work since the last trim, but none now. Called at intervals; the
        last request was `idle` seconds ago."""
        before, self._time = self._time, time.process_time()
        has_worked = self._time - self._time_at_trim > WORKED_SECONDS
        return has_worked and idle > TRIM_SECONDS and self._time - before < IDLE_SECONDS

    def run(self) -> None:
        """Return freed memory, which glibc would keep.

        The remaining objects are frozen, so the garbage collector does not scan them repeatedly.
        """
        gc.collect()
        gc.freeze()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        self._time = self._time_at_trim = time.process_time()


def resident_bytes() -> int:
    """Return the resident memory of this process; on macOS its maximum so far."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()

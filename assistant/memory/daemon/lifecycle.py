"""Who owns a workspace's index, and how its daemon is started and ended.

Exactly one process owns an index: a daemon, or a command that works by itself. Ownership is a
kernel lock on `.assistant/owner.lock`, which dies with its holder.
"""

import contextlib
import ctypes
import gc
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import assistant
from assistant import config
from assistant.disk import locking, storage
from assistant.disk.locking import Lock
from assistant.errors import DaemonError, StorageError
from assistant.memory.base import Notify, Progress, no_notices, no_progress
from assistant.memory.daemon import sockets, wire
from assistant.workspace.folder import Workspace

if TYPE_CHECKING:
    from assistant.memory.local import LocalMemory
    from assistant.settings.tree import Settings

CLAIM_SECONDS = 20.0
"""How long a new owner waits for the old one to finish; longer than a daemon takes to notice that
its workspace was moved, or its socket removed."""
LOOK_SECONDS = 0.5
"""The time between two attempts at the lock."""
START_SECONDS = 60.0
"""How long a daemon may take until it listens; it loads nothing heavy before."""
YIELD_SECONDS = 60.0
"""How long a daemon may take over what it is doing before it yields."""
END_SECONDS = 5.0
"""How long a process may take to end after a signal."""
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
"""glibc gives each thread an arena of its own, and keeps what indexing left in it: 20 MB for a
thousand facts. Threads that take turns at Python's lock need no more than one."""
REST_SECONDS = 3.0
"""Freed memory is given back so long after the last answer."""
WORKED_SECONDS = 0.1
"""Processor time since the last rest that makes another one worth it."""
STILL_SECONDS = 0.05
"""A process that uses less processor time between two looks is at rest."""
CODE_SECONDS = 1.0
"""How often the program's own files are checked at most: half a millisecond each time."""
Tell = Callable[[str], None]
"""Takes a line for the owner, who waits."""

# Owning the index


def lock_path(workspace: Workspace) -> Path:
    """The file whose lock is the right to the index; on a disk where none can be made it lies in
    the user's own folder."""
    try:
        storage.private_directory(workspace.private)
        return storage.private_directory(workspace.locks) / "owner.lock"
    except StorageError:
        name = sha256(os.fsencode(workspace.root)).hexdigest()[:16]
        return storage.private_directory(config.state_dir() / "locks") / f"{name}.lock"


def claim(
    workspace: Workspace, seconds: float = CLAIM_SECONDS, progress: Progress = no_progress
) -> Lock:
    """The right to a workspace's index. Raises DaemonError if another process keeps it for so
    long; StorageError."""
    held = claim_unless(lambda: False, workspace, seconds, progress)
    assert held is not None
    return held


def claim_unless(
    needless: Callable[[], bool], workspace: Workspace, seconds: float, progress: Progress
) -> Lock | None:
    """As `claim`, but None once it is `needless`."""
    path, deadline = lock_path(workspace), time.monotonic() + seconds
    while (held := _try(path, min(LOOK_SECONDS, seconds))) is None and not needless():
        process = locking.holder(path)
        if time.monotonic() >= deadline:
            raise DaemonError(
                f"process {process} works on the memory of {workspace.root}",
                "End the `assistant --no-daemon` that runs there, or `assistant daemon stop`",
            )
        progress(f"Waiting for process {process}, which works on this memory", 0, 0)
    return held


def _try(path: Path, seconds: float) -> Lock | None:
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
    """Memory in this process, which must own the index already; the files are not read yet.

    `resident`: this process stays. Raises EmbedderError, StorageError.
    """
    from assistant.memory.embedding import compile
    from assistant.secrets.current import CurrentRedactor

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


def start(
    workspace: Workspace, raw: Mapping[str, Any], digest: str, progress: Progress = no_progress
) -> None:
    """Start a daemon, detached, and return when it listens, or another does.

    Raises what kept it from starting: ConfigError, StorageError, DaemonError.
    """
    log = sockets.log_path(workspace.root)
    storage.private_directory(log.parent)
    settings = {name: raw[name] for name in config.MEMORY_SECTIONS if name in raw}
    order = wire.line(wire.Order(str(workspace.root), digest, settings))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as ready, log.open("ab") as output:
        try:
            _spawn(writing, order, output.fileno())
        finally:
            os.close(writing)
        _await_ready(ready.fileno(), log, progress)


def _spawn(ready: int, order: bytes, output: int) -> None:
    """Run the daemon's module; it leaves this process behind and outlives it."""
    # Its directory is the package's, so that the same code runs wherever the client was started.
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


def _await_ready(ready: int, log: Path, progress: Progress) -> None:
    """Read the daemon's words: what it waits for, then an empty answer or what kept it back."""
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(ready, selectors.EVENT_READ)
        while selector.select(START_SECONDS) and (piece := os.read(ready, 65536)):
            *lines, said = (said + piece).split(b"\n")
            for answer in (wire.parse(line, wire.Answer) for line in lines):
                if answer.error:
                    raise wire.raised(answer.error)
                if not answer.progress:
                    return
                progress(*answer.progress)
    raise DaemonError("the memory daemon could not start", f"Its log is {log}")


# Ending


def ask_to_yield(workspace: Workspace) -> bool:
    """Have the workspace's daemon finish what it does and end; False if none runs.

    Raises DaemonError if it does not end, or does not answer.
    """
    connection = sockets.connect(workspace.root)
    if connection is None:
        return False
    with connection:
        try:
            connection.sendall(wire.request("yield", wire.YIELD, {}))
            wait_until_gone(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was about to end
        except TimeoutError as error:
            raise sockets.silent(connection) from error
    return True


def wait_until_gone(connection: socket.socket) -> None:
    """Return when the daemon has let go of the index. Raises DaemonError if it does not."""
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


def stop(workspace: Workspace, tell: Tell) -> bool:
    """End the workspace's daemon: asked first, then by signals. False if none runs.

    Raises DaemonError if another process of ours owns the index, or nothing ends it.
    """
    process = _process(workspace)
    if process is None:
        return False
    try:
        if ask_to_yield(workspace):
            return True
    except DaemonError as error:
        tell(error.message)
    for number in (signal.SIGTERM, signal.SIGKILL):
        tell(f"Ending process {process} ({number.name})")
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return True
        if _is_free(workspace):
            return True
    raise DaemonError(f"process {process} does not end", "Restart the machine")


def _process(workspace: Workspace) -> int | None:
    """The daemon's process; None if no daemon runs. Raises DaemonError for another owner."""
    connection = sockets.connect(workspace.root)
    if connection is not None:
        with connection:
            return sockets.peer(connection).process
    if _is_free(workspace, 0):
        return None
    process = locking.holder(lock_path(workspace))
    if process is None or not _is_daemon(process):
        raise DaemonError(
            f"process {process or '?'} works on the memory of {workspace.root}, and is no daemon",
            "End the `assistant --no-daemon` that runs there",
        )
    return process


def _is_free(workspace: Workspace, seconds: float = END_SECONDS) -> bool:
    """Whether nobody owns the index, at the latest after so long."""
    path = lock_path(workspace)
    if not path.exists():
        return True
    try:
        locking.lock(path, seconds).release()
    except locking.LockHeld:
        return False
    return True


def _is_daemon(process: int) -> bool:
    """Whether a process runs the daemon's module: a number may have passed on to another."""
    listed = Path(f"/proc/{process}/cmdline")
    try:
        command = listed.read_bytes().replace(b"\0", b" ")
    except OSError:
        command = subprocess.run(
            ["ps", "-o", "command=", "-p", str(process)], capture_output=True, check=False
        ).stdout
    return b"-m assistant.memory.daemon " in command


# While it runs


class Code:
    """The program's own files as this process loaded them.

    A checkout or an upgrade in place changes them; the version number need not tell.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._looked = 0.0
        self.look()

    def look(self) -> bool:
        """Note newly loaded modules; whether any loaded file has changed on disk."""
        self._looked = time.monotonic()
        modules = list(sys.modules.items())  # another thread may import meanwhile
        files = {module.__file__ for name, module in modules if name.startswith("assistant.")}
        now = {file: _changed_at(file) for file in files if file}
        changed = any(now.get(file) != seen for file, seen in self._seen.items())
        self._seen = now | self._seen
        return changed

    def changed(self) -> bool:
        """The same, checked now and then."""
        return time.monotonic() - self._looked >= CODE_SECONDS and self.look()


def _changed_at(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


class Rest:
    """When this process gives freed memory back to the system: once after work."""

    def __init__(self) -> None:
        self._spent = self._spent_at_rest = time.process_time()

    def is_due(self, resting: float) -> bool:
        """Whether there was work since the last rest, and is none now. Called now and then;
        nobody has asked for `resting` seconds."""
        before, self._spent = self._spent, time.process_time()
        worked = self._spent - self._spent_at_rest > WORKED_SECONDS
        return worked and resting > REST_SECONDS and self._spent - before < STILL_SECONDS

    def take(self) -> None:
        """Give it back: glibc alone keeps it, and only glibc knows this.

        What is left stays: Python need not look through it again and again for what could go.
        """
        gc.collect()
        gc.freeze()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        self._spent = self._spent_at_rest = time.process_time()


def resident_bytes() -> int:
    """The memory this process holds; on macOS the most it ever held."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()

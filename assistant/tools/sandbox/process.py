"""Runs a command under its supervisor, in the sandbox or, with approval, outside it.

The sandbox exposes an allowlist: the workspace, the added directories and the system. Everything
else does not exist inside. The sandbox counts as available only if a probe command can write where
allowed and can neither read nor write elsewhere, since kernels can forbid namespaces.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Literal

from assistant.disk import programs
from assistant.errors import ToolError
from assistant.tools.launch import starting
from assistant.tools.places import SYSTEM, TOOLCHAINS, executed_at_home
from assistant.tools.sandbox import seccomp

Step = tuple[Literal["read", "write", "scratch", "closed", "blank", "link"], str, str]
"""One step in building a command's file system: its kind, a path, and a link's target.

`read` and `write` bind a path; `scratch` is an empty writable directory; `closed` and `blank` cover
a directory or a file; a `link` points to its target.
"""
SCRATCH = ("/tmp", "/var/tmp", "/run")
"""Directories replaced by empty ones: other programs keep their sockets there."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The paths that a command may access, real and absolute.

    Everything but `writable` is read-only. Inside that, `protected` is also read-only, and `hidden`
    cannot even be read. `readable` paths may themselves be symbolic links. Directly in `home`, a
    directory below a writable one, nothing can be created, and files that other programs execute
    cannot be changed.
    """

    writable: tuple[Path, ...]
    protected: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    home: Path | None = None

    def kind(self, path: Path) -> Literal["read", "write"]:
        """Return how a path in a writable directory is mounted."""
        root = max(filter(path.is_relative_to, self.writable), key=lambda root: len(root.parts))
        if not self.home or not path.is_relative_to(self.home):
            return "write"
        if root != self.home and root.is_relative_to(self.home):
            return "write"
        below = path.relative_to(self.home).parts
        return "write" if below and not executed_at_home(below[0]) else "read"

    @property
    def pinned(self) -> list[Path]:
        """The directories to mount onto themselves, since a mount point cannot be renamed.

        These are the writable directories and, inside them, each parent of a protected or hidden
        path: renaming one would let a command reach that path under another name. The contents of
        the home are included for the same reason.
        """
        at_home = list(self.home.iterdir()) if self.home else []
        inside = (*self.writable, *self.protected, *self.hidden, *at_home)
        return sorted(
            {
                parent
                for path in inside
                for parent in path.parents
                if any(parent != root and parent.is_relative_to(root) for root in self.writable)
            }
            | set(self.writable)
            | {path for path in at_home if not path.is_symlink()}
        )


def view(bounds: Bounds) -> list[Step]:
    """Return the steps of a command's file system; later steps cover earlier ones."""
    home = Path.home()
    scratch = (*map(Path, SCRATCH), *([home] if home != Path("/") else []))
    steps: list[Step] = [(bounds.kind(path), str(path), "") for path in bounds.pinned]
    steps += [("scratch", path, "") for path in _outside(scratch, bounds.writable)]
    for path in _outside(bounds.readable, bounds.writable):
        linked = Path(path).is_symlink()
        steps.append(("link", path, str(Path(path).readlink())) if linked else ("read", path, ""))
    steps.sort(key=lambda step: step[1].rstrip("/").count("/"))
    steps += [("read", str(path), "") for path in bounds.protected]
    for hidden in bounds.hidden:
        # otherwise hidden with its parent
        if not any(parent in bounds.hidden for parent in hidden.parents):
            steps.append(("closed" if hidden.is_dir() else "blank", str(hidden), ""))
    return steps


def system() -> tuple[Path, ...]:
    """Return the existing paths of the system, of toolchains in the home directory, and of the
    running Python."""
    toolchains = (Path.home() / name for name in TOOLCHAINS)
    own = (Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve())
    candidates = (*map(Path, SYSTEM), *toolchains, *own)
    return tuple(path for path in candidates if os.path.lexists(path))


def shell_program(roots: Iterable[Path]) -> str:
    """Return the shell for the model's commands: bash where the sandbox exposes it, otherwise
    sh."""
    bash = programs.find("bash", roots)
    return bash if bash and any(map(Path(bash).is_relative_to, system())) else "/bin/sh"


def _outside(paths: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Return the distinct paths outside every writable directory."""
    roots = list(writable)
    return list(
        dict.fromkeys(
            str(path) for path in paths if not any(path.is_relative_to(root) for root in roots)
        )
    )


PROBE_SECONDS = 10.0
PROBE = """
echo in > inside
echo out > "$1"
cat "$2"
test "$(wc -l < /proc/net/dev)" = 3 && echo alone
"""
"""A shell script; `/proc/net/dev` has two heading lines and the loopback."""


def default_memory() -> int:
    """Return half of the machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True, slots=True)
class Launch:
    """A command and its limits, passed to `assistant/tools/launch` as JSON.

    The command and its descendants may together have `processes` processes and use `memory` bytes.
    `seconds` is its timeout, None for no limit. With a `view` it runs in its own namespaces, under
    `filter`, a seccomp program in hex. If one of the paths in `guards` is missing, an empty
    placeholder (`file`, `directory`) takes its place; commands that share guards name the same
    `record`. Files that the command leaves in the folders of `renamed` with one of the suffixes
    there are renamed.
    """

    command: Sequence[str]
    cwd: str
    processes: int
    memory: int
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    view: Sequence[Step] = ()
    filter: str = ""
    guards: Sequence[tuple[str, str]] = ()
    record: str = ""
    renamed: Sequence[tuple[str, str]] = ()


def confined(launch: Launch, bounds: Bounds) -> Launch:
    """Return the command set up for the sandbox, within these bounds."""
    return replace(launch, view=view(bounds), filter=seccomp.program().hex())


@cache
def available() -> bool:
    """Return whether the sandbox works on this machine; probed once."""
    return works()


def works(confine: Callable[[Launch, Bounds], Launch] = confined) -> bool:
    """Return whether a command confined this way can write inside, but neither access files outside
    nor reach a network."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        inside, beside = Path(name).resolve(), Path(other).resolve() / token_hex(8)
        secret = beside.with_suffix(".secret")
        secret.write_text("outside")
        command = ["/bin/sh", "-c", PROBE, "sh", str(beside), str(secret)]
        launch = Launch(command, str(inside), 64, default_memory(), seconds=PROBE_SECONDS)
        bounds = Bounds((inside,), readable=system())
        probe = Command(lambda: confine(launch, bounds), nullcontext())
        probe.wait()
        printed = probe.output.take()
        confined_writes = (inside / "inside").exists() and not beside.exists()
        return confined_writes and printed.endswith("alone") and "outside" not in printed


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its exit code, None if it had none, and the cause.

    `cause` is `time`, `memory` or `processes` for a limit, `stopped` for the assistant, empty if
    the command ended by itself. `renamed` lists the files that were renamed.
    """

    code: int | None
    cause: str = ""
    renamed: tuple[str, ...] = ()


HEAD, TAIL = 400_000, 100_000
"""Number of bytes kept from the start and from the end of a command's output."""
RECENT = 2_000
"""Maximum bytes of the newest output shown while a command runs."""
PATIENCE = 10.0
"""Seconds that a supervisor has to end its processes before it is killed."""


class Output:
    """The head and the tail of an unbounded stream of bytes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data = bytearray()
        self._omitted = 0

    def add(self, data: bytes) -> None:
        """Append output; bytes between head and tail are dropped."""
        with self._lock:
            self._data += data
            if (excess := len(self._data) - HEAD - TAIL) > 0:
                del self._data[HEAD : HEAD + excess]
                self._omitted += excess

    def __bool__(self) -> bool:
        return bool(self._data)

    @property
    def recent(self) -> str:
        """The last complete lines, without clearing them."""
        end = bytes(self._data[-RECENT:])
        rows = end.decode("utf-8", "replace").split("\n")
        return "\n".join(rows[1 if len(end) == RECENT else 0 : -1])

    def take(self) -> str:
        """Return the kept output with a note on what was dropped, and clear it."""
        with self._lock:
            data, omitted = self._data, self._omitted
            self._data, self._omitted = bytearray(), 0
        if omitted:
            note = f"\n[… {omitted:,} bytes left out; write it to a file to read them …]\n"
            data[HEAD:HEAD] = note.encode()
        return data.decode("utf-8", "replace").rstrip("\n")


class Command:
    """A running command, which never outlives this process, and its output since the last read.

    `keeping` surrounds the whole run. Raises ToolError if the command cannot be started.
    """

    def __init__(self, launch: Callable[[], Launch], keeping: AbstractContextManager[None]) -> None:
        self.output = Output()
        self._began = time.monotonic()
        self._ending = Ending(None)
        self._error: Exception | None = None
        self._over = threading.Event()
        with ExitStack() as stack:
            stack.enter_context(keeping)
            self._launch = launch()
            self._start()
            self._cleanup = stack.pop_all()
        threading.Thread(target=self._follow, daemon=True).start()

    @property
    def text(self) -> str:
        """The command's text, its last argument."""
        return self._launch.command[-1]

    @property
    def runs(self) -> bool:
        """Whether the command still runs."""
        return not self._over.is_set()

    @property
    def ending(self) -> Ending:
        """How the command ended, once it has. Raises StorageError if its changes cannot be kept."""
        if self._error is not None:
            raise self._error
        return self._ending

    @property
    def status(self) -> str:
        """How the command ended, in brackets, once it has; empty if it succeeded and left no file
        that other programs execute. Raises StorageError like `ending`."""
        return _described(self.ending, self._launch)

    @property
    def state(self) -> str:
        """How long the command has been running, or how it ended."""
        if self.runs:
            return f"[running, {time.monotonic() - self._began:.0f} s]"
        fault = f" [{self._error}]" if self._error else ""
        return (_described(self._ending, self._launch) or "[exit 0]") + fault

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the command has ended; return whether it has."""
        return self._over.wait(seconds)

    def stop(self) -> None:
        """End the command and its descendants; takes a second or two. A supervisor that hangs is
        killed; in the sandbox they end with it."""
        self._release()
        if not self.wait(PATIENCE):
            self._process.kill()
            self.wait(PATIENCE)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            starting("run_command"),
            cwd="/",
            env=programs.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._lifeline = self._process.stdin
        self._printed, self._reported = self._process.stdout, self._process.stderr
        try:
            self._lifeline.write(json.dumps(asdict(self._launch)).encode() + b"\n")
            self._lifeline.flush()
        except BrokenPipeError as error:
            raise ToolError("the command could not be started", self._report().cause) from error

    def _follow(self) -> None:
        try:
            with self._cleanup:
                while data := os.read(self._printed.fileno(), 65536):
                    self.output.add(data)
                self._ending = self._report()
        except Exception as error:  # raised by `ending`
            self._error = error
        finally:
            self._over.set()

    def _report(self) -> Ending:
        """Return how the command ended, as its supervisor reports it at the end."""
        with self._printed, self._reported:
            report = self._reported.read()
        self._process.wait()
        self._release()
        return _read(report)

    def _release(self) -> None:
        """Close the supervisor's input, which ends the command."""
        with suppress(BrokenPipeError):
            self._lifeline.close()


def _described(ending: Ending, launch: Launch) -> str:
    match ending.cause:
        case "time":
            status = f"[stopped after {launch.seconds} s; give it longer]"
        case "processes":
            status = f"[stopped: over {launch.processes} processes at once]"
        case "memory":
            status = "[stopped: over its memory limit]"
        case "stopped":
            status = "[stopped]"
        case "":
            status = f"[exit {ending.code}]" if ending.code else ""
        case _:
            status = f"[ended: {ending.cause}]"
    renamed = [f"[{change}: other programs execute such files]" for change in ending.renamed]
    return "\n".join(filter(None, [*renamed, status]))


def _read(report: bytes) -> Ending:
    try:
        fields = json.loads(report)
        return Ending(fields["code"], fields["ended"], tuple(fields["renamed"]))
    except (ValueError, KeyError, TypeError):  # the supervisor was killed, or failed
        return Ending(None, report.decode("utf-8", "replace").strip()[-300:] or "killed")

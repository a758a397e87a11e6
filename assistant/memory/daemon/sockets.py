"""The address of a workspace's memory daemon, and the peer of a connection.

The directory is private to the user. The name is a hash of the workspace's real path, because the
path of a Unix socket is limited to 104 bytes on macOS. A link in the workspace names the socket for
clients whose environment names other directories: a login shell, a cron job and `sudo` differ.
"""

import contextlib
import os
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant import config
from assistant.disk import storage
from assistant.errors import DaemonError
from assistant.workspace import machine

LONGEST_PATH = 100
SILENCE_SECONDS = 30.0
"""How long a daemon may be silent before it is considered hung. At work it reports every other
second, but Chroma blocks that while the disk syncs: some twenty times when it creates an index."""
LINK = "daemon.sock"
"""In `.assistant/`: a symbolic link to the daemon's socket."""
_NOT_LISTENING = (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, PermissionError)
_MACOS_SOL_LOCAL = 0
_MACOS_LOCAL_PEERCRED = 1
_MACOS_LOCAL_PEERPID = 2
STOP = "Run `assistant daemon stop`, which ends it, and try again"


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer of a connection, according to the kernel; process 0 is unknown."""

    user: int
    process: int


def paths(root: Path) -> Iterator[Path]:
    """Yield the possible sockets of a workspace's daemon: the link's target, then the best
    first."""
    name = f"{workspace_id(root)}.sock"
    linked = _linked_path(root, name)
    if linked is not None:
        yield linked
    for directory in _directories():
        path = directory / name
        if len(os.fsencode(path)) <= LONGEST_PATH and path != linked:
            yield path


def usable_path(root: Path) -> Path:
    """Return the first of `paths` whose directory is private, creating it. Raises DaemonError if
    none is."""
    failure: DaemonError | None = None
    for path in paths(root):
        try:
            _make_private(path.parent)
        except DaemonError as error:
            failure = failure or error
        else:
            return path
    raise failure or DaemonError("there is no directory for the memory daemon's socket")


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket and its file, which only the owner of the index creates."""

    socket: socket.socket
    path: Path
    inode: int
    link: Path

    def is_current(self) -> bool:
        """Return whether clients can find the socket: its file was not removed or replaced."""
        return storage.inode(self.path) == self.inode

    def close(self) -> None:
        """Stop listening; remove the file, unless another socket has replaced it."""
        with contextlib.suppress(OSError):  # leftovers do no harm
            if self.is_current():
                self.path.unlink()
            if self.link.readlink() == self.path:
                self.link.unlink()
        self.socket.close()


def listen(root: Path) -> Listener:
    """Listen for the clients of a workspace; a dead daemon's socket file is replaced.

    Raises DaemonError if there is no private directory for the socket.
    """
    path = usable_path(root)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(os.fspath(path))
    link = root / ".assistant" / LINK
    with contextlib.suppress(OSError):  # without it clients try the usual directories
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return Listener(listening, path, path.stat().st_ino, link)


def timeval(seconds: float) -> bytes:
    """Return seconds as the kernel's `timeval`, for SO_SNDTIMEO of a blocking socket."""
    return struct.pack("ll", int(seconds), 0)


def log_path(root: Path) -> Path:
    """Return the log of a workspace's daemon, which never contains a query or a fact."""
    return config.state_dir() / "logs" / f"memory-{workspace_id(root)}.log"


def workspace_id(root: Path) -> str:
    """Return a short name for a workspace, from its real path."""
    return machine.short_name(root.resolve())


def connect(root: Path) -> socket.socket | None:
    """Return a connection to the workspace's daemon, or None if none listens.

    Raises DaemonError if the socket belongs to another user.
    """
    for path in paths(root):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval(SILENCE_SECONDS))
        try:
            connection.connect(os.fspath(path))  # blocking: waits if many clients come at once
        except _NOT_LISTENING:
            connection.close()
            continue
        except BlockingIOError as error:
            connection.close()
            raise DaemonError(
                f"the memory daemon at {path} accepts no connections", STOP
            ) from error
        if peer(connection).user != os.geteuid():
            connection.close()
            raise DaemonError(
                f"{path} belongs to another user", f"Remove {path.parent}, or have it removed"
            )
        connection.settimeout(SILENCE_SECONDS)
        return connection
    return None


def answers(root: Path) -> bool:
    """Return whether a daemon listens for the clients of a workspace. Raises DaemonError."""
    connection = connect(root)
    if connection is None:
        return False
    connection.close()
    return True


def peer(connection: socket.socket) -> Peer:
    """Return the peer of a connection."""
    if sys.platform == "darwin":
        # struct xucred {version, uid, …}: 4 bytes each
        credentials = connection.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, 76)
        process = connection.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERPID, 4)
    else:  # struct ucred {pid, uid, gid}
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        process = credentials[:4]
    user = int.from_bytes(credentials[4:8], sys.byteorder)
    return Peer(user, int.from_bytes(process, sys.byteorder))


def silent(connection: socket.socket) -> DaemonError:
    """Return the error for a daemon that has been silent for too long."""
    process = peer(connection).process or "?"
    return DaemonError(
        f"the memory daemon, process {process}, has not responded for {SILENCE_SECONDS:.0f} s", STOP
    )


def _linked_path(root: Path, name: str) -> Path | None:
    """Return the target of the workspace's link, if its directory is private to the user."""
    try:
        path = (root / ".assistant" / LINK).readlink()
        directory = path.parent.lstat()
    except OSError:
        return None
    return path if path.name == name and path.is_absolute() and _is_private(directory) else None


def _directories() -> Iterator[Path]:
    user = os.geteuid()
    configured = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(configured).is_absolute():
        yield Path(configured) / "assistant"
    default = Path(f"/run/user/{user}")
    if str(default) != configured and default.is_dir():
        yield default / "assistant"
    yield Path(f"/tmp/assistant-{user}")


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise DaemonError(f"{directory} cannot be created: {error.strerror}", "Check it") from error
    if not _is_private(status):
        raise DaemonError(
            f"{directory} is not private to you",
            "Remove it, or set XDG_RUNTIME_DIR to a directory of your own",
        )


def _is_private(status: os.stat_result) -> bool:
    is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return is_own and stat.S_ISDIR(status.st_mode)

"""Where a workspace's memory daemon listens, and who is at the other end of a connection.

The directory belongs to the user alone. The name is a hash of the workspace's real path, because
a Unix socket's path may have no more than 104 bytes on macOS.
"""

import contextlib
import hashlib
import os
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant import config
from assistant.errors import DaemonError

LONGEST_PATH = 100
_NOBODY = (FileNotFoundError, ConnectionRefusedError, NotADirectoryError, PermissionError)
_MACOS_SOL_LOCAL = 0
_MACOS_LOCAL_PEERCRED = 1


def paths(root: Path) -> Iterator[Path]:
    """Where the daemon of a workspace may listen, the best place first.

    A client looks at each: a login shell and a cron job see different environments.
    """
    name = f"{key(root)}.sock"
    for directory in _directories():
        path = directory / name
        if len(os.fsencode(path)) <= LONGEST_PATH:
            yield path


def usable_path(root: Path) -> Path:
    """The first of `paths` whose directory is private; makes it. Raises DaemonError if none is."""
    failure: DaemonError | None = None
    for path in paths(root):
        try:
            _ensure_private(path.parent)
        except DaemonError as error:
            failure = failure or error
        else:
            return path
    raise failure or DaemonError("there is no directory for the memory daemon's socket")


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket and its file, which only the owner of the index puts there."""

    socket: socket.socket
    path: Path
    inode: int

    def close(self) -> None:
        """Stop listening; the file goes too, unless another socket has taken its place."""
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_ino == self.inode:
                self.path.unlink()
        self.socket.close()


def listen(root: Path) -> Listener:
    """Listen for the clients of a workspace; a dead daemon's socket file is replaced.

    Raises DaemonError if there is no private directory for the socket.
    """
    path = usable_path(root)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(os.fspath(path))
    return Listener(listening, path, path.stat().st_ino)


def log_path(root: Path) -> Path:
    """Where the daemon of a workspace writes what happens to it; never a query or a fact."""
    return config.state_dir() / "logs" / f"memory-{key(root)}.log"


def key(root: Path) -> str:
    """A short name for a workspace, from its real path."""
    return hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def connect(root: Path) -> socket.socket | None:
    """A connection to the workspace's daemon, or None if none listens.

    Raises DaemonError if what listens there belongs to another user.
    """
    for path in paths(root):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.fspath(path))
        except _NOBODY:
            connection.close()
            continue
        if peer_uid(connection) != os.geteuid():
            connection.close()
            raise DaemonError(
                f"{path} belongs to another user", f"Remove {path.parent}, or have it removed"
            )
        return connection
    return None


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel knows it."""
    if sys.platform == "darwin":
        credentials = connection.getsockopt(_MACOS_SOL_LOCAL, _MACOS_LOCAL_PEERCRED, 76)
    else:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    # Linux: struct ucred {pid, uid, gid}; macOS: struct xucred {version, uid, …}: 4 bytes each.
    return int.from_bytes(credentials[4:8], sys.byteorder)


def _directories() -> Iterator[Path]:
    user = os.geteuid()
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    if Path(chosen).is_absolute():
        yield Path(chosen) / "assistant"
    usual = Path(f"/run/user/{user}")
    if str(usual) != chosen and usual.is_dir():
        yield usual / "assistant"
    yield Path(f"/tmp/assistant-{user}")


def _ensure_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise DaemonError(f"{directory} cannot be made: {error.strerror}", "Check it") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise DaemonError(
            f"{directory} is not a directory of yours alone",
            "Remove it, or set XDG_RUNTIME_DIR to a directory of your own",
        )

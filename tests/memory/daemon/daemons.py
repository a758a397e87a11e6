"""What the tests of the daemon share: its process, and a bare connection to it."""

import socket
from typing import IO

from assistant.memory.daemon import sockets, wire
from assistant.workspace.folder import Workspace


def running(workspace: Workspace) -> int | None:
    """The process of the workspace's daemon; None if none listens."""
    connection = sockets.connect(workspace.root)
    if connection is None:
        return None
    with connection:
        return sockets.peer(connection).process


def pid(workspace: Workspace) -> int:
    """The process of the workspace's daemon, which must run."""
    process = running(workspace)
    assert process is not None
    return process


def dial(workspace: Workspace) -> socket.socket:
    connection = sockets.connect(workspace.root)
    assert connection is not None
    connection.settimeout(90)
    return connection


def answer(lines: IO[bytes]) -> wire.Answer:
    """The next line of the daemon."""
    return wire.parse(lines.readline(), wire.Answer)


def ended(connection: socket.socket) -> bool:
    """Read on until the daemon hangs up."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    return True

"""The process that has everything imported: `python -m assistant.cli.worker FD SECONDS`.

It does nothing itself. For each command it forks, and the copy becomes that command's process: in
a session of its own, with the arguments, environment, directory and terminal of whoever asked, whom
it does not outlive. It goes when nobody has asked for a while, or its own code has changed.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from assistant.cli import resident
from assistant.cli.resident import GIVEN_FDS, LENGTH
from assistant.memory.daemon import sockets

IDLE_SECONDS = 900.0
TICK = 20.0
"""Seconds after which it looks whether it is still wanted."""
PATIENCE = 10.0
"""Seconds that a client may take to say what it wants."""


def main() -> None:
    """Import, listen, say so on the given descriptor, and serve."""
    ready, seconds = int(sys.argv[1]), float(sys.argv[2] or IDLE_SECONDS)
    began, place = time.time(), resident.place()  # a library may change the environment
    _import()
    if not sockets.answers(place):
        listener = sockets.listen(place)
        listener.socket.listen(64)
        os.write(ready, b"1")
        os.close(ready)
        serve(listener, seconds, began)
        listener.close()
    else:
        os.write(ready, b"1")


def _import() -> None:
    """All that `ask` needs."""
    from assistant.model.provider.litellm_model import warm_up

    warm_up()


def serve(listener: sockets.Listener, seconds: float, began: float) -> None:
    """Fork for each connection until nobody has asked for so long, or this code is no more."""
    running, last = 0, time.monotonic()
    while listener.stands() and (running or time.monotonic() - last < seconds):
        asked = select.select([listener.socket], [], [], min(TICK, seconds))[0]
        running -= _reaped()
        if not asked:
            continue
        connection = listener.socket.accept()[0]
        with connection:
            if _changed(began):
                return
            if os.fork() == 0:
                listener.socket.close()
                os._exit(_become(connection))
        running, last = running + 1, time.monotonic()


def _reaped() -> int:
    """How many copies have ended since it was last asked."""
    count = 0
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            count += 1
    return count


def _changed(began: float) -> bool:
    """Whether a module of ours is another on disk than the one that was imported."""
    files = (
        getattr(module, "__file__", None)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "assistant"
    )
    try:
        return any(Path(file).stat().st_mtime > began for file in files if file)
    except OSError:
        return True


def _become(connection: socket.socket) -> int:
    """Carry out the command that a client gives; in the copy."""
    try:
        os.setsid()
        if sockets.peer(connection).user != os.geteuid():
            return 1
        connection.settimeout(PATIENCE)
        order = _order(connection)
        if order is None:
            _end(os.getppid())
            return 0
        _dress(order)
        connection.settimeout(None)
        connection.sendall(f"{os.getpid()}\n".encode())
        threading.Thread(target=_outlive_nobody, args=(connection,), daemon=True).start()
        code = _run()
        connection.sendall(f"{code}\n".encode())
        return code
    except (OSError, ValueError):
        return 1


def _end(parent: int) -> None:
    """End the process that this one is a copy of; whoever asked for it waits for this one."""
    os.kill(parent, signal.SIGTERM)
    while os.getppid() == parent:
        time.sleep(0.01)


def _order(connection: socket.socket) -> dict[str, Any] | None:
    """What a client wants, its descriptors put in place; None if that is the end of it all.

    Raises ValueError if it wants nothing: it only looked whether somebody is here, or has died.
    """
    head, fds, _, _ = socket.recv_fds(connection, LENGTH, GIVEN_FDS)
    if len(head) < LENGTH:
        raise ValueError("there is no order")
    size = int.from_bytes(head, "big")
    if not size:
        return None
    directory, *standard = fds
    os.fchdir(directory)
    for number, fd in enumerate(standard):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    data = b""
    while len(data) < size and (piece := connection.recv(size - len(data))):
        data += piece
    order: dict[str, Any] = json.loads(data)
    return order


def _dress(order: dict[str, Any]) -> None:
    """Be as the client is: its words, environment, umask, signals and streams."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.umask(order["umask"])
    time.tzset()
    sys.argv = ["assistant", *order["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # ours until the end
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")


def _writer(fd: int, errors: str) -> Any:
    lines = 1 if os.isatty(fd) or fd == 2 else -1
    return open(fd, "w", lines, encoding="utf-8", errors=errors, closefd=False)


def _outlive_nobody(connection: socket.socket) -> None:
    """End this process when its client has gone."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _run() -> int:
    from assistant.cli.main import run

    resident.arguments = None
    try:
        run(handed_over=True)
    except SystemExit as ended:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


if __name__ == "__main__":
    main()

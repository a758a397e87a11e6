"""The resident process with everything imported: `python -m assistant.cli.worker FD SECONDS`.

It forks for each command. The copy runs the command with the client's arguments, environment,
directory and terminal, in a session of its own, and ends with the client. The process itself exits
after it has been idle for a while, or when its code has changed.
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
import traceback
from typing import Any

from assistant.cli import resident
from assistant.memory.daemon import sockets
from assistant.memory.daemon.lifecycle import Code

IDLE_SECONDS = 900.0
TICK = 20.0
"""Seconds between checks whether to exit."""
PATIENCE = 10.0
"""Timeout of a client's request."""
UPGRADED = "the program was upgraded while it ran. Run the command again"


def main() -> None:
    """Import everything, listen, report that on the file descriptor, and serve."""
    from assistant.model.provider.litellm_model import warm_up

    ready, seconds = int(sys.argv[1]), float(sys.argv[2] or IDLE_SECONDS)
    code, name = Code(), resident.socket_name()  # a library may change the environment
    warm_up()
    code.check()  # notes the modules imported since
    listener = None if sockets.answers(name) else sockets.listen(name)
    os.write(ready, b"1")
    os.close(ready)
    if listener:
        listener.socket.listen(64)
        signal.signal(signal.SIGTERM, lambda *_: end(listener))
        try:
            serve(listener, seconds, code)
        finally:
            listener.close()


def end(listener: sockets.Listener) -> None:
    """Stop listening and exit at once: a callback of `os.fork` would lose an exception."""
    listener.close()
    os._exit(0)


def serve(listener: sockets.Listener, seconds: float, code: Code) -> None:
    """Fork for each connection until idle for `seconds` or this code has changed."""
    running, last = 0, time.monotonic()
    while listener.is_current() and (running or time.monotonic() - last < seconds):
        ready = select.select([listener.socket], [], [], min(TICK, seconds))[0]
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                running, last = running - 1, time.monotonic()
        if not ready:
            continue
        with listener.socket.accept()[0] as connection:
            if code.check():
                return
            if os.fork() == 0:
                listener.socket.close()
                try:
                    os._exit(_run_for(connection, code))
                finally:
                    os._exit(1)  # whatever happens, this copy must not close the listener
        running, last = running + 1, time.monotonic()


def _run_for(connection: socket.socket, code: Code) -> int:
    """Run a client's command, in the forked copy."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        connection.settimeout(PATIENCE)
        _, fds, _, _ = socket.recv_fds(connection, 1, 4)
        order = connection.makefile("rb").readline()
        if sockets.peer(connection).user != os.geteuid() or not order:
            return 1  # another user, or only a check for a listener
        _take_over(json.loads(order), fds)
        connection.settimeout(None)
        connection.sendall(f"{os.getpid()}\n".encode())
        threading.Thread(target=_end_with_client, args=(connection,), daemon=True).start()
        status = _run(code)
        connection.sendall(f"{status}\n".encode())
        return status
    except (OSError, ValueError):
        return 1


def _take_over(order: dict[str, Any], fds: list[int]) -> None:
    """Take over the client's directory, streams, arguments, environment, umask and signals."""
    os.fchdir(fds[0])
    for number, fd in enumerate(fds[1:]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.umask(order["umask"])
    time.tzset()
    sys.argv = ["assistant", *order["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # open until the end
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")


def _writer(fd: int, errors: str) -> Any:
    lines = 1 if os.isatty(fd) or fd == 2 else -1
    return open(fd, "w", lines, encoding="utf-8", errors=errors, closefd=False)


def _end_with_client(connection: socket.socket) -> None:
    """End this process when its client exits."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _run(code: Code) -> int:
    """Run the command, and return its exit code."""
    try:
        from assistant.cli import root

        root.run()
    except SystemExit as ended:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        if code.check():  # a module imported just now does not match the others
            sys.stderr.write(f"assistant: {UPGRADED}\n")
        else:
            traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()

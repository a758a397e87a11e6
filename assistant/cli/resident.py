"""Handing a command over to a process that has everything imported already.

Importing a provider's library takes 3 s of CPU, each time. So the first `ask` starts a process that
imports it and stays for a while (`worker.py`); for each `ask` that process makes a copy of itself,
which is given this one's arguments, environment, directory and terminal, and does all of it. This
process waits, passes signals on, and exits as the copy did. Wherever that cannot be, the command is
carried out here, as ever.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import assistant
from assistant import config
from assistant.disk import locking
from assistant.errors import AssistantError
from assistant.memory.daemon import sockets

LENGTH = 8
"""Bytes that say how long an order is."""
GIVEN_FDS = 4
"""The directory, standard input, output and error."""
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPORTED_BY = ("PYTHON", "LITELLM_", "SSL_", "REQUESTS_", "CURL_", "AWS_CA_", "LD_")
"""How variables begin that matter when modules are imported; of proxies, how they end."""
SWITCHED_OFF = ("false", "0", "no", "off")
STOP_SECONDS = 10.0
START_SECONDS = 60.0
"""How long the process may take to import all; whoever else wants it meanwhile waits for that."""

arguments: Sequence[str] | None = None
"""What the command line said, where a process of its own is at the command; None elsewhere."""


def place() -> Path:
    """What names the socket: this very code, run by this Python in such an environment."""
    known = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(IMPORTED_BY) or name.lower().endswith("_proxy")
    }
    told = [assistant.__file__, assistant.__version__, sys.executable, sorted(known.items())]
    return Path("/resident", sha256(json.dumps(told).encode()).hexdigest()[:24])


def wanted(raw: Mapping[str, Any], model: str | None) -> bool:
    """Whether it is worth it: a model is asked, and the owner has not switched it off."""
    chosen = raw.get("model", {})
    on = str(chosen.get("resident", True)).lower() not in SWITCHED_OFF
    return on and bool(model or chosen.get("name") or raw.get("profiles"))


def carried_out(model: str | None = None) -> int | None:
    """The exit code of this process's command, done elsewhere; None if it has to be done here."""
    with contextlib.suppress(OSError, AssistantError, ValueError):
        connection = _connected(model)
        if connection is not None and arguments is not None:
            with connection:
                return _handed_over(connection, arguments)
    return None


def stop() -> bool:
    """Have the process end, if there is one, and wait until it has."""
    with contextlib.suppress(OSError, AssistantError):
        connection = sockets.connect(place())
        if connection is not None:
            with connection:
                connection.sendall(bytes(LENGTH))
                connection.settimeout(STOP_SECONDS)
                connection.recv(1)
                return True
    return False


def _connected(model: str | None) -> socket.socket | None:
    """A connection to the process, begun if there is none; None where it is not wanted."""
    raw = config.load()
    if arguments is None or not wanted(raw, model):
        return None
    found = sockets.connect(place())
    if found is not None:
        return found
    with locking.lock(sockets.usable_path(place()).with_suffix(".lock"), START_SECONDS):
        return sockets.connect(place()) or _started(raw)


def _started(raw: Mapping[str, Any]) -> socket.socket | None:
    """A connection to the process once it has imported all; None if it does not come up."""
    reading, writing = os.pipe()
    seconds = str(raw.get("daemon", {}).get("idle_seconds", ""))
    command = [sys.executable, "-m", "assistant.cli.worker", str(writing), seconds]
    with os.fdopen(reading, "rb") as ready:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(assistant.__file__).parent.parent,
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        return sockets.connect(place()) if ready.read(1) else None


def _handed_over(connection: socket.socket, words: Sequence[str]) -> int | None:
    """Give the command away and wait for its end; None if it was not begun."""
    umask = os.umask(0)
    os.umask(umask)
    order = {"arguments": list(words), "environment": dict(os.environ), "umask": umask}
    data = json.dumps(order).encode()
    here = os.open(".", os.O_RDONLY)
    try:
        socket.send_fds(connection, [len(data).to_bytes(LENGTH, "big")], [here, 0, 1, 2])
    finally:
        os.close(here)
    connection.sendall(data)
    connection.settimeout(None)
    with connection.makefile("rb") as told:
        begun = told.readline()
        if not begun:
            return None
        ended = b""
        with _passing_on(int(begun)), contextlib.suppress(OSError):  # it is not done a second time
            ended = told.readline()
    return int(ended) if ended else 1


@contextlib.contextmanager
def _passing_on(process: int) -> Iterator[None]:
    """What this process is told to do, the one that does its work is told."""

    def tell(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    def suspend(number: int, _: FrameType | None) -> None:
        tell(signal.SIGSTOP, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        tell(signal.SIGCONT, None)

    before = {each: signal.getsignal(each) for each in (*PASSED_ON, signal.SIGTSTP)}
    for each in PASSED_ON:
        if before[each] is not signal.SIG_IGN:
            signal.signal(each, tell)
    signal.signal(signal.SIGTSTP, suspend)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

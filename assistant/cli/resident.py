"""Handing `ask` over to a process that has everything imported already.

Importing a provider's library takes 3 s of CPU. So the first `ask` starts a process that imports it
and stays for a while (`worker.py`). For each `ask` that process forks, and the copy takes over this
one's arguments, environment, directory and terminal; this one waits, passes signals on, and exits
as the copy did. Wherever that is impossible, the command runs here.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
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

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPORTED_BY = ("PYTHON", "LITELLM_", "SSL_", "REQUESTS_", "CURL_", "AWS_CA_", "LD_")
"""Prefixes of the variables that matter when modules are imported, beside those of proxies."""
SWITCHED_OFF = ("false", "0", "no", "off")
STOP_SECONDS = 10.0
START_SECONDS = 60.0
"""How long the process may take to import all; others that want it wait for that."""

arguments: Sequence[str] | None = None
"""The command line, in a process that a person started; None elsewhere."""


def place() -> Path:
    """What names the socket: this very code, run by this Python in such an environment."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(IMPORTED_BY) or name.lower().endswith("_proxy")
    }
    key = [assistant.__file__, assistant.__version__, sys.executable, sorted(variables.items())]
    return Path("/resident", sha256(json.dumps(key).encode()).hexdigest()[:24])


def wanted(raw: Mapping[str, Any], model: str | None) -> bool:
    """Whether it is worth it: a model is asked, and the owner has not switched it off."""
    chosen = raw.get("model", {})
    on = str(chosen.get("resident", True)).lower() not in SWITCHED_OFF
    return on and bool(model or chosen.get("name") or raw.get("profiles"))


def carried_out(model: str | None = None) -> int | None:
    """The exit code of this command, run by the process; None if it has to be run here."""
    with contextlib.suppress(OSError, AssistantError, ValueError):
        raw = config.load()
        if arguments is None or not wanted(raw, model):
            return None
        connection = sockets.connect(place())
        if connection is None:
            with locking.lock(sockets.usable_path(place()).with_suffix(".lock"), START_SECONDS):
                connection = sockets.connect(place()) or _started(raw)
        if connection is not None:
            with connection:
                return _handed_over(connection, arguments)
    return None


def stop() -> bool:
    """End the process, if there is one, and wait until it has ended."""
    with contextlib.suppress(OSError, AssistantError):
        connection = sockets.connect(place())
        if connection is not None:
            with connection:
                process = sockets.peer(connection).process
            os.kill(process, signal.SIGTERM)
            until = time.monotonic() + STOP_SECONDS
            while sockets.answers(place()) and time.monotonic() < until:
                time.sleep(0.02)
            return True
    return False


def _started(raw: Mapping[str, Any]) -> socket.socket | None:
    """A connection to the process once it has imported all; None if it does not come up."""
    reading, writing = os.pipe()
    seconds = str(raw.get("daemon", {}).get("idle_seconds", ""))
    with os.fdopen(reading, "rb") as ready:
        subprocess.Popen(
            [sys.executable, "-m", "assistant.cli.worker", str(writing), seconds],
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
    """Have the command run and wait for its end; None if it was not begun."""
    umask = os.umask(0)
    os.umask(umask)
    order = {"arguments": list(words), "environment": dict(os.environ), "umask": umask}
    here = os.open(".", os.O_RDONLY)
    try:
        socket.send_fds(connection, [b"\n"], [here, 0, 1, 2])
    finally:
        os.close(here)
    connection.sendall(json.dumps(order).encode() + b"\n")
    connection.settimeout(None)
    with connection.makefile("rb") as answers:
        if not (process := answers.readline()):
            return None
        code = b""
        with _passing_on(int(process)), contextlib.suppress(OSError):  # it is not run a second time
            code = answers.readline()
    return int(code) if code else 1


@contextlib.contextmanager
def _passing_on(process: int) -> Iterator[None]:
    """Send the signals that this process gets to the one that does its work."""

    def send(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    before = {number: signal.getsignal(number) for number in PASSED_ON}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, send)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

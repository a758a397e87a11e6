"""Hands `ask` over to a resident process that has already imported everything.

Importing a provider's library takes 3 s of CPU. So the first `ask` starts a process that imports it
and stays for a while (`worker.py`). It forks for each `ask`; the copy takes over the arguments,
environment, directory and terminal, while this process forwards signals and exits with the copy's
code. If that is not possible, the command runs here.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import assistant
from assistant import config
from assistant.disk import locking, programs
from assistant.errors import AssistantError
from assistant.memory.daemon import sockets

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPORTED_BY = ("PYTHON", "LITELLM_", "SSL_", "REQUESTS_", "CURL_", "AWS_CA_", "LD_")
"""Prefixes of the environment variables, other than those of proxies, that are read at import."""
SWITCHED_OFF = ("false", "0", "no", "off")
STOP_SECONDS = 10.0
START_SECONDS = 60.0
"""Timeout for starting the process, during which other commands wait."""

arguments: Sequence[str] | None = None
"""The command line of a process that may hand over its command; None in any other process."""


def socket_name() -> Path:
    """Return the socket's name, which depends on this code, this Python and the environment."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(IMPORTED_BY) or name.lower().endswith("_proxy")
    }
    key = [assistant.__file__, assistant.__version__, sys.executable, sorted(variables.items())]
    return Path("/resident", sha256(json.dumps(key).encode()).hexdigest()[:24])


def is_worthwhile(raw: Mapping[str, Any], model: str | None) -> bool:
    """Return whether a model is used and the owner has not disabled the resident process."""
    chosen = raw.get("model", {})
    enabled = str(chosen.get("resident", True)).lower() not in SWITCHED_OFF
    return enabled and bool(model or chosen.get("name") or raw.get("profiles"))


def hand_over(model: str | None = None) -> int | None:
    """Run this command in the resident process; return its exit code, or None if it must run
    here."""
    # a value where a section is expected has no attributes; the command reports it
    with contextlib.suppress(OSError, AssistantError, ValueError, AttributeError):
        raw = config.load()
        if arguments is None or not is_worthwhile(raw, model):
            return None
        connection = sockets.connect(socket_name())
        if connection is None:
            with locking.lock(
                sockets.usable_path(socket_name()).with_suffix(".lock"), START_SECONDS
            ):
                connection = sockets.connect(socket_name()) or _start(raw)
        if connection is not None:
            with connection:
                return _run_remotely(connection, arguments)
    return None


def stop() -> bool:
    """Stop the process and wait until it has exited; return False if there is none."""
    with contextlib.suppress(OSError, AssistantError):
        connection = sockets.connect(socket_name())
        if connection is not None:
            with connection:
                process = sockets.peer(connection).process
            os.kill(process, signal.SIGTERM)
            until = time.monotonic() + STOP_SECONDS
            while sockets.answers(socket_name()) and time.monotonic() < until:
                time.sleep(0.02)
            return True
    return False


def _start(raw: Mapping[str, Any]) -> socket.socket | None:
    """Start the process and connect to it; return None if it does not start."""
    reading, writing = os.pipe()
    seconds = str(raw.get("daemon", {}).get("idle_seconds", ""))
    with os.fdopen(reading, "rb") as ready:
        programs.start_own(["-m", "assistant.cli.worker", str(writing), seconds], fds=(writing,))
        os.close(writing)
        return sockets.connect(socket_name()) if ready.read(1) else None


def _run_remotely(connection: socket.socket, words: Sequence[str]) -> int | None:
    """Run the command in the process and return its exit code; None if it was not started."""
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
        _forward_signals(int(process))
        code = b""
        with contextlib.suppress(OSError):  # already started: do not run it again
            code = answers.readline()
    return int(code) if code else 1


def _forward_signals(process: int) -> None:
    """Forward this process's signals to another one, so that both end together."""

    def send(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, send)

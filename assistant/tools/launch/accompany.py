"""Runs a server of somebody else's beside the assistant: `python -I -S accompany.py COMMAND …`.

What it says on standard input and output goes through here, so that no line and no flood can fill
the assistant's memory. It ends with whoever started this process: when standard input closes, the
server and all that it has started are ended.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

LINE = 8_000_000
"""Bytes of one line that a server may say."""
FLOOD = 64_000_000
"""Bytes that it may say without having been told anything."""
COMPLAINTS = 20_000
"""Bytes of standard error that are passed on."""
GRACE = 0.5
"""Seconds between closing its input, asking it to end, and killing it."""
PIECE = 65_536


class Server:
    """A server and the three streams between it and the assistant."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._unasked = 0

    def serve(self) -> NoReturn:
        """Pass on what is said until one side is through."""
        for work in (self._hear, self._complain):
            threading.Thread(target=work, daemon=True).start()
        assert self._process.stdout is not None
        line = 0
        while data := os.read(self._process.stdout.fileno(), PIECE):
            start, end = data.find(b"\n"), data.rfind(b"\n")
            longest = line + (len(data) if start < 0 else start)
            line = longest if end < 0 else len(data) - end - 1
            self._unasked += len(data)
            if longest > LINE or self._unasked > FLOOD:
                self._end(f"\nended: it said more than {(LINE, FLOOD)[longest <= LINE]:,} bytes")
            _write(1, data)
        self._end()

    def _hear(self) -> None:
        """Tell the server what it is told; the end of that is its end."""
        assert self._process.stdin is not None
        with suppress(OSError):  # the server may have closed its input
            while data := os.read(0, PIECE):
                self._unasked = 0
                _write(self._process.stdin.fileno(), data)
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self._end()

    def _complain(self) -> None:
        assert self._process.stderr is not None
        left = COMPLAINTS
        while data := os.read(self._process.stderr.fileno(), PIECE):
            _write(2, data[:left])
            left = max(0, left - len(data))

    def _end(self, why: str = "") -> NoReturn:
        """End the server and all that it has started, and this process."""
        os.write(2, why.encode())
        from assistant.tools.launch.processes import below

        for sign in (signal.SIGTERM, signal.SIGKILL):
            for pid in {*below(os.getpid()), self._process.pid}:
                _signal(pid, sign)
            try:
                self._process.wait(GRACE)
            except subprocess.TimeoutExpired:
                continue
        for pid in below(os.getpid()):
            _signal(pid, signal.SIGKILL)
        os._exit(self._process.returncode or 0)


def _signal(pid: int, sign: signal.Signals) -> None:
    try:
        os.kill(pid, sign)
    except (ProcessLookupError, PermissionError):
        return


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def main(command: list[str]) -> NoReturn:
    """Serve one command to its end."""
    from assistant.tools.launch import namespaces

    if namespaces.LINUX:
        namespaces.prctl(namespaces.PR_SET_CHILD_SUBREAPER, 1)
    try:
        server = Server(command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}".encode())
        os._exit(127)
    server.serve()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    main(sys.argv[1:])

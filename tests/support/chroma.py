"""Chroma servers: a real `chroma run` that can be ended and begun again, and ones gone wrong."""

import contextlib
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path


class ChromaServer:
    """A real server on a free port of this machine, with its data in a folder."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, and return when it answers."""
        command = [str(Path(sys.executable).with_name("chroma")), "run"]
        self._running = subprocess.Popen(
            [*command, "--port", str(self._port), "--path", str(self._data)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2000):
            heartbeat = f"{self.url}/api/v2/heartbeat"
            with contextlib.suppress(OSError), urllib.request.urlopen(heartbeat, timeout=30):
                return
            select.select([], [], [], 0.05)
        raise TimeoutError("the Chroma server did not start")

    def hang(self) -> None:
        """Have it answer nothing until it is stopped."""
        assert self._running
        self._running.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """End it, if it runs."""
        if self._running is not None:
            self._running.send_signal(signal.SIGCONT)
            self._running.terminate()
            self._running.wait()
            self._running = None

    def wipe(self) -> None:
        """End it, and take away all it had."""
        self.stop()
        shutil.rmtree(self._data, ignore_errors=True)


@contextlib.contextmanager
def wrong_server(answer: bytes | None, port: int = 0) -> Iterator[str]:
    """The address of what answers everything with these bytes, or with None never at all."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        kept: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer is not None:
                    threading.Thread(target=keep_answering, args=(connection,), daemon=True).start()

        def keep_answering(connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while connection.recv(65536):
                    connection.sendall(answer or b"")

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()
        for connection in kept:
            connection.close()


def free_port() -> int:
    """A port that nobody listens on, below those that the system gives to others meanwhile."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port

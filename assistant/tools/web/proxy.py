"""A proxy on this machine that a browser is given, so that it too reaches only what it may.

The browser resolves no name itself: it asks here for each connection, and the guard looks at every
address that the name has before one of them is connected to.
"""

import contextlib
import select
import socket
import threading
from urllib.parse import urlsplit

from assistant.errors import ToolError
from assistant.tools.web.addresses import Guard

HEAD = 65_536
"""Bytes of a request's head."""
SILENCE = 120.0
"""Seconds without a byte after which a connection is given up."""
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """The proxy, in threads of its own, until `close`. `refused` is why, by host."""

    def __init__(self, guard: Guard) -> None:
        self.refused: dict[str, str] = {}
        self._guard = guard
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, name="browser's proxy", daemon=True).start()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(SILENCE)
            head, body = _head(client)
            line, _, rest = head.partition(b"\r\n")
            method, target, version = line.decode("latin-1").split(" ")
            tunnel = method == "CONNECT"
            parts = urlsplit(f"//{target}" if tunnel else target)
            host, port = parts.hostname or "", parts.port or (443 if tunnel else 80)
            try:
                server = self._connected(host, port)
            except ToolError as error:
                self.refused[host] = error.message
                client.sendall(REFUSED)
                return
            with server:
                if tunnel:
                    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    path = parts._replace(scheme="", netloc="").geturl() or "/"
                    server.sendall(f"{method} {path} {version}\r\n".encode("latin-1"))
                    server.sendall(_closing(rest) + b"\r\n\r\n" + body)
                _relay(client, server, both=tunnel or bool(body) or method != "GET")

    def _connected(self, host: str, port: int) -> socket.socket:
        failed: OSError | None = None
        for address in self._guard.addresses(host, port):
            try:
                return socket.create_connection((address, port), SILENCE)
            except OSError as error:
                failed = error
        raise failed or OSError("no address")


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's head, and what came of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(HEAD)
        if not piece or len(data) > HEAD:
            raise ValueError("no request")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


def _closing(fields: bytes) -> bytes:
    """The header's fields for one request alone: the next may be for another machine."""
    own = (b"connection:", b"proxy-connection:", b"keep-alive:")
    kept = [each for each in fields.split(b"\r\n") if not each.lower().startswith(own)]
    return b"\r\n".join([*kept, b"Connection: close"])


def _relay(client: socket.socket, server: socket.socket, *, both: bool) -> None:
    """Pass on what either side says, or the server alone, until one hangs up."""
    other = {client: server, server: client}
    heard = [client, server] if both else [server]
    while ready := select.select(heard, [], [], SILENCE)[0]:
        for side in ready:
            data = side.recv(65_536)
            if not data:
                return
            other[side].sendall(data)

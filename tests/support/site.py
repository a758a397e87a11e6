"""A web site on a real local socket: what each path answers, to the byte, is the test's."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Mapping

Answer = bytes | Callable[[socket.socket, bytes], None]
"""The bytes of an answer, head and all; or what is done with the connection and the request."""


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> bytes:
    """An honest answer."""
    data = body.encode() if isinstance(body, str) else body
    given = {"Content-Type": kind, "Content-Length": str(len(data)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 200 OK\r\n{head}Connection: close\r\n\r\n".encode() + data


def redirect(to: str) -> bytes:
    """An answer that sends the client elsewhere."""
    return f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


class Site:
    """The server, in threads of its own, for `with`. `asked` holds each request's bytes."""

    def __init__(self, pages: Mapping[str, Answer]) -> None:
        self.pages = dict(pages)
        self.asked: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Site":
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # ends its `accept`
        self._serving.join()
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                request += _received(connection)
            length = re.search(rb"content-length: (\d+)", request, re.IGNORECASE)
            whole = request.index(b"\r\n\r\n") + 4 + int(length[1] if length else 0)
            while len(request) < whole:
                request += _received(connection)
            self.asked.append(request)
            path = request.split(b" ")[1].decode().partition("?")[0]
            answer = self.pages.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            if isinstance(answer, bytes):
                connection.sendall(answer)
            else:
                answer(connection, request)


def _received(connection: socket.socket) -> bytes:
    """The next bytes. Raises OSError if the client has left."""
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data

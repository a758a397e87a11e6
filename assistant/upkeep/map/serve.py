"""Serves the map on this machine, so that its owner can correct and forget facts in it.

It answers only requests that know the token in the address, and none for or from another address,
such as from a web page whose host name resolves to this machine.
"""

import hmac
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import msgspec

from assistant.errors import AssistantError, LedgerError, UsageError
from assistant.memory.base import Fact, Keeper

HOST = "127.0.0.1"
MOST_BYTES = 100_000
"""Maximum bytes of a request."""
TIMEOUT = 10.0
"""Seconds within which a request has to arrive."""


@dataclass(frozen=True, slots=True)
class Change:
    """The owner's change to the fact with this ID; `text` is its corrected text."""

    do: Literal["correct", "forget"]
    id: str
    text: str = ""


def change(memory: Keeper, wanted: Change) -> None:
    """Supersede or forget a fact. Raises LedgerError if it is no longer as it was shown."""
    try:
        fact = memory.locate(wanted.id).one(wanted.id)
    except LedgerError as error:
        fault = "this fact has changed since the page was drawn"
        raise LedgerError(fault, "Reload the page") from error
    if wanted.do == "forget":
        memory.forget([fact])
        return
    (written,) = memory.remember([Fact(wanted.text, replaces=fact.id, secrets="ask")])
    if written.status == "secret":
        raise LedgerError(
            "nothing was written: the text contains a secret",
            f"`assistant remember --replaces {fact.citation}` asks what to do with it",
        )


class MapServer(ThreadingHTTPServer):
    """Serves the page at `address`. Raises UsageError for a used port."""

    daemon_threads = True

    def __init__(
        self,
        port: int,
        memory: Callable[[], AbstractContextManager[Keeper]],
        draw: Callable[[Keeper], str],
    ) -> None:
        self.memory, self.draw = memory, draw
        self.turn = threading.Lock()
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Request)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror})", "Name another"
            ) from error
        self.origin = f"http://{HOST}:{self.server_port}"
        self.address = f"{self.origin}/{self.token}"


class _Request(BaseHTTPRequestHandler):
    server: MapServer
    timeout = TIMEOUT

    def do_GET(self) -> None:
        """Answer with the page of the current memory."""
        self._respond(self.server.draw)

    def do_POST(self) -> None:
        """Change a fact."""
        length = self.headers.get("Content-Length", "")
        body = self.rfile.read(min(int(length) if length.isdecimal() else 0, MOST_BYTES))

        def changed(memory: Keeper) -> str:
            change(memory, msgspec.json.decode(body, type=Change))
            return ""

        self._respond(changed)

    def _respond(self, work: Callable[[Keeper], str]) -> None:
        given = self.headers.get("Host"), self.headers.get("Origin", self.server.origin)
        if given != (self.server.origin.removeprefix("http://"), self.server.origin):
            return self._answer(403, "this page is not for other addresses")
        if not hmac.compare_digest(self.path.encode(), f"/{self.server.token}".encode()):
            return self._answer(404, "the token in the address is missing or wrong")
        try:
            with self.server.turn, self.server.memory() as memory:
                text = work(memory)
        except AssistantError as error:
            return self._answer(409, str(error))
        except msgspec.DecodeError as error:
            return self._answer(400, str(error))
        self._answer(200, text, "text/html")

    def _answer(self, status: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: each request has the token in it."""

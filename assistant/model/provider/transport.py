"""What all requests to providers go through: httpx, with each answer watched and made a stream.

A read timeout would not end a stream of keep-alives, nor one of a byte a second. So a thread that
looks at the clock alone ends an answer at its limits, and shuts its socket.
"""

import codecs
import contextlib
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import httpx

from assistant.model.provider.bodies import TAIL, StreamedError, as_events, error_in
from assistant.model.provider.failures import RedirectedError

MOST_UNREAD = 16_000_000
"""Bytes that may come without a word of the reply among them: a whole answer that was not
streamed has less than that."""
FINISH = re.compile(rb'(?<!\\)"(?:(block)Reason|finishReason|stop_reason)"\s*:\s*"([A-Za-z_]+)"')
FINISH_LENGTH = 100
"""Bytes that a finish reason with its name may take; it may be cut anywhere."""
LINES_OF_JSON = ("ndjson", "jsonl", "stream+json")
"""In the content type of a stream whose every line is a JSON object."""
OLLAMA = ("/api/chat", "/api/generate")
FINISH_ON_THE_WIRE = (":streamGenerateContent", "/messages", ":streamRawPredict")
"""Where Gemini and Anthropic, also on Vertex, are asked."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: of silence behind the first word, until the first word, and of the whole answer.

    `first_token` None: a server on this machine may read a long prompt for as long as it takes.
    """

    silence: float = 120.0
    first_token: float | None = 300.0
    answer: float = 1800.0


class Watch:
    """Watches one request, as a context manager. `exceeded` names the limit it ran into, if any.

    `answered`: its status was no error. `finish` is the provider's own word for the end where it
    is `overheard` on the wire, since litellm's adapter makes one up (Gemini's says of every chunk
    that it is the last, Anthropic's that a word it does not know is a good end).
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.exceeded = ""
        self.answered = False
        self.overheard = False
        self.finish: str | None = None
        self._started = time.monotonic()
        self._silent_since = math.inf
        self._has_word = False
        self._unread = 0
        self._tail = b""
        self._over = threading.Event()
        self._hang_up: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begun(self, hang_up: Callable[[], None]) -> None:
        """The response has begun; `hang_up` ends it from any thread."""
        with self._lock:
            self._hang_up = hang_up
            late = bool(self.exceeded)
        if late:
            hang_up()

    def wait(self) -> None:
        """The next bytes are waited for."""
        self._silent_since = time.monotonic()

    def word(self) -> None:
        """A piece of the reply came."""
        self._has_word, self._unread = True, 0

    def read(self, piece: bytes) -> bool:
        """Take in some bytes; False if there are too many without a word."""
        if self.overheard:
            for found in FINISH.finditer(self._tail[-FINISH_LENGTH:] + piece):
                self.finish = "safety" if found[1] else found[2].decode()
        self._silent_since = math.inf  # until the next piece is waited for
        self._tail = (self._tail + piece)[-TAIL:]
        self._unread += len(piece)
        if self._unread > MOST_UNREAD:
            self.exceed("unread")
        return not self.exceeded

    @property
    def error(self) -> StreamedError | None:
        """The error with which the answer ended, if the provider sent one."""
        return error_in(self._tail) if self.answered else None

    @property
    def foreign(self) -> bool:
        """What came is neither server-sent events nor JSON: a web page, say."""
        lines = [line.strip() for line in self._tail.splitlines()]
        if len(self._tail) == TAIL:
            del lines[0]  # the rest of one
        known = (b":", b"data:", b"event:", b"id:", b"retry:", b"{")
        return any(line and not line.startswith(known) for line in lines)

    @contextlib.contextmanager
    def over_requests(self) -> Iterator[None]:
        """What this thread sends meanwhile belongs to this watch."""
        before, _current.watch = current(), self
        try:
            yield
        finally:
            _current.watch = before

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="answer's limits", daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()

    def exceed(self, limit: str) -> None:
        """End the answer at a limit."""
        with self._lock:
            self.exceeded = self.exceeded or limit
            hang_up = self._hang_up
        if hang_up:
            hang_up()

    def _run(self) -> None:
        limits = self.limits
        while True:
            ends = {"answer": self._started + limits.answer}
            if self._has_word:
                ends["silence"] = self._silent_since + limits.silence
            elif limits.first_token is not None:
                ends["first_token"] = self._started + limits.first_token
            limit = min(ends, key=lambda name: ends[name])
            left = ends[limit] - time.monotonic()
            if left <= 0:
                self.exceed(limit)
                return
            if self._over.wait(min(left, limits.silence / 4)):  # a word changes what counts
                return


class _Current(threading.local):
    watch: Watch | None = None


_current = _Current()


def current() -> Watch | None:
    """The watch over what this thread sends."""
    return _current.watch


class WatchedTransport(httpx.BaseTransport):
    """Sends by an httpx client, which knows the environment's proxies.

    It is shared by all clients that litellm makes, and stays open when one of them is closed.
    Raises RedirectedError.
    """

    def __init__(self, verify: ssl.SSLContext | str | bool = True) -> None:
        self._client = httpx.Client(verify=verify)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it; the answer to a watched one is cut off at its limits."""
        watch = current()
        if watch is None:
            return self._send(request)
        limits = watch.limits
        timeouts: dict[str, float | None] = dict.fromkeys(
            ("connect", "write", "pool"), limits.silence
        )
        first = "answer" if limits.first_token is None else "first_token"
        timeouts["read"] = limits.answer if limits.first_token is None else limits.first_token
        request.extensions["timeout"] = timeouts
        request.headers["accept-encoding"] = "identity"
        try:
            response = self._send(request)
        except httpx.ReadTimeout:
            watch.exceed(first)
            raise
        timeouts["read"] = None  # httpcore looks again when it reads the body, which is watched
        watch.begun(lambda: _hang_up(response))
        watch.overheard = request.url.path.endswith(FINISH_ON_THE_WIRE)
        watch.answered = response.is_success
        kind = response.headers.get("content-type", "")
        in_lines = request.url.path.endswith(OLLAMA) or any(each in kind for each in LINES_OF_JSON)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Body(response, watch, whole=response.is_success and not in_lines),
            extensions=response.extensions,
        )

    def _send(self, request: httpx.Request) -> httpx.Response:
        response = self._client.send(request, stream=True, follow_redirects=False)
        if response.has_redirect_location:
            response.close()
            raise RedirectedError(str(request.url.join(response.headers["location"])))
        return response


class _Body(httpx.SyncByteStream):
    """The bytes of an answer. One that came whole, as JSON, is given as the events of a stream."""

    def __init__(self, response: httpx.Response, watch: Watch, *, whole: bool) -> None:
        self._response = response
        self._watch = watch
        self._may_be_whole = whole

    def __iter__(self) -> Iterator[bytes]:
        pieces = self._read()
        head = b""
        for piece in pieces:
            head += piece
            if head.strip():
                break
        head = head.removeprefix(codecs.BOM_UTF8)
        if self._may_be_whole and head.lstrip().startswith((b"{", b"[")):
            body = head + b"".join(pieces)
            yield as_events(body) or body
            return
        yield head
        yield from pieces

    def _read(self) -> Iterator[bytes]:
        pieces = self._response.iter_raw()
        self._watch.wait()
        for piece in pieces:
            if not self._watch.read(piece):
                raise httpx.ReadError("the answer was cut off at its limit")
            yield piece
            self._watch.wait()

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def _hang_up(response: httpx.Response) -> None:
    """End what another thread reads of it: closing the socket would not wake that thread."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is not None:
        with contextlib.suppress(OSError):  # it is closed by now
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

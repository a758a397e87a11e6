"""Response bodies that are not the stream that was asked for. Pure.

Some servers answer whole where a stream was asked for; and a provider may send an error in the
middle of an answer whose status was 200.
"""

import codecs
import contextlib
import json
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx

from assistant.model.provider.failures import RedirectedError, StreamedError

Json = dict[str, Any]

TAIL = 16_384
"""Bytes at the end of an answer that are searched for an error."""
ERROR_EVENT = re.compile(rb"event:\s*error")
STATUSES = {
    "rate_limit": 429,
    "too_many_requests": 429,
    "exhausted": 429,
    "overloaded": 503,
    "unavailable": 503,
    "quota": 402,
    "billing": 402,
    "auth": 401,
    "api_key": 401,
    "permission": 403,
    "context_length": 413,
    "too_large": 413,
    "not_found": 404,
    "timeout": 504,
    "invalid": 400,
    "bad_request": 400,
}
"""HTTP status by a part of an error's type or code; the first match counts."""


def error_in(tail: bytes) -> StreamedError | None:
    """Find the error among the last lines of an answer: server-sent events, or lines of JSON."""
    lines = [line.strip() for line in tail.splitlines()]
    for before, line in reversed(list(zip([b"", *lines], lines, strict=False))):
        data = line.removeprefix(b"data:").strip()
        if error := _error(data, named=ERROR_EVENT.fullmatch(before) is not None):
            return error
    return None


def _error(line: bytes, *, named: bool) -> StreamedError | None:
    """The error in a line. `named`: the line before says that it is one."""
    if not named and b"error" not in line:
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return StreamedError(line.decode("utf-8", "replace"), 500) if named and line else None
    match event:
        case {"error": dict() as error} | {"choices": [{"error": dict() as error}, *_]}:
            pass
        case {"error": str(text)} if text:
            return StreamedError(text, 500)
        case {"object": "error"} | {"type": "error"}:
            error = event
        case dict() if named:
            error = event
        case _:
            return None
    message = error.get("message") or error.get("detail") or error.get("type") or "no reason given"
    names = [error.get(key) for key in ("code", "status_code", "status", "type")]
    return StreamedError(str(message), next(filter(None, map(_status, names)), 500))


def _status(name: Any) -> int | None:
    text = str(name).lower()
    if text.isdigit():
        return int(text) if 400 <= int(text) < 600 else None
    return next((status for part, status in STATUSES.items() if part in text), None)


def as_events(body: bytes) -> bytes | None:
    """Return a whole answer as the server-sent events of a stream; None for an unknown form.

    OpenAI's, Anthropic's and Gemini's forms are known, and an error in any of them.
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    match answer:
        case {"error": _} | {"candidates": list()}:
            return _event(answer)
        case {"choices": [{"message": dict()}, *_]}:
            return b"".join(map(_event, _openai(answer))) + b"data: [DONE]\n\n"
        case {"type": "message", "content": list()}:
            return b"".join(map(_event, _anthropic(answer)))
        case [*parts] if all(isinstance(part, dict) for part in parts):
            return b"".join(map(_event, parts))  # Gemini's, which was asked for no events
        case _:
            return None


def _event(data: Mapping[str, Any]) -> bytes:
    name = data.get("type")
    head = f"event: {name}\n" if isinstance(name, str) else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _openai(answer: Json) -> Iterator[Json]:
    choice = answer["choices"][0]
    delta = dict(choice["message"])
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [call | {"index": number} for number, call in enumerate(calls)]
    shared = answer | {"object": "chat.completion.chunk"}
    usage = shared.pop("usage", None)
    for part, finish in ((delta, None), ({}, choice.get("finish_reason"))):
        yield shared | {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}
    if usage:
        yield shared | {"choices": [], "usage": usage}


def _anthropic(answer: Json) -> Iterator[Json]:
    usage = answer.get("usage") or {}
    yield {"type": "message_start", "message": answer | {"content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        deltas: list[Json] = []
        match block:
            case {"type": "text", "text": text}:
                block = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": text}]
            case {"type": "tool_use", "input": arguments}:
                block = block | {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]
            case {"type": "thinking", "thinking": thought}:
                deltas = [{"type": "thinking_delta", "thinking": thought}]
                if signature := block.get("signature"):
                    deltas.append({"type": "signature_delta", "signature": signature})
                block = block | {"thinking": "", "signature": ""}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": answer.get("stop_reason"), "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


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

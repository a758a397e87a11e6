"""The transport of all requests to providers: httpx, with each response watched and made a stream.

A read timeout would not end a stream of keep-alives, nor one of a byte per second. So a separate
thread watches the clock, and ends a response at its limits by shutting its socket. Some servers
send a whole response where a stream was requested, and a provider may send an error in the middle
of a response with status 200.
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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import httpx

from assistant.model.provider.failures import RedirectedError, StreamedError

Json = dict[str, Any]

MOST_BYTES = 64_000_000
"""Maximum bytes of a response: far more than the longest output of any model takes as a stream."""
TAIL = 16_384
"""Bytes at the end of a response that are searched for an error."""
ERROR_EVENT = re.compile(rb"event:\s*error")
FINISH = re.compile(
    rb'(?<!\\)"(?:(block)Reason|finishReason|stopReason|(finish|stop|done)_reason)"\s*:\s*'
    rb'("(?:[^"\\]|\\.){1,60}")'
)
"""A finish reason on the wire, in the form of any provider."""
END = re.compile(
    rb'data: ?\[DONE\]|(?<!\\)"type"\s*:\s*"(?:message_stop|response\.(?:completed|incomplete))"'
    rb'|(?<!\\)"done"\s*:\s*true'
)
"""The end of a response on the wire: OpenAI's two interfaces, Anthropic's and Ollama's."""
COUNT = re.compile(rb'(?<!\\)"(?:usage(?:Metadata)?"\s*:\s*{|prompt_eval_count")')
"""The token counts of a response, in the form of any provider."""
FOUND_LENGTH = 100
"""Maximum bytes of a match of these patterns; it may be split anywhere."""
ALWAYS_FINISHED = (":streamGenerateContent", "/messages", ":streamRawPredict")
"""Endpoints of Gemini and Anthropic, also on Vertex: litellm invents a finish reason for them if
there is none on the wire."""
LINES_OF_JSON = ("ndjson", "jsonl", "stream+json")
"""Content types of streams in which every line is a JSON object."""
CODED = ("content-encoding", "content-length")
"""Headers of a compressed body; some servers compress one that was requested uncompressed."""
OLLAMA = ("/api/chat", "/api/generate")


class Watch:
    """Watches one request; a context manager that closes its response.

    `exceeded` names the limit that was exceeded, if any. The limits are in seconds: for `silence`
    after the first word, for the `first_word`, and for the whole `answer`. Without the second, a
    local server may take as long as it needs to read a long prompt.

    `answered`: its status was not an error. `web_page`: the body starts like HTML. `finish` is the
    provider's own finish reason: litellm loses it where an adapter says that more may come, and
    invents one where an adapter knows no other. `only_heard`: litellm's finish reason is
    unreliable. `ended`: the provider marked the end of the response, or sent it whole. `counted`:
    the provider reported token counts.
    """

    def __init__(self, silence: float, first_word: float | None, answer: float) -> None:
        self.silence, self.first_word, self.answer = silence, first_word, answer
        self.exceeded = ""
        self.answered = False
        self.web_page = False
        self.only_heard = False
        self.finish: str | None = None
        self.ended = False
        self.counted = False
        self._started = time.monotonic()
        self._silent_since = math.inf
        self._has_word = False
        self._received = 0
        self._tail = b""
        self._over = threading.Event()
        self._response: httpx.Response | None = None
        self._lock = threading.Lock()

    def begun(self, response: httpx.Response) -> None:
        """Record that this response has started."""
        with self._lock:
            self._response = response
            late = bool(self.exceeded)
        if late:
            _abort(response)

    def word(self) -> None:
        """Record that a piece of the reply has arrived."""
        self._has_word = True

    def body(self, response: httpx.Response, *, may_be_whole: bool) -> Iterator[bytes]:
        """Yield the body of a response; a whole JSON response as the events of a stream. Raises
        httpx.ReadError at a limit."""
        pieces = self._watched(response.iter_bytes())
        head = b""
        for piece in pieces:
            head += piece
            if head.strip():
                break
        head = head.removeprefix(codecs.BOM_UTF8)
        self.web_page = head.lstrip().startswith(b"<")
        if may_be_whole and head.lstrip().startswith((b"{", b"[")):
            body = head + b"".join(pieces)
            events = as_events(body)
            self.ended = self.ended or events is not None
            yield from repaired([events or body])
        else:
            yield from repaired(chain([head], pieces))

    def _watched(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        self._silent_since = time.monotonic()
        for piece in pieces:
            self._silent_since = math.inf  # until the next piece is awaited
            searched = self._tail[-FOUND_LENGTH:] + piece
            self.ended = self.ended or END.search(searched) is not None
            self.counted = self.counted or COUNT.search(searched) is not None
            for match in FINISH.finditer(searched):
                if match[2] == b"stop" and not self.only_heard:
                    continue  # in vLLM, the text at which it stopped
                with contextlib.suppress(ValueError):
                    self.finish = "safety" if match[1] else json.loads(match[3])
            self._tail = (self._tail + piece)[-TAIL:]
            self._received += len(piece)
            if self._received > MOST_BYTES:
                self.exceed("size")
            if self.exceeded:
                raise httpx.ReadError("the answer was cut off at its limit")
            yield piece
            self._silent_since = time.monotonic()

    @property
    def error(self) -> StreamedError | None:
        """The error with which the response ended, if the provider sent one."""
        return error_in(self._tail) if self.answered else None

    @contextlib.contextmanager
    def over_requests(self) -> Iterator[None]:
        """Watch the requests that this thread sends inside the `with` block."""
        previous, _current.watch = _current.watch, self
        try:
            yield
        finally:
            _current.watch = previous

    def __enter__(self) -> Self:
        threading.Thread(target=self._run, name="answer's limits", daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        if self._response is not None:
            self._response.close()

    def exceed(self, limit: str) -> None:
        """End the response at a limit."""
        with self._lock:
            self.exceeded = self.exceeded or limit
            response = self._response
        if response:
            _abort(response)

    def _run(self) -> None:
        while True:
            deadlines = {"answer": self._started + self.answer}
            if self._has_word:
                deadlines["silence"] = self._silent_since + self.silence
            elif self.first_word is not None:
                deadlines["first_word"] = self._started + self.first_word
            limit = min(deadlines, key=lambda name: deadlines[name])
            remaining = deadlines[limit] - time.monotonic()
            if remaining <= 0:
                self.exceed(limit)
                return
            # the first word changes the limit that applies
            if self._over.wait(min(remaining, self.silence / 4)):
                return


class _Current(threading.local):
    watch: Watch | None = None


_current = _Current()


class WatchedTransport(httpx.BaseTransport):
    """Sends through an httpx client, which uses the environment's proxies.

    All clients that litellm makes share it, and it stays open when one of them is closed. Raises
    RedirectedError.
    """

    def __init__(self, verify: ssl.SSLContext | str | bool = True) -> None:
        self._client = httpx.Client(verify=verify)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request; a watched response is cut off at its limits."""
        watch = _current.watch
        if watch is None:
            return self._send(request)
        timeouts: dict[str, float | None] = dict.fromkeys(
            ("connect", "write", "pool"), watch.silence
        )
        timeouts["read"] = watch.answer if watch.first_word is None else watch.first_word
        request.extensions["timeout"] = timeouts
        request.headers["accept-encoding"] = "identity"
        try:
            response = self._send(request)
        except httpx.ReadTimeout:
            watch.exceed("answer" if watch.first_word is None else "first_word")
            raise
        timeouts["read"] = None  # httpcore reads it again for the body, which is watched
        watch.begun(response)
        watch.only_heard = request.url.path.endswith(ALWAYS_FINISHED)
        watch.answered = response.is_success
        kind = response.headers.get("content-type", "")
        in_lines = request.url.path.endswith(OLLAMA) or any(name in kind for name in LINES_OF_JSON)
        return httpx.Response(
            response.status_code,
            headers=[item for item in response.headers.multi_items() if item[0] not in CODED],
            content=watch.body(response, may_be_whole=response.is_success and not in_lines),
            extensions=response.extensions,
        )

    def _send(self, request: httpx.Request) -> httpx.Response:
        response = self._client.send(request, stream=True, follow_redirects=False)
        if response.has_redirect_location:
            response.close()
            raise RedirectedError(str(request.url.join(response.headers["location"])))
        return response


def _abort(response: httpx.Response) -> None:
    """Abort a read in another thread, which closing the socket would not wake."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if connection is not None:
        with contextlib.suppress(OSError):  # already closed
            socket.socket.shutdown(connection, socket.SHUT_RDWR)


def error_in(tail: bytes) -> StreamedError | None:
    """Find the error in the last lines of a response: server-sent events, or lines of JSON."""
    lines = [line.strip() for line in tail.splitlines()]
    for previous, line in reversed(list(zip([b"", *lines], lines, strict=False))):
        data = line.removeprefix(b"data:").strip()
        is_error_event = ERROR_EVENT.fullmatch(previous) is not None
        if (is_error_event or b"error" in data) and (error := _error(data, named=is_error_event)):
            return error
    return None


def _error(data: bytes, *, named: bool) -> StreamedError | None:
    """Return the error in an event's data. `named`: the event's name says that it is one."""
    try:
        event = json.loads(data)
    except ValueError:
        return StreamedError(data.decode("utf-8", "replace")) if named and data else None
    match event:
        case {"error": dict() as error} | {"choices": [{"error": dict() as error}, *_]}:
            pass
        case {"error": str(text)} if text:
            return StreamedError(text)
        case dict() as error if named or error.get("object", error.get("type")) == "error":
            pass
        case _:
            return None
    message = error.get("message") or error.get("detail") or error.get("type") or "no reason given"
    codes = [str(error.get(key, "")) for key in ("code", "status_code", "status", "type")]
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), None)
    return StreamedError(str(message), status, " ".join(codes))


def as_events(body: bytes) -> bytes | None:
    """Convert a whole response to the server-sent events of a stream; return None for an unknown
    form.

    OpenAI's and Gemini's forms are known, and an error in either.
    """
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    match answer:
        case {"error": _} | {"candidates": list()}:
            return _event(answer)
        case {"choices": [{"message": dict()}, *_]}:
            return b"".join(map(_event, _chunks(answer))) + b"data: [DONE]\n\n"
        case [*parts] if all(isinstance(part, dict) for part in parts):
            return b"".join(map(_event, parts))  # Gemini's form, when no events were requested
        case _:
            return None


def _event(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _chunks(answer: Json) -> Iterator[Json]:
    """Yield the chunks of a whole response in OpenAI's form."""
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


# Repairs to a stream that litellm's adapters would lose or misread: of server-sent events they know
# only `data`, each on one line; they split lines at text that only looks like a line ending; they
# drop a refusal, and content that is a list of parts; they ignore Anthropic's arguments that arrive
# whole, and give a piece of any to the call that began last; they fail on Gemini's call without
# arguments; and they take Ollama's `<think>` anywhere as the start of reasoning, or ignore it.

FIELD = re.compile(rb"(data|event|id|retry)?:")
"""The start of a line of server-sent events; without a name it is a comment."""
DONE = b"[DONE]"
SEPARATORS = re.compile(rb"[\x0b\x0c\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Characters at which Python splits lines, other than line breaks."""
BLOCK_EVENTS = ("content_block_start", "content_block_delta", "content_block_stop")
IN_TAG = re.compile(r"(?<=<)(?=/?think>)")
MARKS = re.compile(rb'functionCall|tool_use|think|"refusal"|"content"\s*:\s*\[')
"""Every event that needs a repair contains one of these."""


def repaired(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the stream in whole lines, repaired; of server-sent events only the data.

    Raises ValueError for a broken event.
    """
    blocks = _Blocks()
    data: list[bytes] = []  # of an incomplete event
    for line in _lines(pieces):
        field = FIELD.match(line)
        if field and field[1] == b"data":
            data.append(line.removeprefix(b"data:").strip())
            text = b"".join(data)
            parts = [DONE] if text == DONE else _repaired(text, blocks)
            if parts is not None:
                data.clear()
                objects = (part for part in parts if part.startswith((b"{", DONE)))
                yield from (b"data: " + part + b"\n\n" for part in objects)
        elif data and not line.strip():  # the end of an event
            if data[0].startswith(b"{"):
                json.loads(b"".join(data))
            data.clear()
        elif not field:
            parts = _repaired(line, blocks)
            yield from [line] if parts is None else (part.strip() + b"\n" for part in parts)
    if data:
        yield b"data: " + b"".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    pending: list[bytes] = []
    for piece in pieces:
        whole, newline, rest = piece.rpartition(b"\n")
        if newline:
            text = SEPARATORS.sub(_escaped, b"".join([*pending, whole]))
            yield from (line + b"\n" for line in text.split(b"\n"))
            pending.clear()
        pending.append(rest)
    if last := b"".join(pending):
        yield SEPARATORS.sub(_escaped, last)


@dataclass(slots=True)
class _Blocks:
    """Anthropic's blocks: the tool call that is `open`, the events of other blocks, `held` until it
    ends, and `inputs`, arguments that arrived whole, by block."""

    open: int | None = None
    held: list[Any] = field(default_factory=list)
    inputs: dict[int, dict[Any, Any]] = field(default_factory=dict)

    def in_order(self, event: Any) -> Iterator[Any]:
        """Yield the event, and those that it releases, one block after the other."""
        match event:
            case {"type": str() as kind, "index": int() as index} if kind in BLOCK_EVENTS:
                if self.open not in (None, index):
                    self.held.append(event)
                    return
                if kind == BLOCK_EVENTS[0] and "tool_use" in str(event.get("content_block")):
                    self.open = index
                yield event
                if kind == BLOCK_EVENTS[-1]:
                    yield from self._released()
            case {"type": "message_delta" | "message_stop"}:
                while self.open is not None:
                    yield from self._released()
                yield event
            case _:
                yield event

    def _released(self) -> Iterator[Any]:
        held, self.held, self.open = self.held, [], None
        for event in held:
            yield from self.in_order(event)


def _repaired(text: bytes, blocks: _Blocks) -> list[bytes] | None:
    """Return the events that replace one; None if it is incomplete."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if blocks.open is None and not MARKS.search(text):
        return [text]
    ordered = blocks.in_order(event)
    return [json.dumps(part).encode() for each in ordered for part in _events(each, blocks.inputs)]


def _events(event: Any, inputs: dict[int, dict[Any, Any]]) -> Iterator[Any]:
    match event:
        case {"candidates": [{"content": {"parts": [*parts]}}, *_]}:
            for part in parts:
                match part:
                    case {"functionCall": dict() as call}:
                        call.setdefault("args", {})
        case {"choices": [{"delta": {"content": [*parts]} as delta}, *_]}:
            delta["content"] = _text(parts)
            thoughts = (part.get("thinking") for part in parts if isinstance(part, dict))
            if thought := "".join(map(_text, thoughts)):
                delta["reasoning_content"] = thought
        case {"choices": [{"delta": {"refusal": str() as refusal} as delta}, *_]}:
            delta["content"] = delta.get("content") or refusal
        case {"message": {"content": str() as text} as message, "done": _}:
            *pieces, rest = IN_TAG.split(text)
            for piece in pieces:
                yield event | {
                    "message": {"role": "assistant", "content": piece},
                    "done": False,
                }
            event["message"] = message | {"content": rest}
        case {
            "type": "content_block_start",
            "index": int() as index,
            "content_block": {"type": "tool_use", "input": {**arguments}},
        } if arguments:
            inputs[index] = arguments
        case {"index": int() as index, "delta": {"partial_json": str() as text}} if text:
            inputs.pop(index, None)
        case {"type": "content_block_stop", "index": int() as index} if index in inputs:
            text = json.dumps(inputs.pop(index))
            delta = {"type": "input_json_delta", "partial_json": text}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield event


def _text(parts: Any) -> str:
    """Return the text of a content that is a list of parts."""
    listed = parts if isinstance(parts, list) else ()
    texts = (part.get("text") for part in listed if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _escaped(character: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(character[0].decode())

"""A language-model provider on a real local socket, scripted by the test.

It speaks the wire formats of `tests.support.wires`, each streamed, and picks one by the path of the
request: OpenAI's chat completions (`/chat/completions`), Anthropic's messages (`/messages`),
Ollama's chat (`/api/chat`) and Gemini's (`:streamGenerateContent`). A step of the script is a
text, a `Reply`, or `Raw` bytes with any status::

    with Provider("Hello!", Reply(tool_calls=(ToolCall("c1", "look"),)), fails(429)) as provider:
        ...  # api_base=provider.url
    assert provider.requests[0].body["model"] == "test"
"""

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from assistant.messages import Reply, estimate_tokens
from tests.support.wires import WIRES, anthropic, chunk, ollama, openai, sse, words

__all__ = ["Provider", "Raw", "anthropic", "chunk", "fails", "ollama", "openai", "sse", "words"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing until `until` is set, the client hangs up, or the provider closes.

    As the first part of a body it holds back the status line as well.
    """

    until: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Drip:
    """Send these bytes again and again, a moment apart, until the client hangs up."""

    data: bytes
    moment: float = 0.02


@dataclass(frozen=True, slots=True)
class Cut:
    """Reset the connection here."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A response as it stands: `parts` of the body, sent one by one, then a clean end."""

    parts: tuple[bytes | Pause | Drip | Cut, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Received:
    """A request that came in. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def roles(self) -> list[str]:
        """The roles of its messages, in order."""
        return [message["role"] for message in self.body["messages"]]


Answer = str | Reply | Raw
Step = Answer | Callable[[Received], Answer]


def fails(
    status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **error: Any
) -> Raw:
    """An error response in OpenAI's form; `error` adds to its object (`code=`, `type=`)."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return Raw((body,), status, headers or {}, "application/json")


class Provider:
    """The server, in a thread of its own, for `with`.

    Requests take the script's steps in order, then `respond` answers. With `window`, a request
    estimated over that many tokens is refused as OpenAI refuses it, and takes no step.
    `requests` holds what came in, `visits` each request line whatever it asks, `hang_ups` counts
    the streams the client did not wait for.
    """

    def __init__(
        self,
        *steps: Step,
        respond: Callable[[Received], Answer] | None = None,
        window: int | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.visits: list[str] = []
        self.hang_ups = 0
        self.closing = threading.Event()
        self._steps = deque(steps)
        self._respond = respond
        self._window = window
        self._turn = threading.Condition()
        self._server = _Server(self)

    @property
    def root(self) -> str:
        """The address without a path: Anthropic's and Ollama's `api_base`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """OpenAI's `api_base`."""
        return f"{self.root}/v1"

    def enqueue(self, *steps: Step) -> None:
        """Add steps to the end of the script."""
        self._steps.extend(steps)

    def answer(self, request: Received) -> Answer:
        """What this request gets; records it."""
        with self._turn:
            self.requests.append(request)
            size = estimate_tokens(json.dumps(request.body))
            if self._window is not None and size > self._window:
                return _overflow(size, self._window)
            step = self._steps.popleft() if self._steps else self._respond
            self._turn.notify_all()
        if step is None:
            return fails(500, f"the script has no answer for request {len(self.requests)}")
        return step(request) if callable(step) else step

    def hung_up(self) -> None:
        """Count a client that left."""
        with self._turn:
            self.hang_ups += 1
            self._turn.notify_all()

    def wait_for(self, condition: Callable[["Provider"], bool], timeout: float = 60.0) -> bool:
        """Wait until a request or a hang-up makes `condition` true; False if none does."""
        with self._turn:
            return self._turn.wait_for(lambda: condition(self), timeout)

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket.setblocking(False)  # a client may have left before it is accepted

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    started = False

    def do_POST(self) -> None:
        self.server.provider.visits.append(self.requestline)
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        encode = next((wire for end, wire in WIRES.items() if path.endswith(end)), None)
        if encode is None:
            self._send(fails(404, f"no {self.path} here"))
            return
        answer = self.server.provider.answer(Received(self.path, headers, body))
        match answer:
            case Raw():
                self._send(answer)
            case _:
                reply = Reply(answer) if isinstance(answer, str) else answer
                kind = "application/x-ndjson" if encode is ollama else "text/event-stream"
                self._send(Raw(tuple(encode(reply)), content_type=kind))

    def do_GET(self) -> None:
        self.server.provider.visits.append(self.requestline)
        self._send(fails(404, f"no {self.path} here"))

    def _send(self, raw: Raw) -> None:
        self.started, self.close_connection = False, True
        try:
            for part in raw.parts:
                match part:
                    case Pause(until):
                        self._hold(until)
                    case Drip():
                        self._drip(raw, part)
                    case Cut():
                        self._reset()
                        return
                    case bytes():
                        self._write(raw, part)
            self._write(raw, b"")
        except OSError:
            self.server.provider.hung_up()

    def _write(self, raw: Raw, part: bytes) -> None:
        if not self.started:
            self.started = True
            self.send_response(raw.status)
            self.send_header("Content-Type", raw.content_type)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Connection", "close")
            for name, value in raw.headers.items():
                self.send_header(name, value)
            self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    def _hold(self, until: threading.Event) -> None:
        """Wait for the event while watching the socket: readable means the client left."""
        self.connection.settimeout(0.02)
        try:
            while not until.is_set() and not self.server.provider.closing.is_set():
                try:
                    left = self.connection.recv(1) == b""
                except TimeoutError:
                    continue
                if left:
                    raise BrokenPipeError
        finally:
            self.connection.settimeout(None)

    def _drip(self, raw: Raw, drip: Drip) -> None:
        while not self.server.provider.closing.wait(drip.moment):
            self._write(raw, drip.data)

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _overflow(size: int, window: int) -> Raw:
    return fails(
        400,
        f"This model's maximum context length is {window} tokens. However, your messages "
        f"resulted in {size} tokens. Please reduce the length of the messages.",
        type="invalid_request_error",
        code="context_length_exceeded",
    )

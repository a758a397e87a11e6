"""What all requests to providers go through: httpx, with each answer watched and made a stream."""

import codecs
import contextlib
import socket
import ssl
from collections.abc import Iterator

import httpx

from assistant.model.provider.http.unstreamed import as_events
from assistant.model.provider.http.watch import Watch, current

LINES_OF_JSON = ("ndjson", "jsonl", "stream+json")
"""In the content type of a stream whose every line is a JSON object."""
OLLAMA = ("/api/chat", "/api/generate")
OVERHEARD = (":streamGenerateContent", "/messages", ":streamRawPredict")
"""Where Gemini and Anthropic, also on Vertex, are asked."""


class WatchedTransport(httpx.BaseTransport):
    """Sends by an httpx client, which knows the environment's proxies.

    It is shared by all clients that litellm makes, and stays open when one of them is closed.
    """

    def __init__(self, verify: ssl.SSLContext | str | bool = True) -> None:
        self._client = httpx.Client(verify=verify)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send it; the answer to a watched one is cut off at its limits."""
        watch = current()
        if watch is None:
            return self._client.send(request, stream=True)
        return self._watched(request, watch)

    def _watched(self, request: httpx.Request, watch: Watch) -> httpx.Response:
        limits = watch.limits
        timeouts = dict.fromkeys(("connect", "write", "pool", "read"), limits.silence)
        timeouts["read"] = min(limits.silence, limits.first_token)
        request.extensions["timeout"] = timeouts
        request.headers["accept-encoding"] = "identity"
        response = self._client.send(request, stream=True)
        timeouts["read"] = limits.silence  # httpcore looks again when it reads the body
        watch.begun(lambda: _hang_up(response))
        watch.overheard = request.url.path.endswith(OVERHEARD)
        watch.answered = response.is_success
        body = _Body(response, watch, whole=response.is_success and not _in_lines(response))
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=body,
            extensions=response.extensions,
        )


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
        for piece in self._response.iter_raw():
            if not self._watch.read(piece):
                raise httpx.ReadError("the answer was cut off at its limit")
            yield piece

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def _in_lines(response: httpx.Response) -> bool:
    kind = response.headers.get("content-type", "")
    by_path = response.request.url.path.endswith(OLLAMA)
    return by_path or any(each in kind for each in LINES_OF_JSON)


def _hang_up(response: httpx.Response) -> None:
    """End what another thread reads of it: closing the socket would not wake that thread."""
    stream = response.extensions.get("network_stream")
    found = stream.get_extra_info("socket") if stream is not None else None
    if found is not None:
        with contextlib.suppress(OSError):  # it is closed by now
            socket.socket.shutdown(found, socket.SHUT_RDWR)

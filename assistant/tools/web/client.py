"""An httpx2 client whose connections the guard approves and a deadline ends.

A name is resolved and checked for each connection, so one that later resolves differently is
checked again. TLS and the Host header keep the name.
"""

import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore2
import httpx2

from assistant import __version__
from assistant.errors import ToolError
from assistant.tools.web.addresses import Guard, canonical

AGENT = f"Mozilla/5.0 (compatible; assistant/{__version__})"
FAULTS = (httpx2.HTTPError, httpx2.InvalidURL)
"""Errors that a request may raise."""


@contextmanager
def client(guard: Guard, seconds: float) -> Iterator[httpx2.Client]:
    """Yield a client for requests within `seconds` in total. It uses no proxy and no `.netrc`.

    Errors inside are raised as ToolError.
    """
    http_client = httpx2.Client(
        transport=_Transport(_Backend(guard, time.monotonic() + seconds)),
        timeout=seconds,
        trust_env=False,
        follow_redirects=False,
        headers={"user-agent": AGENT, "accept-encoding": "gzip"},
    )
    try:
        with http_client:
            yield http_client
    except FAULTS as error:
        raise ToolError(_describe_error(error, seconds)) from error


def received(response: httpx2.Response, most: int, seconds: float) -> tuple[bytes, str]:
    """Return the decompressed body, up to `most` bytes, and the reason if it is truncated."""
    data, truncation = bytearray(), ""
    try:
        # decoded as it arrives, so a compression bomb is noticed
        for piece in response.iter_bytes():
            data += piece
            if len(data) > most:
                truncation = f"it is longer than {most:,} bytes, and was cut there"
                break
    except FAULTS as error:
        if not data:
            raise
        truncation = f"it broke off after {len(data):,} bytes ({_describe_error(error, seconds)})"
    return bytes(data[:most]), truncation


def _describe_error(error: Exception, seconds: float) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return f"it took longer than {seconds:g} seconds"
    return f"the connection failed: {error or type(error).__name__}"


class _Transport(httpx2.HTTPTransport):
    """Sends through a connection pool with the network backend below."""

    def __init__(self, backend: "_Backend") -> None:
        trusted = httpx2.create_ssl_context()
        super().__init__(verify=trusted)
        assert isinstance(self._pool, httpcore2.ConnectionPool)  # the attribute replaced below
        self._pool = httpcore2.ConnectionPool(ssl_context=trusted, network_backend=backend)


class _Backend(httpcore2.NetworkBackend):
    """Connects to an address that the guard has checked."""

    def __init__(self, guard: Guard, deadline: float) -> None:
        self._guard = guard
        self._deadline = deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of the name that answers."""
        stream = self._guard.connected(
            host,
            port,
            lambda address: self._sockets.connect_tcp(
                address, port, _remaining(self._deadline), local_address, socket_options
            ),
        )
        return _Timed(stream, self._deadline)


class _Timed(httpcore2.NetworkStream):
    """A connection on which nothing waits past the deadline, however slowly bytes arrive."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _remaining(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _remaining(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        remaining = _remaining(self._deadline)
        return _Timed(
            self._stream.start_tls(ssl_context, server_hostname, remaining), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _remaining(deadline: float) -> float:
    """Return the remaining seconds. Raises ReadTimeout if there are none."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise httpcore2.ReadTimeout("the time is up")
    return remaining


REDIRECTS = 8
UNREADABLE = ("image/", "audio/", "video/", "font/", "application/zip", "application/gzip")
"""Content types that are not fetched; other binary types are reported when read."""


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page. `short` says why it is truncated, if it is."""

    url: str
    kind: str
    charset: str
    data: bytes
    short: str = ""


def fetched(url: str, guard: Guard, seconds: float, size: int, may: Callable[[str], None]) -> Page:
    """Fetch a page, following redirects, up to `size` decompressed bytes.

    Raises ToolError, also if `may` does for a redirect target that the owner's rules forbid.
    """
    with client(guard, seconds) as web:
        for _ in range(REDIRECTS + 1):
            with web.stream("GET", url, headers={"accept": "text/html, */*;q=0.5"}) as response:
                if not response.has_redirect_location:
                    kind = _kind(url, response)
                    data, short = received(response, size, seconds)
                    return Page(url, kind, response.charset_encoding or "", data, short)
                url = canonical(str(httpx2.URL(url).join(response.headers["location"])))
                may(url)
    raise ToolError(f"the page redirects more than {REDIRECTS} times")


def _kind(url: str, response: httpx2.Response) -> str:
    """Return the page's content type. Raises ToolError for an error page or an unreadable type."""
    if response.status_code >= 400:
        raise ToolError(f"{url} answers {response.status_code} {response.reason_phrase}".rstrip())
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.startswith(UNREADABLE):
        raise ToolError(f"{url} is {kind}, not a page or text")
    return str(kind)

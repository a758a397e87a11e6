"""Fetching one page, whatever its server does: redirects, endless bodies, false lengths."""

import zlib
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from assistant.errors import ToolError
from assistant.tools.web import pinned
from assistant.tools.web.addresses import Guard

REDIRECTS = 8
LONGEST = 4_000
"""Characters of an address."""
READABLE = ("text/", "application/json", "application/xml", "application/xhtml", "+xml", "+json")


@dataclass(frozen=True, slots=True)
class Limits:
    """What fetching a page may take: seconds in all, and bytes of the page, unpacked."""

    seconds: float = 30.0
    size: int = 5_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """What came of an address. `short` says why it is not all of the page, if it is not."""

    url: str
    kind: str
    charset: str | None
    data: bytes
    short: str = ""

    @property
    def is_html(self) -> bool:
        """Whether it is a page with markup; a page that does not say what it is, is taken so."""
        return not self.kind or "html" in self.kind

    @property
    def text(self) -> str:
        """What it says, as it was written."""
        try:
            return self.data.decode(self.charset or "utf-8", "replace")
        except LookupError:
            return self.data.decode("utf-8", "replace")


def checked(url: str) -> str:
    """The address, if it is one of the web. Raises ToolError."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ToolError(f"{url!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https"):
        raise ToolError(f"{url!r} is not of the web: only http and https are")
    if not host:
        raise ToolError(f"{url!r} names no machine")
    if "@" in parts.netloc:
        raise ToolError("an address with a name or password in it is not fetched")
    if len(url) > LONGEST:
        raise ToolError(f"the address has {len(url):,} characters; the most is {LONGEST:,}")
    return url


def fetched(url: str, guard: Guard, limits: Limits) -> Page:
    """The page at an address, through its redirects, each looked at anew. Raises ToolError."""
    with pinned.client(guard, limits.seconds) as client:
        for _ in range(REDIRECTS + 1):
            url = checked(url)
            request = client.build_request("GET", url, headers={"accept": "text/html, */*;q=0.5"})
            response = client.send(request, stream=True)
            try:
                if not response.has_redirect_location:
                    return _page(url, response, limits)
                url = str(httpx2.URL(url).join(response.headers["location"]))
            finally:
                response.close()
    raise ToolError(f"the page redirects more than {REDIRECTS} times")


def _page(url: str, response: httpx2.Response, limits: Limits) -> Page:
    if response.status_code >= 400:
        raise ToolError(f"{url} answers {response.status_code} {response.reason_phrase}".rstrip())
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not any(each in kind for each in READABLE):
        raise ToolError(f"{url} is {kind}, and not a page or text")
    data, short = _read(response, limits)
    return Page(url, kind, response.charset_encoding, data, short)


def _read(response: httpx2.Response, limits: Limits) -> tuple[bytes, str]:
    """The body, unpacked, up to the limit; and why it is not all, if it is not."""
    unpack = _unpacker(response.headers.get("content-encoding", "").strip().lower())
    data, short = bytearray(), ""
    try:
        for piece in response.iter_raw():
            data += unpack(piece, limits.size + 1 - len(data))
            if len(data) > limits.size:
                short = f"it is longer than {limits.size:,} bytes, and was cut there"
                break
    except (*pinned.FAULTS, zlib.error) as error:
        why = pinned.explained(error, limits.seconds)
        if not data:
            raise ToolError(why) from error
        short = f"it broke off after {len(data):,} bytes ({why})"
    return bytes(data[: limits.size]), short


class _Plain:
    def __call__(self, piece: bytes, most: int) -> bytes:
        return piece[:most]


class _Gzip:
    """Unpacks no more than is wanted: a small file may unpack to a huge one.

    A page may be packed in several parts, one behind the other.
    """

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def __call__(self, piece: bytes, most: int) -> bytes:
        data = self._inflate.decompress(piece, max(1, most))
        while self._inflate.eof and self._inflate.unused_data and len(data) < most:
            rest = self._inflate.unused_data
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
            data += self._inflate.decompress(rest, most - len(data))
        return data


def _unpacker(encoding: str) -> _Plain | _Gzip:
    if encoding in ("", "identity"):
        return _Plain()
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Gzip()
    raise ToolError(f"the page is packed by {encoding!r}, which was not asked for")

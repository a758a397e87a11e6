"""Decides which hosts may be reached.

A name is resolved once, each of its addresses is checked, and the connection goes to one of those
addresses.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, unquote_to_bytes, urlsplit, urlunsplit

from assistant.errors import ToolError
from assistant.tools.places import INNER_NETWORKS

T = TypeVar("T")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}
ODD = re.compile(r"[\s\\\x00-\x20]")
SCHEME = re.compile(r"[A-Za-z][\w+-]*:(?!\d)")
"""`mailto:`, but not a host and a port."""
PATH = "/:@!$&'()*+,;=~-._"
LONGEST = 4_000
"""Maximum length of a URL, in characters."""
Resolver = Callable[[str, int], Sequence[str]]
"""Returns the current addresses of a name. Raises OSError."""

INNER = tuple(map(ipaddress.ip_network, INNER_NETWORKS))
NAT64 = ipaddress.ip_network("64:ff9b::/96")


def typed(url: str) -> str:
    """Canonicalise a URL as typed by a person, perhaps without its scheme."""
    url = url.strip()
    return canonical(url if "://" in url or SCHEME.match(url) else f"https://{url}")


def canonical(url: str) -> str:
    """Return a web URL in canonical form, whatever its case, dots, port or escapes.

    Raises ToolError if it is not a web URL, or contains a password.
    """
    if len(url) > LONGEST:
        raise ToolError(f"the address has {len(url):,} characters; the most is {LONGEST:,}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode()
    except (ValueError, UnicodeError) as error:
        raise ToolError(f"{url!r} is not an address: its host or port is malformed") from error
    host = host.rstrip(".")
    if parts.scheme not in PORTS:
        raise ToolError(f"{url!r} is not a web address: only http and https are allowed")
    if not host or ODD.search(parts.netloc):
        raise ToolError(f"{url!r} names no host")
    if "@" in parts.netloc:
        raise ToolError("an address with a user name or password is not fetched")
    try:
        host = socket.inet_ntoa(socket.inet_aton(host))  # 127.1, 0x7f.1 and 2130706433 as well
    except OSError:
        host = f"[{host}]" if ":" in host else host
    netloc = host if port in (None, PORTS[parts.scheme]) else f"{host}:{port}"
    path = quote(unquote_to_bytes(parts.path), safe=PATH) if "%" in parts.path else parts.path
    return urlunsplit((parts.scheme, netloc, _without_dots(path), parts.query, ""))


def _without_dots(path: str) -> str:
    """Resolve `.` and `..` in a path, as a browser does."""
    parts: list[str] = []
    names = path.split("/")[1:]
    for name in names:
        if name == "..":
            parts = parts[:-1]
        elif name != ".":
            parts.append(name)
    return "/" + "/".join([*parts, *([""] if names and names[-1] in (".", "..") else [])])


def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, as this machine resolves it."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@dataclass(frozen=True, slots=True)
class Guard:
    """Allows connections to public addresses, and to those of the `allowed` hosts.

    A host is a name, an address or a network (`10.0.0.0/8`), as the owner wrote it.
    """

    allowed: Collection[str] = ()
    resolve: Resolver = resolved

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses to connect to for this name. Raises ToolError if any is refused."""
        name = host.strip("[]").rstrip(".").casefold()
        try:
            addresses = self.resolve(name, port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", "") or "no such name"
            raise ToolError(f"there is no host {host!r}: {reason}") from error
        if not addresses:
            raise ToolError(f"there is no host {host!r}")
        if name not in {allowed.casefold() for allowed in self.allowed}:
            for address in addresses:
                self._check(host, ipaddress.ip_address(address.partition("%")[0]))
        return addresses

    def connected(self, host: str, port: int, connect: Callable[[str], T]) -> T:
        """Return the result of `connect` for the first of the name's addresses that answers.

        Raises ToolError like `addresses`, and the error of the last address.
        """
        *others, last = self.addresses(host, port)
        for address in others:
            with suppress(Exception):  # the next one may answer
                return connect(address)
        return connect(last)

    def _check(self, host: str, address: Address) -> None:
        if not (is_public(address) or any(_contains(name, address) for name in self.allowed)):
            raise ToolError(
                f"{host} is {address}, a private address: not fetched",
                "The owner can allow it in `web.allow_private`",
            )


def _contains(network: str, address: Address) -> bool:
    """Return whether the address equals `network` or is in it, as the owner wrote it."""
    with suppress(ValueError):  # a name
        return address in ipaddress.ip_network(network, strict=False)
    return False


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet.

    An IPv6 address that embeds an IPv4 one is judged by that; other, obsolete transition forms are
    not public.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if address.is_multicast or not address.is_global:
        return False
    return not any(address in network for network in INNER if network.version == address.version)

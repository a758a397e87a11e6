"""Which machines may be reached: a name is resolved once, every address it has is looked at, and
a connection goes to one of those and to no other."""

import ipaddress
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from assistant.errors import ToolError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], Sequence[str]]
"""The addresses that a name has at this moment. Raises OSError."""

INNER = tuple(
    ipaddress.ip_network(each)
    for each in ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4")
)
"""Ranges that lead to no public machine, whatever Python's version says of them."""
NAT64 = ipaddress.ip_network("64:ff9b::/96")
SIX_TO_FOUR, TEREDO = ipaddress.ip_network("2002::/16"), ipaddress.ip_network("2001::/32")


def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, as this machine finds them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets connections through to public addresses, and to those of the `allowed` hosts.

    A host is a name, an address or a network (`10.0.0.0/8`), as the owner wrote it.
    """

    allowed: Collection[str] = ()
    resolve: Resolver = resolved

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """What may be connected to for this name. Raises ToolError if any address is refused."""
        name = host.strip("[]").rstrip(".").casefold()
        try:
            found = self.resolve(name, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"there is no machine {host!r}: {_reason(error)}") from error
        if not found:
            raise ToolError(f"there is no machine {host!r}")
        if name not in {each.casefold() for each in self.allowed}:
            for each in found:
                self._check(host, ipaddress.ip_address(each.partition("%")[0]))
        return found

    def _check(self, host: str, address: Address) -> None:
        if is_public(address) or any(address in each for each in self._networks()):
            return
        raise ToolError(
            f"{host} is {address}, a private address: not reached",
            "The owner can allow it in `web.allow_private`",
        )

    def _networks(self) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        found = []
        for each in self.allowed:
            try:
                found.append(ipaddress.ip_network(each, strict=False))
            except ValueError:  # a name
                continue
        return found


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet, also the one that is written inside it."""
    inner = _inside(address)
    if inner is not None:
        return is_public(inner)
    if address.is_multicast or not address.is_global:
        return False
    return not any(address in each for each in INNER if each.version == address.version)


def _inside(address: Address) -> Address | None:
    """The IPv4 address that an IPv6 one leads to; None if it is none of those."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in SIX_TO_FOUR and address.sixtofour is not None:
        return address.sixtofour
    if address in TEREDO and address.teredo is not None:
        return address.teredo[1]
    return None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or "no such name"

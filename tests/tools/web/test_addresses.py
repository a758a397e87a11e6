"""Which machines may be reached, however an address is spelled and whatever a name resolves to."""

import ipaddress

import pytest

from assistant.errors import ToolError
from assistant.tools.web.addresses import Guard, canonical, is_public, typed

PRIVATE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
    *("169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254"),
    *("ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b:1::1"),
    *("fec0::1", "::10.0.0.1", "::8.8.8.8", "::ffff:0:10.0.0.1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused_in_every_disguise(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(ToolError, match="private address"):
        Guard(resolve=lambda *_: [address]).addresses("innocent.example", 80)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public_ones_are_not(address: str) -> None:
    assert Guard(resolve=lambda *_: [address]).addresses("x.example", 443) == [address]


@pytest.mark.parametrize("spelled", ["2130706433", "0x7f.1", "127.1", "localhost", "localhost."])
def test_odd_spellings_are_resolved_before_they_are_looked_at(spelled: str) -> None:
    with pytest.raises(ToolError):
        Guard().addresses(spelled, 80)


def test_one_private_address_among_public_ones_is_enough() -> None:
    with pytest.raises(ToolError, match=r"10\.0\.0\.1"):
        Guard(resolve=lambda *_: ["8.8.8.8", "10.0.0.1"]).addresses("x.example", 80)


@pytest.mark.parametrize("allowed", ["nas.local", "192.168.1.7", "192.168.0.0/16"])
def test_the_owner_may_allow_a_name_an_address_or_a_network(allowed: str) -> None:
    guard = Guard([allowed], lambda *_: ["192.168.1.7"])
    assert guard.addresses("nas.local", 80) == ["192.168.1.7"]


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org/3/x",
        "HTTPS://Docs.Example.ORG.:443/a/../3/./x#here",
        "docs.example.org/%33/%2e%2e/3/x",
    ],
)
def test_an_address_has_one_spelling(url: str) -> None:
    assert typed(url) == "https://docs.example.org/3/x"


def test_another_scheme_is_said_as_it_was_typed() -> None:
    with pytest.raises(ToolError, match=r"^'javascript:alert\(1\)' is not a web address"):
        typed("javascript:alert(1)")
    assert typed("localhost:8000/x") == "https://localhost:8000/x"


def test_numbers_and_other_scripts_are_spelled_as_what_they_mean() -> None:
    assert typed("http://2130706433/") == typed("http://127.1") == "http://127.0.0.1/"
    assert typed("https://bücher.example") == "https://xn--bcher-kva.example/"


@pytest.mark.parametrize("url", ["http://a b/", "https://good.example\\@evil/", "ftp://x/", "//"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ToolError):
        canonical(url)

"""Which addresses count as public, and which never may be called, with what they carry inside."""

from ipaddress import ip_address, ip_network

import pytest

from config.net.addresses import is_never_allowed, is_public, parse_address
from tests.support.cases import for_each


PUBLIC = (
    "93.184.215.14", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "192.31.196.1", "2606:4700::1111", "2a00:1450:4001::1",
    "2001:200::1", "2001:db7:ffff::", "2003::1", "2620:4f:8000::1", "::ffff:1.1.1.1", "64:ff9b::101:101",
)  # fmt: skip
NOT_PUBLIC = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "::1/128", "::/128", "::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10",
    "ff00::/8", "::ffff:0:0:0/96", "200::/7", "400::/6", "1000::/4", "4000::/3", "e000::/4",
    "::ffff:10.0.0.0/104", "::ffff:127.0.0.0/104", "64:ff9b::a00:0/104", "64:ff9b::7f00:0/104",
)  # fmt: skip
NEVER = (
    "169.254.169.254", "169.254.0.1", "fe80::1", "fec0::1", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "255.255.255.255", "ff02::1",
    "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "::ffff:0:a9fe:a9fe", "2001:0:a9fe:a9fe::1", "2001:0:808:808:0:0:5601:5601", "64:ff9b::a83f:8110",
)  # fmt: skip
# What an operator may open, for a network of their own.
OPENABLE = ("127.0.0.1", "10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::1", "fc00::1")


@for_each("text", PUBLIC)
def test_public_address_is_public(text: str) -> None:
    assert is_public(ip_address(text))
    assert not is_never_allowed(ip_address(text))


@for_each("text", NOT_PUBLIC)
def test_first_and_last_address_of_a_special_range_are_not_public(text: str) -> None:
    network = ip_network(text)

    assert not is_public(network.network_address)
    assert not is_public(network.broadcast_address)


@for_each("text", NEVER)
def test_address_of_metadata_is_never_allowed_whatever_it_hides_in(text: str) -> None:
    assert is_never_allowed(ip_address(text))


@pytest.mark.parametrize("text", OPENABLE)
def test_address_of_a_private_network_can_be_opened(text: str) -> None:
    assert not is_never_allowed(ip_address(text))
    assert not is_public(ip_address(text))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("localhost", None),
        ("127.1", None),
        ("0x7f000001", None),
        ("0177.0.0.1", None),
        ("", None),
    ],
)
def test_text_is_an_address_or_a_name(text: str, address: str | None) -> None:
    assert parse_address(text) == (ip_address(address) if address else None)

"""Which addresses are public, and which may never be called.

The ranges are those of IANA's registries of special addresses, without what is reachable from everywhere; multicast and
site-local addresses, which have registries of their own, are added. Of IPv6, only what IANA has given out is public. Python's
``is_global`` answers another question, and answers it differently in each release.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final


Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC: Final = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a provider
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4, deprecated
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, with the broadcast address
        "::/96",  # unspecified, loopback, and IPv4-compatible addresses, which are deprecated
        "64:ff9b:1::/48",  # local translation to IPv4
        "100::/64",  # discarded
        "100:0:0:1::/64",  # dummy prefix
        "2001::/23",  # protocol assignments, with Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, deprecated
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # private
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, deprecated
        "ff00::/8",  # multicast
    )
)
# No workflow has a legitimate reason to call these addresses; calls are attempts to steal credentials.
_NEVER: Final = tuple(
    ip_network(text)
    for text in (
        "169.254.0.0/16",  # link-local: metadata of AWS, Azure, GCP, OpenStack
        "fe80::/10",
        "fec0::/10",  # site-local, deprecated
        "fd00:ec2::/32",  # AWS metadata over IPv6
        "fd20:ce::254/128",  # GCP metadata over IPv6
        "100.100.100.200/32",  # Alibaba metadata
        "168.63.129.16/32",  # Azure's wire server, a public address
        "192.0.0.192/32",  # Oracle metadata
        "0.0.0.0/8",  # aliases of "this host"
        "::/128",
        "224.0.0.0/4",
        "255.255.255.255/32",
        "ff00::/8",
    )
)

# What IANA has given out of IPv6. The rest is nobody's, or of networks that took it for themselves, such as 200::/7.
_GIVEN_OUT: Final = IPv6Network("2000::/3")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_SIIT: Final = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_6TO4: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
# An entry of NET_ALLOW for one of these would open every IPv4 address inside.
TRANSLATED: Final = (_MAPPED, _SIIT, _COMPATIBLE, _NAT64, _6TO4, _TEREDO)
_LOOPBACK: Final = IPv6Address("::1")


def parse_address(text: str) -> Address | None:
    """Return the address that a text spells, without its zone, or None if it is a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Tell whether an address, and each IPv4 address that packets to it arrive at, is public."""
    is_given_out = isinstance(address, IPv4Address) or _is_within(
        address, (_GIVEN_OUT, _MAPPED, _NAT64)
    )
    return is_given_out and not any(_is_within(each, _NOT_PUBLIC) for each in _unwrap(address))


def is_never_allowed(address: Address) -> bool:
    """Tell whether no entry of NET_ALLOW opens an address, because of itself or an IPv4 address inside."""
    return any(_is_within(each, _NEVER) for each in _unwrap(address))


def _is_within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _unwrap(address: Address) -> Iterator[Address]:
    """Yield an address and the IPv4 addresses inside, at which a translator or tunnel delivers its packets."""
    yield address
    if not isinstance(address, IPv6Address) or address == _LOOPBACK:
        return
    number = int(address)
    if any(address in network for network in (_MAPPED, _SIIT, _COMPATIBLE, _NAT64)):
        yield IPv4Address(number & 0xFFFFFFFF)
    elif address in _6TO4:
        yield IPv4Address(number >> 80 & 0xFFFFFFFF)
    elif address in _TEREDO:
        yield IPv4Address(number >> 64 & 0xFFFFFFFF)  # the server
        yield IPv4Address(~number & 0xFFFFFFFF)  # the client, with every bit inverted

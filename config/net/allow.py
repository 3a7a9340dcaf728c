"""The addresses that may be called: public ones on the two web ports, and those that the operator allowed.

An entry of NET_ALLOW is a host name, an address or a network, each with an optional port: ``127.0.0.1:11434``,
``10.1.0.0/16``, ``models.internal:*``, ``[fd00:1::5]:8000``. Without a port, an entry allows 80 and 443. No entry
allows link-local addresses or those of cloud metadata.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_network
from typing import Final

from config.net.addresses import (
    TRANSLATED,
    Address,
    Network,
    is_never_allowed,
    is_public,
    parse_address,
)


WEB_PORTS: Final = frozenset({80, 443})
ANY_PORT: Final = frozenset(range(1, 65536))
MAX_REDIRECTS: Final = 5

# An operator's network may contain a single address that is never allowed (100.64.0.0/10), which stays blocked when a
# connection is made. An entry that overlaps a link-local range is rejected as a mistake.
_LINK_LOCAL: Final = tuple(ip_network(text) for text in ("169.254.0.0/16", "fe80::/10"))
_LOOPBACK: Final = IPv6Network("::1/128")


class NetAllowInvalid(Exception):
    """An entry of NET_ALLOW can't be used."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of NET_ALLOW: either a host name or a network, with ports."""

    host: str | None
    network: Network | None
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class AllowList:
    """The operator's allow list. It decides about every address that a client connects to."""

    entries: tuple[Entry, ...] = ()

    def may_look_up(self, host: str, port: int) -> bool:
        """Tell whether some address of this host could be called at this port."""
        address = parse_address(host)
        if address is not None:
            return self.permits(host, port, address)
        return port in WEB_PORTS or any(
            port in entry.ports and entry.host in (None, _normalize(host)) for entry in self.entries
        )

    def permits(self, host: str, port: int, address: Address) -> bool:
        """Tell whether this address of the host may be called at this port."""
        if is_never_allowed(address):
            return False
        if port in WEB_PORTS and is_public(address):
            return True
        name = _normalize(host)
        return any(
            port in entry.ports
            and (address in entry.network if entry.network else entry.host == name)
            for entry in self.entries
        )


def find_entry(host: str, port: int) -> str | None:
    """Return the entry of NET_ALLOW that would allow a host and a port, or None if none may."""
    address = parse_address(host)
    if address is not None and is_never_allowed(address):
        return None
    target = f"[{host}]" if isinstance(address, IPv6Address) else host
    entry = f"{target}:{port}"
    try:
        parse_allowed([entry])
    except NetAllowInvalid:
        return None
    return entry


def parse_allowed(entries: Iterable[str]) -> AllowList:
    """Parse NET_ALLOW. Raise ``NetAllowInvalid``, which names the invalid entry."""
    return AllowList(tuple(_parse_entry(text.strip()) for text in entries if text.strip()))


def _normalize(host: str) -> str:
    return host.lower().rstrip(".")


def _parse_entry(text: str) -> Entry:
    target, ports = _split_port(text)
    try:
        network = ip_network(target, strict=False)
    except ValueError:
        return Entry(_parse_host_name(target, text), None, ports)
    if any(network.version == net.version and network.overlaps(net) for net in _LINK_LOCAL):
        raise NetAllowInvalid(
            f"NET_ALLOW: {text!r} covers link-local addresses, which are never allowed"
        )
    if isinstance(network, IPv6Network) and _is_translated(network):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} would allow every address behind it")
    return Entry(None, network, ports)


def _is_translated(network: IPv6Network) -> bool:
    return network != _LOOPBACK and any(network.overlaps(each) for each in TRANSLATED)


def _split_port(text: str) -> tuple[str, frozenset[int]]:
    if text.startswith("["):
        target, _, rest = text[1:].partition("]")
        return target, _parse_ports(rest.removeprefix(":"), text)
    if text.count(":") != 1:  # no port, or a bare IPv6 network
        return text, WEB_PORTS
    target, _, port = text.partition(":")
    return target, _parse_ports(port, text)


def _parse_ports(port: str, text: str) -> frozenset[int]:
    if port == "*":
        return ANY_PORT
    if not port:
        return WEB_PORTS
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} has no usable port")
    return frozenset({int(port)})


def _parse_host_name(host: str, text: str) -> str:
    name = _normalize(host)
    labels = name.split(".")
    # Names of services, as those of containers, may have underscores.
    if not all(re.fullmatch(r"[a-z0-9_-]*[a-z0-9][a-z0-9_-]*", label) for label in labels):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} is neither a host name nor a network")
    if all(label.isdigit() for label in labels):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} is not an address")
    return name

"""The addresses that may be called: public ones on the two web ports, and those that the operator allowed.

An entry of NET_ALLOW is a host name, an address or a network, each with an optional port: ``127.0.0.1:11434``,
``10.1.0.0/16``, ``models.internal:*``, ``[fd00:1::5]:8000``. Without a port, an entry allows 80 and 443. No entry
allows link-local addresses or those of cloud metadata.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from ssrfguard import DEFAULT_DENIED, AddressTable, Block, Policy, Reach


Network = IPv4Network | IPv6Network

WEB_PORTS: Final = frozenset({80, 443})
ANY_PORT: Final = frozenset(range(1, 65536))
MAX_REDIRECTS: Final = 5

# No workflow has a legitimate reason to call these addresses; calls are attempts to steal credentials.
NEVER_ALLOWED: Final = tuple(
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
# An operator's network may contain one of the single addresses (100.64.0.0/10), which stays blocked when a connection
# is made. An entry that overlaps a link-local range is rejected as a mistake.
_LINK_LOCAL: Final = tuple(ip_network(text) for text in ("169.254.0.0/16", "fe80::/10"))


class NetAllowInvalid(Exception):
    """An entry of NET_ALLOW can't be used."""

    retryable = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of NET_ALLOW: either a host name or a network, with ports."""

    host: str | None
    network: Network | None
    ports: frozenset[int]


# The table also contains the IPv6 ranges that embed an IPv4 address, so that such an address is refused too.
_NEVER_TABLE: Final = AddressTable(
    tuple(block for block in DEFAULT_DENIED.blocks if block.reach is Reach.TRANSLATED)
    + tuple(Block(network, "never", "policy", Reach.DENIED) for network in NEVER_ALLOWED)
)
_NOTHING_PUBLIC: Final = AddressTable(
    tuple(Block(ip_network(net), "all", "policy", Reach.DENIED) for net in ("0.0.0.0/0", "::/0"))
)


@dataclass(frozen=True)
class AllowList:
    """The operator's allow list, from which policies of ssrfguard are built and cached."""

    entries: tuple[Entry, ...] = ()
    _policies: dict[object, Policy] = field(default_factory=dict, compare=False, repr=False)

    def find_policy(self, host: str, port: int) -> Policy:
        """Return the policy that decides whether this host and port may be called."""
        host = host.lower().rstrip(".")
        if any(entry.host == host and port in entry.ports for entry in self.entries):
            return self._cache_policy(("named", port), lambda: _build_host_policy(port))
        networks = tuple(
            entry.network for entry in self.entries if entry.network and port in entry.ports
        )
        if port in WEB_PORTS:
            return self._cache_policy(networks, lambda: Policy(allowed_networks=networks))
        if networks:
            key = (networks, port)
            return self._cache_policy(key, lambda: _build_network_policy(networks, port))
        return self._default

    @cached_property
    def _default(self) -> Policy:
        return Policy(max_redirects=MAX_REDIRECTS)

    def _cache_policy(self, key: object, build: Callable[[], Policy]) -> Policy:
        if key not in self._policies:
            self._policies[key] = build()
        return self._policies[key]


def is_never_allowed(address: str) -> bool:
    return _NEVER_TABLE.classify(address).blocked


def parse_allowed(entries: Iterable[str]) -> AllowList:
    """Parse NET_ALLOW. Raise ``NetAllowInvalid``, which names the invalid entry."""
    return AllowList(tuple(_parse_entry(text.strip()) for text in entries if text.strip()))


def _build_host_policy(port: int) -> Policy:
    """Allow a host that the operator named, whatever it resolves to, except for addresses that are never allowed."""
    return Policy(denied_networks=_NEVER_TABLE, allowed_ports=frozenset({port}))


def _build_network_policy(networks: tuple[Network, ...], port: int) -> Policy:
    """Allow a non-standard port inside some networks only."""
    return Policy(
        denied_networks=_NOTHING_PUBLIC, allowed_networks=networks, allowed_ports=frozenset({port})
    )


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
    try:
        Policy(allowed_networks=(network,))
    except ValueError as error:
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} would allow every address behind it") from error
    return Entry(None, network, ports)


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
    name = host.lower().rstrip(".")
    labels = name.split(".")
    if not all(label and label.replace("-", "").isalnum() and label.isascii() for label in labels):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} is neither a host name nor a network")
    if all(label.isdigit() for label in labels):
        raise NetAllowInvalid(f"NET_ALLOW: {text!r} is not an address")
    return name

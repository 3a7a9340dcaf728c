"""Finds out who sent a request that came through a reverse proxy: the one place that reads forwarding headers.

A client can send these headers itself. They count only if the connection comes from an address in TRUSTED_PROXIES;
otherwise they are removed, so that nothing behind this can believe them. Everything else, from the rate limits to the
audit trail, uses ``REMOTE_ADDR`` and ``request.is_secure()``, whichever server runs the application.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

import structlog
from django.conf import settings


Message = dict[str, Any]  # Any: ASGI's messages are open
App = Callable[[Message, Any, Any], Awaitable[None]]
Address = IPv4Address | IPv6Address
Headers = Sequence[tuple[bytes, bytes]]

FORWARDED_FOR: Final = b"x-forwarded-for"
FORWARDED_PROTO: Final = b"x-forwarded-proto"
FORWARDING_HEADERS: Final = frozenset(
    {
        *(FORWARDED_FOR, FORWARDED_PROTO, b"x-forwarded-host", b"x-forwarded-port"),
        *(b"x-forwarded-server", b"x-real-ip", b"forwarded"),
    }
)
SCHEMES: Final = {
    "http": {"http": "http", "https": "https"},
    "websocket": {"http": "ws", "https": "wss"},
}
IPV6_PREFIX: Final = 64  # one customer of a provider gets at least this network
MAX_WARNINGS: Final = 20  # addresses that a process warns about

log = structlog.get_logger(__name__)


class TrustedProxies:
    """An ASGI application that gives the inner one the address and the scheme of the client, not those of the proxy."""

    def __init__(self, inner: App, proxies: Iterable[str] | None = None) -> None:
        self._inner = inner
        networks = settings.TRUSTED_PROXIES if proxies is None else proxies
        self._networks = [ip_network(text, strict=False) for text in networks]
        self._warned: set[str] = set()

    async def __call__(self, scope: Message, receive: object, send: object) -> None:
        if scope["type"] in SCHEMES and scope.get("headers"):
            scope = self._apply_headers(scope)
        await self._inner(scope, receive, send)

    def _apply_headers(self, scope: Message) -> Message:
        headers: Headers = scope["headers"]
        if not any(name in FORWARDING_HEADERS for name, _value in headers):
            return scope
        host, port = scope.get("client") or ("", 0)
        if not self._is_trusted(parse_address(host)):
            self._warn(host, headers)
            return scope | {"headers": [row for row in headers if row[0] not in FORWARDING_HEADERS]}
        changes: Message = {}
        client = self._find_client(headers)
        if client is not None:
            changes["client"] = (str(client), 0 if str(client) != host else port)
        protocol = next(reversed([*_read_words(headers, FORWARDED_PROTO)]), "").lower()
        if scheme := SCHEMES[scope["type"]].get(protocol):
            changes["scheme"] = scheme
        return scope | changes

    def _find_client(self, headers: Headers) -> Address | None:
        """Return the last address that isn't a trusted proxy's. What stands before it was written by the client.

        If all are trusted, it is the first one. Return None without any valid address.
        """
        client = None
        for word in reversed([*_read_words(headers, FORWARDED_FOR)]):
            address = parse_address(word)
            if address is None:
                break
            client = address
            if not self._is_trusted(address):
                break
        return client

    def _is_trusted(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)

    def _warn(self, host: str, headers: Headers) -> None:
        """Warn once about each address whose forwarding headers are ignored: it may be the operator's own proxy."""
        if host not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(host)
            names = sorted(
                {name.decode() for name, _value in headers if name in FORWARDING_HEADERS}
            )
            log.warning(
                "proxy.not_trusted",
                address=host,
                headers=names,
                hint="If this is your reverse proxy, add its address to TRUSTED_PROXIES.",
            )


def parse_address(text: str) -> Address | None:
    """Return the address in the text, which may have a port and brackets, or None if there is none."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def find_network(text: str) -> str:
    """Return the network of an address that limits count together: all of IPv4's address, the first half of IPv6's."""
    address = parse_address(text)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, IPV6_PREFIX), strict=False))
    return str(address) if address else "unknown"


def _read_words(headers: Headers, name: bytes) -> Iterator[str]:
    """Yield the comma-separated words of all headers with this name, in their order."""
    for header, value in headers:
        if header == name:
            yield from (word.strip() for word in value.decode("latin-1").split(","))

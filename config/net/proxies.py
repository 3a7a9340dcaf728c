"""The operator's proxy for calls of public addresses: the connection is a tunnel through it to an address checked here.

So what the proxy is asked for is an address and no name, which it could look up differently.
"""

import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import unquote, urlsplit

import h11
import httpcore2

from config.net.addresses import Address


_MAX_ANSWER: Final = 16 * 1024
_READ_BYTES: Final = 4096
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    host: str
    port: int
    tls: ssl.SSLContext | None = None  # of an https proxy
    authorization: str = field(default="", repr=False)

    def open_tunnel(
        self,
        backend: httpcore2.NetworkBackend,
        address: Address,
        port: int,
        timeout: float | None,
    ) -> httpcore2.NetworkStream:
        stream = backend.connect_tcp(self.host, self.port, timeout)
        try:
            if self.tls is not None:
                stream = stream.start_tls(self.tls, self.host, timeout)
            handshake = _Handshake(self, address, port)
            stream.write(handshake.request, timeout)
            with _as_proxy_error():
                while not handshake.feed(stream.read(_READ_BYTES, timeout)):
                    pass
        except BaseException:
            stream.close()
            raise
        return stream

    async def open_async_tunnel(
        self,
        backend: httpcore2.AsyncNetworkBackend,
        address: Address,
        port: int,
        timeout: float | None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await backend.connect_tcp(self.host, self.port, timeout)
        try:
            if self.tls is not None:
                stream = await stream.start_tls(self.tls, self.host, timeout)
            handshake = _Handshake(self, address, port)
            await stream.write(handshake.request, timeout)
            with _as_proxy_error():
                while not handshake.feed(await stream.read(_READ_BYTES, timeout)):
                    pass
        except BaseException:
            await stream.aclose()
            raise
        return stream


def parse_proxy(url: str, tls: ssl.SSLContext) -> Proxy:
    """Return the proxy of NET_PROXY, whose URL is valid."""
    parts = urlsplit(url)
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return Proxy(
        parts.hostname or "",
        parts.port or _DEFAULT_PORTS[parts.scheme],
        tls if parts.scheme == "https" else None,
        b64encode(user.encode()).decode() if parts.username else "",
    )


class _Handshake:
    """The request for a tunnel, and what the proxy answers to it."""

    def __init__(self, proxy: Proxy, address: Address, port: int) -> None:
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_ANSWER)
        host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
        target = f"{host}:{port}"
        headers = [("Host", target), ("User-Agent", "mnemoflow")]
        if proxy.authorization:
            headers.append(("Proxy-Authorization", f"Basic {proxy.authorization}"))
        connect = h11.Request(method="CONNECT", target=target, headers=headers)
        self.request = (self._connection.send(connect) or b"") + (
            self._connection.send(h11.EndOfMessage()) or b""
        )

    def feed(self, data: bytes) -> bool:
        """Tell whether the tunnel stands. Raise ``ProxyError`` if the proxy refuses it."""
        self._connection.receive_data(data)
        event = self._connection.next_event()
        while isinstance(event, h11.InformationalResponse):
            event = self._connection.next_event()
        if event is h11.NEED_DATA and data:
            return False
        if not isinstance(event, h11.Response):
            raise httpcore2.ProxyError("The proxy closed the connection.")
        if not 200 <= event.status_code < 300:
            raise httpcore2.ProxyError(f"The proxy answered with the status {event.status_code}.")
        if self._connection.trailing_data[0]:  # from nobody that was asked anything
            raise httpcore2.ProxyError("The proxy gave no valid answer.")
        return True


@contextmanager
def _as_proxy_error() -> Iterator[None]:
    try:
        yield
    except (h11.ProtocolError, httpcore2.ReadError, httpcore2.ReadTimeout) as error:
        raise httpcore2.ProxyError("The proxy gave no valid answer.") from error

"""The network backends under both clients: they look a name up once, check every answer, and connect to a checked address.

httpcore2 asks its backend for a connection to a host and a port, whichever version of HTTP it speaks afterwards, and
starts TLS with the host's name on what it is given. So there is no second lookup that could give another answer, and
no connection that wasn't decided here.
"""

import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import anyio
import httpcore2

from config.net.addresses import Address, is_public, parse_address
from config.net.allow import AllowList
from config.net.errors import AddressRefused
from config.net.proxies import Proxy
from config.net.time_limits import TimedStream


Resolver = Callable[..., Iterable[tuple[int, int, int, str, Any]]]  # the shape of getaddrinfo

# The time-out is for one attempt, and whoever runs the name's server decides how many addresses there are.
_MAX_ATTEMPTS: Final = 4
# A lookup can't be interrupted. Lookups have threads of their own, so that a stalled name server stops nothing else.
_MAX_LOOKUPS: Final = 100

ConnectFailure = httpcore2.ConnectError | httpcore2.ConnectTimeout
_CONNECT_FAILURES: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout)


def look_up(
    host: str, port: int, allowed: AllowList, resolver: Resolver | None = None
) -> list[Address]:
    """Return the addresses of a host. Raise ``AddressRefused`` unless every one of them may be called.

    A name with one bad address among good ones is refused as a whole: it is how a name is made to change its target.
    """
    literal = parse_address(host)
    addresses = [literal] if literal else _ask_resolver(host, port, resolver)
    if not (allowed.may_look_up(host, port) and addresses) or not all(
        allowed.permits(host, port, address) for address in addresses
    ):
        raise AddressRefused
    return addresses


def _ask_resolver(host: str, port: int, resolver: Resolver | None) -> list[Address]:
    try:
        answers = list((resolver or socket.getaddrinfo)(host, port, 0, socket.SOCK_STREAM, 0, 0))
    except OSError as error:  # socket.gaierror is one
        raise httpcore2.ConnectError(str(error)) from error
    texts = dict.fromkeys(str(socket_address[0]) for *_, socket_address in answers)
    addresses = [parse_address(text) for text in texts]
    if None in addresses:
        raise AddressRefused
    return [address for address in addresses if address is not None]


class GuardedBackend(httpcore2.NetworkBackend):
    def __init__(
        self, allowed: AllowList, resolver: Resolver | None, proxy: Proxy | None = None
    ) -> None:
        self._proxy = proxy
        self._look_up = partial(look_up, allowed=allowed, resolver=resolver)
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failures: list[ConnectFailure] = []
        for address in self._look_up(host, port)[:_MAX_ATTEMPTS]:
            try:
                if self._proxy and is_public(address):
                    return TimedStream(self._proxy.open_tunnel(self._inner, address, port, timeout))
                stream = self._inner.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except _CONNECT_FAILURES as failure:
                failures.append(failure)
                continue
            if not _is_peer(stream, address):
                stream.close()
                raise AddressRefused
            return TimedStream(stream)
        raise _choose_failure(failures)

    def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.NetworkStream:
        raise AddressRefused


class AsyncGuardedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(
        self, allowed: AllowList, resolver: Resolver | None, proxy: Proxy | None = None
    ) -> None:
        self._proxy = proxy
        self._look_up = partial(look_up, allowed=allowed, resolver=resolver)
        self._inner = httpcore2.AnyIOBackend()
        self._lookups = anyio.CapacityLimiter(_MAX_LOOKUPS)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._look_up_in_thread(host, port, timeout)
        failures: list[ConnectFailure] = []
        for address in addresses[:_MAX_ATTEMPTS]:
            try:
                if self._proxy and is_public(address):
                    return await self._proxy.open_async_tunnel(self._inner, address, port, timeout)
                stream = await self._inner.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except _CONNECT_FAILURES as failure:
                failures.append(failure)
                continue
            if not _is_peer(stream, address):
                await stream.aclose()
                raise AddressRefused
            return stream
        raise _choose_failure(failures)

    async def _look_up_in_thread(
        self, host: str, port: int, timeout: float | None
    ) -> list[Address]:
        if parse_address(host):
            return self._look_up(host, port)
        try:
            with anyio.fail_after(timeout):
                return await anyio.to_thread.run_sync(
                    self._look_up, host, port, abandon_on_cancel=True, limiter=self._lookups
                )
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("The name was not resolved in time.") from error

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        raise AddressRefused

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


def _is_peer(
    stream: httpcore2.NetworkStream | httpcore2.AsyncNetworkStream, address: Address
) -> bool:
    """Tell whether a connection leads to the address: nothing on this machine has sent it elsewhere."""
    peer = stream.get_extra_info("server_addr")
    return peer is not None and parse_address(str(peer[0])) == address


def _choose_failure(failures: list[ConnectFailure]) -> ConnectFailure:
    """Return the failure that says most: a refusal says more than a time-out."""
    return next(
        (failure for failure in failures if isinstance(failure, httpcore2.ConnectError)),
        failures[-1],
    )

"""The transports of both clients. They apply the operator's allow list, a deadline and size limits.

Their connections are made by the backends of ``config.net.backends``. The deadline is for the whole exchange, including
redirects and the body.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import httpcore2
import httpx2

from config.net.allow import AllowList
from config.net.backends import AsyncGuardedBackend, GuardedBackend, Resolver
from config.net.bodies import BodyDecoder, check_headers, strip_encoding_headers
from config.net.errors import AddressRefused, NetFault, RedirectRefused, TimeIsUp
from config.net.lasting_pools import LastingPool, find_lasting_pools
from config.net.own_calls import mark_request
from config.net.proxies import Proxy
from config.net.server_faults import blame_server
from config.net.time_limits import limit_waits
from config.net.urls import check_url, refuse


_DEADLINE: Final = "mnemoflow_deadline"
CROSS_ORIGIN_BODY: Final = "mnemoflow_cross_origin_body"
# Many servers close a connection that was idle for five seconds, and a request that is under way then fails.
_POOL: Final = {"max_keepalive_connections": 20, "keepalive_expiry": 4.0}
_MAX_CONNECTIONS: Final = 100  # of a client without an owner


@dataclass(frozen=True)
class Rules:
    """The rules of one client; ``seconds`` limits a whole exchange."""

    allowed: AllowList
    seconds: float
    max_body: int
    resolver: Resolver | None = None  # instead of the system's name lookup
    verify: bool = True  # whether to verify the server's certificate
    http2: bool = False  # whether a server may choose HTTP/2
    proxy: Proxy | None = None  # for public addresses

    def check(self, request: httpx2.Request) -> None:
        """Raise ``AddressRefused`` for the request's URL, or ``RedirectRefused`` for a body to another origin."""
        check_url(request, self.allowed)
        if CROSS_ORIGIN_BODY in request.extensions:
            raise RedirectRefused(request=request)

    def find_deadline(self, request: httpx2.Request) -> float:
        """Return the deadline of the exchange. The request of a redirect inherits it in its extensions."""
        return float(request.extensions.setdefault(_DEADLINE, time.monotonic() + self.seconds))

    def build_pool_options(self) -> dict[str, Any]:
        return {
            **_POOL,
            "ssl_context": load_tls_context(self.verify, self.http2),
            "http2": self.http2,
        }

    def build_lasting_pool_key(self, owner: Hashable) -> Hashable:
        """Return what clients have in common that may use one another's connections."""
        return owner, replace(self, seconds=0.0, max_body=0)


class AsyncGuardedTransport(httpx2.AsyncHTTPTransport):
    """The asynchronous transport. Without its own pool, httpx2's would make unguarded connections.

    With an ``owner``, it leaves its connections to the owner's next one, in an event loop that keeps connections.
    """

    def __init__(self, rules: Rules, owner: Hashable = None) -> None:
        self._rules = rules
        self._lasting: LastingPool | None = None
        pools = find_lasting_pools() if owner is not None else None
        if pools is None:
            self._pool = self._build_pool(_MAX_CONNECTIONS)
        else:
            key = rules.build_lasting_pool_key(owner)
            self._lasting = pools.join(key, partial(self._build_pool, None))
            self._pool = self._lasting.pool

    def _build_pool(self, max_connections: int | None) -> httpcore2.AsyncConnectionPool:
        rules = self._rules
        return httpcore2.AsyncConnectionPool(
            network_backend=AsyncGuardedBackend(rules.allowed, rules.resolver, rules.proxy),
            max_connections=max_connections,
            **rules.build_pool_options(),
        )

    async def aclose(self) -> None:
        if self._lasting is None:
            await super().aclose()
        else:
            self._lasting.leave()

    async def __aexit__(self, *error: Any) -> None:
        await self.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        deadline = self._rules.find_deadline(request)
        self._rules.check(request)
        if self._lasting:
            await self._lasting.close_spoiled()
        mark_request(request)
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                with blame_server():
                    response = await super().handle_async_request(request)
        except TimeoutError as error:
            raise TimeIsUp(request=request) from error
        except AddressRefused:
            raise refuse(request) from None
        try:
            encoding = check_headers(response, self._rules.max_body)
        except NetFault:
            await response.aclose()
            raise
        body = BodyDecoder(self._rules.max_body, encoding)
        return _wrap_response(response, encoding, _AsyncStream(response, body, deadline))


class GuardedTransport(httpx2.HTTPTransport):
    """The synchronous transport. Without its own pool, httpx2's would make unguarded connections."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._pool = httpcore2.ConnectionPool(
            network_backend=GuardedBackend(rules.allowed, rules.resolver, rules.proxy),
            max_connections=_MAX_CONNECTIONS,
            **rules.build_pool_options(),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        deadline = self._rules.find_deadline(request)
        if time.monotonic() > deadline:
            raise TimeIsUp(request=request)
        self._rules.check(request)
        mark_request(request)
        try:
            with _end_at(deadline), blame_server():
                response = super().handle_request(request)
        except AddressRefused:
            raise refuse(request) from None
        try:
            encoding = check_headers(response, self._rules.max_body)
        except NetFault:
            response.close()
            raise
        body = BodyDecoder(self._rules.max_body, encoding)
        return _wrap_response(response, encoding, _Stream(response, body, deadline))


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, body: BodyDecoder, deadline: float) -> None:
        self._response, self._body, self._deadline = response, body, deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._response.stream)  # type: ignore[arg-type]
        while True:
            try:
                async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                    with blame_server():
                        raw = await anext(chunks, None)
            except TimeoutError as error:
                raise TimeIsUp from error
            if raw is None:
                return
            for piece in self._body.feed(raw):
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _Stream(httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, body: BodyDecoder, deadline: float) -> None:
        self._response, self._body, self._deadline = response, body, deadline

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._response.stream)  # type: ignore[arg-type]
        while True:
            with _end_at(self._deadline), blame_server():
                raw = next(chunks, None)
            if raw is None:
                return
            if time.monotonic() > self._deadline:
                raise TimeIsUp
            yield from self._body.feed(raw)

    def close(self) -> None:
        self._response.close()


@contextmanager
def _end_at(deadline: float) -> Iterator[None]:
    """Raise ``TimeIsUp`` when a synchronous wait reaches the deadline."""
    try:
        with limit_waits(lambda: deadline - time.monotonic()):
            yield
    except httpx2.TimeoutException as error:
        if time.monotonic() < deadline:
            raise
        raise TimeIsUp from error


@cache
def load_tls_context(verify: bool, http2: bool) -> ssl.SSLContext:
    """Load the certificate store once per process, because loading it may take longer than a request.

    Clients with HTTP/2 have a context of their own: httpcore2 writes into it which versions are offered.
    """
    del http2  # only tells the contexts apart
    return httpx2.create_ssl_context(verify=verify, trust_env=False)


def load_tls_contexts() -> None:
    """Load the certificates that requests need, so that the first of a process needn't wait for them."""
    for http2 in (False, True):
        load_tls_context(True, http2)


def _wrap_response(
    response: httpx2.Response, encoding: str, stream: httpx2.AsyncByteStream | httpx2.SyncByteStream
) -> httpx2.Response:
    return httpx2.Response(
        response.status_code,
        headers=strip_encoding_headers(response, encoding),
        stream=stream,
        extensions=response.extensions,
    )

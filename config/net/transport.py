"""The transports of both clients. They apply the operator's allow list, a deadline and size limits.

ssrfguard resolves the name, checks every address and connects to a checked address. The deadline is for the whole
exchange, including redirects and the body.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import httpx
from ssrfguard import Policy, SSRFGuardError
from ssrfguard.httpx import AsyncSafeTransport, SafeTransport

from config.net.allow import AllowList, is_never_allowed
from config.net.bodies import BodyDecoder, check_headers, strip_encoding_headers
from config.net.errors import AddressRefused, NetFault, RedirectRefused, TimeIsUp


T = TypeVar("T", SafeTransport, AsyncSafeTransport)
Resolver = Callable[..., Iterable[tuple[int, int, int, str, Any]]]  # the shape of getaddrinfo

_DEADLINE = "mnemoflow_deadline"
CROSS_ORIGIN_BODY = "mnemoflow_cross_origin_body"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Rules:
    """The rules of one client; ``seconds`` limits a whole exchange."""

    allowed: AllowList
    seconds: float
    max_body: int
    resolver: Resolver | None = None  # instead of the system's name lookup
    verify: bool = True  # whether to verify the server's certificate

    def find_policy(self, request: httpx.Request) -> Policy:
        """Return the policy for the request's URL. Raise ``RedirectRefused`` for a body to another origin."""
        port = request.url.port or _DEFAULT_PORTS.get(request.url.scheme, 0)
        policy = self.allowed.find_policy(request.url.host, port)
        if CROSS_ORIGIN_BODY in request.extensions:
            raise RedirectRefused(request=request)
        return policy

    def find_deadline(self, request: httpx.Request) -> float:
        """Return the deadline of the exchange. The request of a redirect inherits it in its extensions."""
        return float(request.extensions.setdefault(_DEADLINE, time.monotonic() + self.seconds))

    def resolve(self, *args: Any, **options: Any) -> list[tuple[int, int, int, str, Any]]:
        """Resolve a name like ``getaddrinfo``. Raise ``AddressRefused`` for addresses that no entry may allow."""
        results = list((self.resolver or socket.getaddrinfo)(*args, **options))
        addresses = (str(socket_address[0]) for *_, socket_address in results)
        if any(is_never_allowed(address.partition("%")[0]) for address in addresses):
            raise AddressRefused
        return results


class _GuardedTransport(Generic[T]):
    """A transport that sends each request through an inner transport with the policy for its target."""

    inner_class: type[T]

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._inner: dict[int, T] = {}

    def _get_inner(self, request: httpx.Request) -> T:
        policy = self._rules.find_policy(request)
        if id(policy) not in self._inner:
            self._inner[id(policy)] = self.inner_class(
                policy=policy,
                resolver=self._rules.resolve,
                verify=_load_tls_context(self._rules.verify),
                trust_env=False,
            )
        return self._inner[id(policy)]


class AsyncGuardedTransport(_GuardedTransport[AsyncSafeTransport], httpx.AsyncBaseTransport):
    inner_class = AsyncSafeTransport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        deadline = self._rules.find_deadline(request)
        inner = self._get_inner(request)
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                response = await inner.handle_async_request(request)
        except TimeoutError as error:
            raise TimeIsUp(request=request) from error
        except (SSRFGuardError, NetFault) as error:
            raise _describe_error(error, request) from None
        try:
            encoding = check_headers(response, self._rules.max_body)
        except NetFault:
            await response.aclose()
            raise
        body = BodyDecoder(self._rules.max_body, encoding)
        return _wrap_response(response, encoding, _AsyncStream(response, body, deadline))

    async def aclose(self) -> None:
        for transport in self._inner.values():
            await transport.aclose()


class GuardedTransport(_GuardedTransport[SafeTransport], httpx.BaseTransport):
    inner_class = SafeTransport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = self._rules.find_deadline(request)
        if time.monotonic() > deadline:
            raise TimeIsUp(request=request)
        inner = self._get_inner(request)
        try:
            response = inner.handle_request(request)
        except (SSRFGuardError, NetFault) as error:
            raise _describe_error(error, request) from None
        try:
            encoding = check_headers(response, self._rules.max_body)
        except NetFault:
            response.close()
            raise
        body = BodyDecoder(self._rules.max_body, encoding)
        return _wrap_response(response, encoding, _Stream(response, body, deadline))

    def close(self) -> None:
        for transport in self._inner.values():
            transport.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, body: BodyDecoder, deadline: float) -> None:
        self._response, self._body, self._deadline = response, body, deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._response.stream)  # type: ignore[arg-type]
        while True:
            try:
                async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                    raw = await anext(chunks, None)
            except TimeoutError as error:
                raise TimeIsUp from error
            if raw is None:
                return
            for piece in self._body.feed(raw):
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _Stream(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, body: BodyDecoder, deadline: float) -> None:
        self._response, self._body, self._deadline = response, body, deadline

    def __iter__(self) -> Iterator[bytes]:
        for raw in self._response.stream:  # type: ignore[union-attr]
            if time.monotonic() > self._deadline:
                raise TimeIsUp
            yield from self._body.feed(raw)

    def close(self) -> None:
        self._response.close()


@cache
def _load_tls_context(verify: bool) -> ssl.SSLContext:
    """Load the certificate store once per process, because loading it may take longer than a request."""
    return httpx.create_ssl_context(verify=verify, trust_env=False)


def _wrap_response(
    response: httpx.Response, encoding: str, stream: httpx.AsyncByteStream | httpx.SyncByteStream
) -> httpx.Response:
    return httpx.Response(
        response.status_code,
        headers=strip_encoding_headers(response, encoding),
        stream=stream,
        extensions=response.extensions,
    )


def _describe_error(error: Exception, request: httpx.Request) -> NetFault:
    """Replace the guard's message, which contains the resolved address, by a message with the user's URL."""
    if isinstance(error, NetFault) and not isinstance(error, AddressRefused):
        return error
    host = request.url.host[:100]
    return AddressRefused(
        f"{host!r} is blocked: only public http and https addresses on ports 80 and 443 are allowed, "
        "plus those that the operator lists in NET_ALLOW.",
        request=request,
    )

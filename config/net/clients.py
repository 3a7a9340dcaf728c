"""Builds the two HTTP clients, which use no netrc file, no cookies and no proxy but that of NET_PROXY."""

from collections.abc import Hashable, Iterable
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx2

from config.env import env
from config.net.allow import MAX_REDIRECTS, AllowList, parse_allowed
from config.net.backends import Resolver
from config.net.proxies import Proxy, parse_proxy
from config.net.transport import (
    CROSS_ORIGIN_BODY,
    AsyncGuardedTransport,
    GuardedTransport,
    Rules,
    load_tls_context,
)
from config.net.urls import DEFAULT_PORTS


CONNECT_SECONDS: Final = 5.0
MAX_BODY: Final = 10 * 1024 * 1024

# Headers that may be sent after a redirect to another site. Any other header could contain credentials.
_HARMLESS_HEADERS: Final = frozenset(
    {"host", "accept", "accept-encoding", "accept-language", "user-agent", "connection",
     "content-type", "content-length", "transfer-encoding"}
)  # fmt: skip
_STATUSES_KEEPING_BODY: Final = frozenset({307, 308})


def build_client(
    *,
    timeout: float = 30,
    follow_redirects: bool = False,
    idle: float | None = None,
    connect: float = CONNECT_SECONDS,
    max_body: int = MAX_BODY,
    verify: bool = True,
    http2: bool = False,
    for_models: bool = False,
    for_mcp: bool = False,
    owner: Hashable = None,
    allow: Iterable[str] | None = None,
    resolver: Resolver | None = None,
) -> httpx2.AsyncClient:
    """Build an asynchronous client.

    ``timeout`` limits a whole exchange in seconds, including redirects and body; ``idle`` limits a single wait, also
    that for the first byte; ``connect`` limits an attempt to connect. ``verify=False`` accepts any certificate, but the
    address is still checked. ``http2`` lets a server choose HTTP/2, which is not for streams that may be left early:
    httpcore2 doesn't tell the server that nobody reads one any more until the whole client is closed. ``for_models``
    allows addresses of this machine if LOCAL_MODELS does, and ``for_mcp`` if LOCAL_MCP does. The clients of
    one ``owner`` use one another's connections in an event loop that keeps them (``reuse_connections``). ``allow`` replaces
    NET_ALLOW and ``resolver`` the system's name lookup, both for tests.
    """
    may_be_local = (for_models and env().local_models) or (for_mcp and env().local_mcp)
    allowed = _choose_allow_list(allow, may_be_local=bool(may_be_local))
    rules = Rules(allowed, timeout, max_body, resolver, verify, http2, _load_proxy())
    return _AsyncClient(
        transport=AsyncGuardedTransport(rules, owner),
        **_build_options(timeout, idle, follow_redirects, connect),
    )


def build_sync_client(
    *,
    timeout: float = 30,
    follow_redirects: bool = False,
    idle: float | None = None,
    max_body: int = MAX_BODY,
    verify: bool = True,
    http2: bool = False,
    for_models: bool = False,
    allow: Iterable[str] | None = None,
    resolver: Resolver | None = None,
) -> httpx2.Client:
    """Build a synchronous client. The parameters mean the same as those of ``build_client``."""
    allowed = _choose_allow_list(allow, may_be_local=bool(for_models and env().local_models))
    rules = Rules(allowed, timeout, max_body, resolver, verify, http2, _load_proxy())
    return _Client(
        transport=GuardedTransport(rules), **_build_options(timeout, idle, follow_redirects)
    )


def _choose_allow_list(allow: Iterable[str] | None, *, may_be_local: bool) -> AllowList:
    allowed = _load_allow_list() if allow is None else parse_allowed(allow)
    return _add_this_machine(allowed) if may_be_local else allowed


@cache
def _load_allow_list() -> AllowList:
    return parse_allowed(env().net_allow)


@cache
def _load_proxy() -> Proxy | None:
    url = env().net_proxy
    return parse_proxy(url, load_tls_context(True, False)) if url else None


@cache
def _load_this_machine() -> AllowList:
    return parse_allowed(("127.0.0.0/8:*", "[::1]:*", "127.0.0.0/8", "[::1]"))


def _add_this_machine(allowed: AllowList) -> AllowList:
    return AllowList((*allowed.entries, *_load_this_machine().entries))


def _build_options(
    timeout: float, idle: float | None, follow_redirects: bool, connect: float = CONNECT_SECONDS
) -> dict[str, Any]:
    wait = min(timeout, idle or timeout)
    return {
        "timeout": httpx2.Timeout(wait, connect=min(connect, timeout)),
        "follow_redirects": follow_redirects,
        "max_redirects": MAX_REDIRECTS,
        "trust_env": False,
        "headers": {"Accept-Encoding": "identity", "User-Agent": "mnemoflow"},
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
    }


class _SafeRedirects:
    """Makes a client send only harmless headers, and never a body, when a redirect leads to another origin."""

    def _redirect_headers(
        self, request: httpx2.Request, url: httpx2.URL, method: str
    ) -> httpx2.Headers:
        headers: httpx2.Headers = super()._redirect_headers(request, url, method)  # type: ignore[misc]
        if not _is_same_origin(request.url, url):
            for name in [name for name in headers if name.lower() not in _HARMLESS_HEADERS]:
                del headers[name]
        return headers

    def _build_redirect_request(
        self, request: httpx2.Request, response: httpx2.Response
    ) -> httpx2.Request:
        next_request: httpx2.Request = super()._build_redirect_request(request, response)  # type: ignore[misc]
        has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
        keeps_body = has_body and response.status_code in _STATUSES_KEEPING_BODY
        if keeps_body and not _is_same_origin(request.url, next_request.url):
            # ``Rules`` refuses this request when it is sent; httpx2 builds it even for callers that follow no redirects.
            next_request.extensions = {**next_request.extensions, CROSS_ORIGIN_BODY: True}
        return next_request


class _AsyncClient(_SafeRedirects, httpx2.AsyncClient):
    pass


class _Client(_SafeRedirects, httpx2.Client):
    pass


def _is_same_origin(url: httpx2.URL, other_url: httpx2.URL) -> bool:
    return _parse_origin(url) == _parse_origin(other_url)


def _parse_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme)

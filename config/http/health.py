"""Endpoints for load balancers and monitoring.

The health checks are answered before Django: without a thread, a session or a check of the host name, which a load
balancer doesn't know, and within a second whatever is down.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Final

import psycopg
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from config.embedded.start_times import WORKER_START_SECONDS
from config.monitoring.collectors import list_web_collectors
from config.monitoring.server import may_read
from config.postgres.conninfo import build_conninfo
from config.postgres.outages import RETRY_AFTER


Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Any, Any], Awaitable[None]]
Check = Callable[[], Awaitable[str]]  # returns a part's state

OK, UNREACHABLE, MISSING = "ok", "unreachable", "missing"
LIVE_PATH: Final = "/livez"
READY_PATHS: Final = ("/readyz", "/healthz")
CHECK_SECONDS: Final = 0.8  # for one part
MAX_AGE: Final = 1.0  # seconds that a result is used again, so that many requests cost one check
MAX_PAGE_AGE: Final = 10.0  # seconds between two checks for the notice on pages
# After a quiet time, nothing is known about the workers, and a page waits for the check, but not for an outage.
OLD_AGE: Final = 30.0
PAGE_WAIT: Final = 0.1
FIND_WORKER = """
    select exists (select from workflows_worker where seen_at > clock_timestamp() - interval '15 seconds')
"""


class WorkerNotice(StrEnum):
    """Tells what pages say about the workers."""

    NONE = ""
    STARTING = "starting"  # none has reported yet, and everything has just been started
    MISSING = "missing"


@dataclass(slots=True)
class Readiness:
    """Checks the parts that this process needs. Without a broker it works too: workers then poll the database."""

    checks: Mapping[str, Check]
    required: frozenset[str] = frozenset({"database"})
    _states: Mapping[str, str] = field(default_factory=dict)
    _checked_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _refresh: "asyncio.Task[Mapping[str, str]] | None" = None
    _started_at: float = field(default_factory=time.monotonic)
    _has_seen_worker: bool = False

    @property
    def worker_notice(self) -> WorkerNotice:
        """Return what a page should say about the workers. It asks nothing."""
        if self._states.get("workers") != MISSING:
            return WorkerNotice.NONE
        # When everything starts, a worker comes up after the web server.
        may_be_starting = time.monotonic() - self._started_at < WORKER_START_SECONDS
        is_starting = may_be_starting and not self._has_seen_worker
        return WorkerNotice.STARTING if is_starting else WorkerNotice.MISSING

    async def refresh_for_page(self) -> None:
        """Check again in the background, unless the last check is recent.

        Wait a moment for the check if the last one is old, or if pages say that there is no worker, which may be over.
        """
        age = time.monotonic() - self._checked_at
        is_shown = self.worker_notice != WorkerNotice.NONE
        if age < (MAX_AGE if is_shown else MAX_PAGE_AGE):
            return
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self.read_states())
        if is_shown or age > OLD_AGE:
            await asyncio.wait({self._refresh}, timeout=PAGE_WAIT)

    async def read_states(self) -> Mapping[str, str]:
        """Return each part's state, at most ``MAX_AGE`` seconds old."""
        async with self._lock:
            if time.monotonic() - self._checked_at > MAX_AGE:
                states = await asyncio.gather(*map(_check_in_time, self.checks.values()))
                self._states = dict(zip(self.checks, states, strict=True))
                self._has_seen_worker |= self._states.get("workers") == OK
                self._checked_at = time.monotonic()
            return self._states

    def is_ready(self, states: Mapping[str, str]) -> bool:
        return all(states.get(part) == OK for part in self.required)


class HealthChecks:
    """An ASGI application that answers the health checks and passes every other request to the inner one."""

    def __init__(self, inner: App, readiness: Readiness | None = None) -> None:
        self._inner = inner
        self._readiness = readiness or get_readiness()

    async def __call__(self, scope: Message, receive: object, send: Send) -> None:
        path = scope.get("path")
        if scope["type"] != "http" or path not in (LIVE_PATH, *READY_PATHS):
            await self._readiness.refresh_for_page()
            await self._inner(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, {"status": "method not allowed"}, ((b"allow", b"GET, HEAD"),))
        elif path == LIVE_PATH:
            await _answer(send, 200, {"status": OK, "parts": {"web": OK}})
        else:
            states = await self._readiness.read_states()
            is_ready = self._readiness.is_ready(states)
            body = {"status": OK if is_ready else "unavailable", "parts": states}
            retry = () if is_ready else ((b"retry-after", str(RETRY_AFTER).encode()),)
            await _answer(send, 200 if is_ready else 503, body, retry)


@cache
def get_readiness() -> Readiness:
    """Return the readiness of this process, which the notice on pages reads as well."""
    return Readiness({"database": check_database, "broker": check_broker, "workers": check_workers})


async def check_database() -> str:
    connection = await psycopg.AsyncConnection.connect(build_conninfo(), autocommit=True)
    async with connection:
        await connection.execute("select 1")
    return OK


async def check_workers() -> str:
    """Check whether a worker has reported lately. Pages work without one, but runs wait."""
    connection = await psycopg.AsyncConnection.connect(build_conninfo(), autocommit=True)
    async with connection:
        row = await (await connection.execute(FIND_WORKER)).fetchone()
    return OK if row and row[0] else MISSING


async def check_broker() -> str:
    """Check the Redis or Valkey server that wakes workers and streams tokens. Another broker isn't checked."""
    async with Redis.from_url(settings.REDIS_URL) as redis:
        await redis.ping()
    return OK


async def _check_in_time(check: Check) -> str:
    with suppress(TimeoutError, OSError, psycopg.Error, RedisError):
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    return UNREACHABLE


async def _answer(
    send: Send, status: int, body: object, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    head = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics: with the token from METRICS_TOKEN, or only to this machine if no token is set."""
    if not _may_read_metrics(request):
        return HttpResponseForbidden()
    metrics_text = b"".join(generate_latest(collector) for collector in list_web_collectors())
    return HttpResponse(metrics_text, content_type=CONTENT_TYPE_LATEST)


def _may_read_metrics(request: HttpRequest) -> bool:
    if token := settings.METRICS_TOKEN:
        return may_read(request.headers.get("Authorization", ""), token)
    # Behind a proxy all requests come from this machine, so that a token is required.
    return request.META.get("REMOTE_ADDR") in ("127.0.0.1", "::1") and settings.PUBLIC_URL is None

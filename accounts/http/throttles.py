"""Limits requests to the API per minute: of each key, each person, each address without either, and each team.

A request counts in the current minute, and the previous minute counts in part, as much as it lies within the last 60
seconds. The counts are in the cache, which web processes share through Valkey; without it, requests aren't limited,
because an outage of a limit must not become an outage of the product (``config.http.outage_cache``).
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from ninja.throttling import BaseThrottle

from accounts.principals import Principal, get_current_team_id
from config.http.proxies import find_network


WINDOW: Final = 60  # seconds
_ATTRIBUTE: Final = "_rate_limit"
# Ninja asks the throttle, which all threads share, how long to wait, and doesn't name the request.
_wait: ContextVar[float] = ContextVar("wait", default=WINDOW)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The state of one limit after a request: ``seconds`` until another request fits in, or until the minute ends."""

    limit: int
    remaining: int
    seconds: float

    @property
    def is_exceeded(self) -> bool:
        return self.remaining < 0


class RequestsThrottle(BaseThrottle):
    """Applies every limit that concerns a request. A refused request counts for none of them."""

    def allow_request(self, request: HttpRequest) -> bool:
        counted_names = []
        for name, limit in _list_limits(request):
            rate_limit = count_request(name, limit, time.time())
            counted_names.append(name)
            _keep_tightest(request, rate_limit)
            if rate_limit.is_exceeded:
                for each in counted_names:
                    _take_back(each, time.time())
                _wait.set(rate_limit.seconds)
                return False
        return True

    def wait(self) -> float | None:
        return max(_wait.get(), 1.0)


class RateLimitHeadersMiddleware(MiddlewareMixin):
    """Tells the client the limit that it is closest to."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        rate_limit: RateLimit | None = getattr(request, _ATTRIBUTE, None)
        if rate_limit is not None:
            for name, value in _build_headers(rate_limit).items():
                response[name] = value
        return response


def count_together(requests: Sequence[HttpRequest]) -> list[Mapping[str, str] | None]:
    """Count authenticated requests that came together, and return the headers of the response to each.

    Return None for all requests of a caller or a team that exceed its limit together. They don't count: the throttle
    decides about each of them.
    """
    now = time.time()
    limits = [list(_list_limits(request)) for request in requests]
    counts = Counter(limit for each in limits for limit in each)
    states = {limit: count_request(*limit, now, count) for limit, count in counts.items()}
    fits = [not any(states[limit].is_exceeded for limit in each) for each in limits]
    refused = Counter(
        limit for each, fit in zip(limits, fits, strict=True) if not fit for limit in each
    )
    for (name, _limit), count in refused.items():
        _take_back(name, now, count)
    return [
        _build_headers(min((states[limit] for limit in each), key=_get_remaining)) if fit else None
        for each, fit in zip(limits, fits, strict=True)
    ]


def count_request(name: str, limit: int, now: float, count: int = 1) -> RateLimit:
    """Count a request, or several, in the current minute, and return what is left of the limit."""
    window, elapsed = divmod(now, WINDOW)
    current, previous = _count_up(_make_key(name, window), _make_key(name, window - 1), count)
    used = current + previous * (1 - elapsed / WINDOW)
    remaining = math.floor(limit - used)
    until_end = WINDOW - elapsed
    if remaining < 0 and previous and current <= limit:
        # The previous minute counts less with every second.
        until_end = min(until_end, (used - limit) * WINDOW / previous)
    return RateLimit(limit, remaining, until_end)


def _list_limits(request: HttpRequest) -> Iterator[tuple[str, int]]:
    """Yield the name and the limit of each count: that of the caller, and that of the caller's team."""
    principal: Principal | None = getattr(request, "principal", None)
    if principal is None:
        network = find_network(request.META.get("REMOTE_ADDR", ""))
        yield f"network:{network}", settings.API_REQUESTS_PER_MINUTE
        return
    yield principal.actor, _get_own_limit(principal)
    if principal.team_ids:
        team_id = get_current_team_id(request)
        yield f"team:{team_id}", settings.API_TEAM_REQUESTS_PER_MINUTE


def _get_own_limit(principal: Principal) -> int:
    """Return the installation's limit, or the lower one of the key."""
    limit: int = settings.API_REQUESTS_PER_MINUTE
    key: Any = getattr(principal, "key", None)  # Any: users have none
    key_limit = key.requests_per_minute if key is not None else None
    return limit if key_limit is None else min(limit, key_limit)


def _keep_tightest(request: HttpRequest, rate_limit: RateLimit) -> None:
    tightest: RateLimit | None = getattr(request, _ATTRIBUTE, None)
    if tightest is None or rate_limit.remaining < tightest.remaining:
        setattr(request, _ATTRIBUTE, rate_limit)


def _get_remaining(rate_limit: RateLimit) -> int:
    return rate_limit.remaining


def _build_headers(rate_limit: RateLimit) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(rate_limit.limit),
        "X-RateLimit-Remaining": str(max(rate_limit.remaining, 0)),
        "X-RateLimit-Reset": str(math.ceil(rate_limit.seconds)),
    }


def _count_up(key: str, previous_key: str, count: int) -> tuple[int, int]:
    """Add to the count of the current minute, and return it with that of the previous one."""
    count_in_one_message = getattr(
        cache, "count_up", None
    )  # the shared cache has it, and it waits for a server
    if count_in_one_message is None:
        return _increment(key, count), int(cache.get(previous_key) or 0)
    counts: tuple[int, int] = count_in_one_message(key, count, 2 * WINDOW, previous_key)
    return counts


def _increment(key: str, count: int) -> int:
    if cache.add(key, count, timeout=2 * WINDOW):
        return count
    try:
        return cache.incr(key, count)
    except ValueError:  # it has just expired
        return count


def _take_back(name: str, now: float, count: int = 1) -> None:
    try:
        cache.decr(_make_key(name, now // WINDOW), count)
    except ValueError:  # the minute has just ended
        return


def _make_key(name: str, window: float) -> str:
    return f"requests:{name}:{window:.0f}"

"""The shared cache, which holds nothing but rate limits: without its server, requests are served unlimited.

Failing closed would turn an outage of Valkey into an outage of sign-in and the API. Budgets and the delays of sign-in
are kept in PostgreSQL and aren't affected.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError


TIMEOUT: Final = 0.5  # seconds; a server that doesn't respond must not hold up every request
Method = Callable[..., Any]  # Any: the cache's own signatures

log = structlog.get_logger(__name__)


def _tolerate_outage(method: Method, answer: object) -> Method:
    """Return the method, which returns ``answer`` instead of raising an error if the server can't be reached."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except (RedisError, OSError) as error:
            log.warning("cache.unreachable", operation=method.__name__, why=type(error).__name__)
            return answer

    return call


class OutageCache(RedisCache):
    """Django's Redis cache. In an outage, nothing is found and every write seems to succeed."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        timeouts = {"socket_connect_timeout": TIMEOUT, "socket_timeout": TIMEOUT}
        options = timeouts | params.get("OPTIONS", {})
        super().__init__(server, {**params, "OPTIONS": options})

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return _tolerate_outage(super().get, default)(key, default, version)

    def count_up(
        self, key: str, delta: int, timeout: int, further_key: str, version: int | None = None
    ) -> tuple[int, int]:
        """Add to a number, which begins at 0, and return it with that of a further key: in one message to the server.

        In an outage both are 0.
        """
        keys = [self.make_and_validate_key(each, version=version) for each in (key, further_key)]
        return _tolerate_outage(self._count_up, (0, 0))(*keys, delta, timeout)  # type: ignore[no-any-return]

    def _count_up(self, key: str, further_key: str, delta: int, timeout: int) -> tuple[int, int]:
        with self._cache.get_client(key, write=True).pipeline(transaction=False) as pipeline:
            pipeline.incrby(key, delta)
            pipeline.expire(key, timeout)
            pipeline.get(further_key)
            number, _has_expiry, further = pipeline.execute()
        return int(number), int(further or 0)

    add = _tolerate_outage(RedisCache.add, True)
    set = _tolerate_outage(RedisCache.set, None)
    incr = _tolerate_outage(RedisCache.incr, 1)
    touch = _tolerate_outage(RedisCache.touch, False)
    delete = _tolerate_outage(RedisCache.delete, False)
    has_key = _tolerate_outage(RedisCache.has_key, False)
    get_many = _tolerate_outage(RedisCache.get_many, {})

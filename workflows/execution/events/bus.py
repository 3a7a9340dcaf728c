"""The token bus: what a run says right now, on Valkey channels. Never the truth, only the speed.

A message that is lost costs a subscriber some hundred milliseconds: rows have sequence numbers,
text has offsets, and whoever sees a gap reads it from PostgreSQL.
"""

import asyncio
import logging
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import RedisError


log = logging.getLogger(__name__)

RETRY_AFTER = 2.0  # seconds without publishing once the bus has failed


def channel(run_id: object) -> str:
    return f"run:{run_id}"


def cancel_channel() -> str:
    """Carries run ids to every worker on this database; a Valkey's channels know no numbered databases."""
    return f"runs:cancel:{connections[DEFAULT_DB_ALIAS].settings_dict['NAME']}"


def bus_url() -> str | None:
    """Where tokens travel; None on an installation without Valkey, which polls PostgreSQL."""
    return getattr(settings, "REDIS_URL", None) or None


def connect(url: str) -> "Redis":
    return Redis.from_url(url, socket_connect_timeout=2, decode_responses=True)


class Publisher:
    """One connection a worker. Publishing never fails a run and never makes it wait for a dead bus."""

    def __init__(self, url: str | None) -> None:
        self._redis: Redis | None = connect(url) if url else None
        self._silent_until = 0.0

    async def publish(self, messages: list[tuple[str, str]]) -> None:
        """(channel, text) pairs, in this order, in one round trip."""
        if self._redis is None or not messages or self._now() < self._silent_until:
            return
        try:
            if len(messages) == 1:
                await self._redis.publish(*messages[0])
                return
            pipe: Any = self._redis.pipeline(transaction=False)
            for name, text in messages:
                pipe.publish(name, text)
            await pipe.execute()
        except (RedisError, OSError) as error:
            self._silent_until = self._now() + RETRY_AFTER
            log.warning("bus_publish_failed", extra={"reason": str(error)})

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def announce_cancel(run_id: object) -> None:
    """From a web process, after the commit. Unheard, it is found by looking half a second later."""
    url = bus_url()
    if url is None:
        return
    redis = SyncRedis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
    try:
        redis.publish(cancel_channel(), str(run_id))
    except (RedisError, OSError) as error:
        log.warning("bus_publish_failed", extra={"reason": str(error)})
    finally:
        redis.close()

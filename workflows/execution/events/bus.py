"""The bus: Valkey channels on which workers publish the events of runs. The rows in PostgreSQL are authoritative.

A lost message only delays a reader: rows have sequence numbers and text has offsets, so the reader notices the gap and
reads what is missing from the rows.
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

RUN_PREFIX = "run"  # of a run's channel: run:<id>
RETRY_AFTER = 2.0  # seconds without publishing once the bus has failed


def get_channel(run_id: object) -> str:
    return f"{RUN_PREFIX}:{run_id}"


def get_cancel_channel() -> str:
    """Return the channel of cancel requests. Its name contains the database's, since channels span Valkey databases."""
    return f"runs:cancel:{connections[DEFAULT_DB_ALIAS].settings_dict['NAME']}"


def get_bus_url() -> str | None:
    """Return the address of the bus, or None on an installation without Valkey, which polls PostgreSQL."""
    return getattr(settings, "REDIS_URL", None) or None


def connect(url: str) -> "Redis":
    return Redis.from_url(url, socket_connect_timeout=2, decode_responses=True)


class Publisher:
    """One connection per worker. Publishing neither fails a run nor makes it wait for an unreachable bus."""

    def __init__(self, url: str | None) -> None:
        self._redis: Redis | None = connect(url) if url else None
        self._silent_until = 0.0

    async def publish(self, messages: list[tuple[str, str]]) -> None:
        """Publish (channel, text) pairs in this order, in one round trip."""
        if self._redis is None or not messages or self._get_time() < self._silent_until:
            return
        try:
            if len(messages) == 1:
                await self._redis.publish(*messages[0])
                return
            pipe: Any = self._redis.pipeline(transaction=False)
            for channel, text in messages:
                pipe.publish(channel, text)
            await pipe.execute()
        except (RedisError, OSError) as error:
            self._silent_until = self._get_time() + RETRY_AFTER
            log.warning("bus_publish_failed", extra={"reason": str(error)})

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()

    @staticmethod
    def _get_time() -> float:
        return asyncio.get_running_loop().time()


def announce_cancel(run_id: object) -> None:
    """Publish a cancel request from a web process, after the commit.

    If the message is lost, polling finds the request half a second later.
    """
    url = get_bus_url()
    if url is None:
        return
    redis = SyncRedis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
    try:
        redis.publish(get_cancel_channel(), str(run_id))
    except (RedisError, OSError) as error:
        log.warning("bus_publish_failed", extra={"reason": str(error)})
    finally:
        redis.close()

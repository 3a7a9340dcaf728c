"""Presence: the cards of open tabs, each alive as long as somebody renews it.

Nothing of it is saved. With Valkey all web processes share one board; without, each has its own.
"""

import time
from collections.abc import Mapping
from json import JSONDecodeError, dumps, loads
from typing import Any, Protocol
from uuid import UUID

from redis import Redis as SyncRedis
from redis.asyncio import Redis
from redis.exceptions import RedisError

from workflows.engine.language.document import Json
from workflows.execution.events.bus import connect


FRESH = 12.0  # seconds a card is good for; its stream renews it every few
EXPIRE = 60  # seconds after which Valkey forgets a draft nobody renews

Card = dict[str, Json]


class Board(Protocol):
    """Failing is being empty: presence never stands in the way of editing."""

    async def put(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None: ...
    async def drop(self, workflow_id: UUID, key: str) -> None: ...
    async def read(self, workflow_id: UUID) -> dict[str, Card]: ...
    async def close(self) -> None: ...


class LocalBoard:
    def __init__(self) -> None:
        self._cards: dict[UUID, dict[str, Card]] = {}

    async def put(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None:
        self._cards.setdefault(workflow_id, {}).update(cards)

    async def drop(self, workflow_id: UUID, key: str) -> None:
        cards = self._cards.get(workflow_id, {})
        cards.pop(key, None)
        if not cards:
            self._cards.pop(workflow_id, None)

    async def read(self, workflow_id: UUID) -> dict[str, Card]:
        return dict(self._cards.get(workflow_id, {}))

    async def close(self) -> None:
        self._cards.clear()


class SharedBoard:
    """A hash a draft, renewed cards with the time they were; a killed server's cards grow stale."""

    def __init__(self, url: str) -> None:
        self._redis: Redis = connect(url)

    async def put(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None:
        if not cards:
            return
        now = time.time()
        texts = {key: dumps({**card, "at": now}) for key, card in cards.items()}
        try:
            pipe: Any = self._redis.pipeline(transaction=False)  # Any: redis-py is half typed
            pipe.hset(place(workflow_id), mapping=texts)
            pipe.expire(place(workflow_id), EXPIRE)
            await pipe.execute()
        except (RedisError, OSError):
            return

    async def drop(self, workflow_id: UUID, key: str) -> None:
        try:
            gone: Any = self._redis.hdel(place(workflow_id), key)  # Any: redis-py is half typed
            await gone
        except (RedisError, OSError):
            return

    async def read(self, workflow_id: UUID) -> dict[str, Card]:
        try:
            keys: Any = self._redis.hgetall(place(workflow_id))  # Any: redis-py is half typed
            values: dict[str, str] = await keys
        except (RedisError, OSError):
            return {}
        return is_fresh(values)

    async def close(self) -> None:
        await self._redis.aclose()


def build_board(url: str | None) -> Board:
    return SharedBoard(url) if url else LocalBoard()


def place(workflow_id: UUID) -> str:
    return f"presence:{workflow_id}"


def is_fresh(texts: Mapping[str, str]) -> dict[str, Card]:
    cards: dict[str, Card] = {}
    for key, text in texts.items():
        try:
            card = loads(text)
        except JSONDecodeError:
            continue
        if time.time() - card.pop("at", 0) < FRESH:
            cards[key] = card
    return cards


def update_card(redis: "SyncRedis", workflow_id: UUID, key: str, more: Card) -> Card | None:
    """From a request: what a tab says of itself. None where no stream of it stands anywhere."""
    current: Any = redis.hget(place(workflow_id), key)  # Any: redis-py is half typed
    cards = is_fresh({key: current}) if current else {}
    if key not in cards:
        return None
    card = {**cards[key], **more}
    redis.hset(place(workflow_id), key, dumps({**card, "at": time.time()}))
    return card

"""Presence: the cards of open tabs, each valid as long as it is renewed.

Nothing is saved. With Valkey all web processes share one board; without, each has its own.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from json import JSONDecodeError, dumps, loads
from typing import Any, Protocol
from uuid import UUID

from redis import Redis as SyncRedis
from redis.exceptions import RedisError

from workflows.engine.language.document import Json
from workflows.execution.events.bus import connect


FRESH_SECONDS = 12.0  # seconds that a card is valid; its stream renews it more often
EXPIRE_SECONDS = 60  # seconds after which Valkey deletes a draft without renewals

Card = dict[str, Json]


class Board(Protocol):
    """The presence of tabs. A failure gives an empty board, so that presence never blocks editing."""

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
    """A hash for each draft, with the time of each card's renewal; a killed server's cards expire."""

    def __init__(self, url: str) -> None:
        self._redis: Any = connect(url)  # Any: redis-py is only partly typed

    async def put(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None:
        if not cards:
            return
        now = time.time()
        texts = {key: dumps({**card, "at": now}) for key, card in cards.items()}
        with suppress(RedisError, OSError):
            pipe = self._redis.pipeline(transaction=False)
            pipe.hset(get_board_key(workflow_id), mapping=texts)
            pipe.expire(get_board_key(workflow_id), EXPIRE_SECONDS)
            await pipe.execute()

    async def drop(self, workflow_id: UUID, key: str) -> None:
        with suppress(RedisError, OSError):
            await self._redis.hdel(get_board_key(workflow_id), key)

    async def read(self, workflow_id: UUID) -> dict[str, Card]:
        try:
            return filter_fresh(await self._redis.hgetall(get_board_key(workflow_id)))
        except (RedisError, OSError):
            return {}

    async def close(self) -> None:
        await self._redis.aclose()


def build_board(url: str | None) -> Board:
    return SharedBoard(url) if url else LocalBoard()


def get_board_key(workflow_id: UUID) -> str:
    return f"presence:{workflow_id}"


def filter_fresh(texts: Mapping[str, str]) -> dict[str, Card]:
    cards: dict[str, Card] = {}
    for key, text in texts.items():
        try:
            card = loads(text)
        except JSONDecodeError:
            continue
        if time.time() - card.pop("at", 0) < FRESH_SECONDS:
            cards[key] = card
    return cards


def update_card(redis: "SyncRedis", workflow_id: UUID, key: str, more: Card) -> Card | None:
    """Update a tab's card from a request. None if no stream of this tab is open."""
    current: Any = redis.hget(get_board_key(workflow_id), key)  # Any: redis-py is only partly typed
    cards = filter_fresh({key: current}) if current else {}
    if key not in cards:
        return None
    card = {**cards[key], **more}
    redis.hset(get_board_key(workflow_id), key, dumps({**card, "at": time.time()}))
    return card

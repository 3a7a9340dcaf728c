"""Presence: the cards of open tabs, which tell the other tabs who is there. A card expires unless it is renewed.

With Valkey all web processes share the cards; without Valkey each process knows only its own.
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

Card = dict[str, Json]  # see ``tabs.build_card``


class PresenceStore(Protocol):
    """The cards of each draft by tab key. Errors are ignored, so that presence never blocks editing."""

    async def save(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None: ...
    async def remove(self, workflow_id: UUID, tab_key: str) -> None: ...
    async def read(self, workflow_id: UUID) -> dict[str, Card]: ...
    async def close(self) -> None: ...


class LocalPresence:
    """The cards of the tabs that are connected to this process."""

    def __init__(self) -> None:
        self._cards: dict[UUID, dict[str, Card]] = {}

    async def save(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None:
        self._cards.setdefault(workflow_id, {}).update(cards)

    async def remove(self, workflow_id: UUID, tab_key: str) -> None:
        cards = self._cards.get(workflow_id, {})
        cards.pop(tab_key, None)
        if not cards:
            self._cards.pop(workflow_id, None)

    async def read(self, workflow_id: UUID) -> dict[str, Card]:
        return dict(self._cards.get(workflow_id, {}))

    async def close(self) -> None:
        self._cards.clear()


class SharedPresence:
    """The cards of all processes, in one Valkey hash for each draft. The cards of a killed process expire."""

    def __init__(self, url: str) -> None:
        self._redis: Any = connect(url)  # Any: redis-py is only partly typed

    async def save(self, workflow_id: UUID, cards: Mapping[str, Card]) -> None:
        if not cards:
            return
        now = time.time()
        encoded = {key: dumps({**card, "at": now}) for key, card in cards.items()}
        with suppress(RedisError, OSError):
            pipe = self._redis.pipeline(transaction=False)
            pipe.hset(get_presence_key(workflow_id), mapping=encoded)
            pipe.expire(get_presence_key(workflow_id), EXPIRE_SECONDS)
            await pipe.execute()

    async def remove(self, workflow_id: UUID, tab_key: str) -> None:
        with suppress(RedisError, OSError):
            await self._redis.hdel(get_presence_key(workflow_id), tab_key)

    async def read(self, workflow_id: UUID) -> dict[str, Card]:
        try:
            return decode_fresh_cards(await self._redis.hgetall(get_presence_key(workflow_id)))
        except (RedisError, OSError):
            return {}

    async def close(self) -> None:
        await self._redis.aclose()


def build_presence_store(url: str | None) -> PresenceStore:
    return SharedPresence(url) if url else LocalPresence()


def get_presence_key(workflow_id: UUID) -> str:
    return f"presence:{workflow_id}"


def decode_fresh_cards(encoded: Mapping[str, str]) -> dict[str, Card]:
    """Return the cards that were renewed within FRESH_SECONDS, by tab key."""
    cards: dict[str, Card] = {}
    for key, text in encoded.items():
        try:
            card = loads(text)
        except JSONDecodeError:
            continue
        if time.time() - card.pop("at", 0) < FRESH_SECONDS:
            cards[key] = card
    return cards


def update_card(redis: "SyncRedis", workflow_id: UUID, tab_key: str, changes: Card) -> Card | None:
    """Update and renew a tab's card from a request. Return None if the tab has no card, since its stream is closed."""
    hash_key = get_presence_key(workflow_id)
    current: Any = redis.hget(hash_key, tab_key)  # Any: redis-py is only partly typed
    cards = decode_fresh_cards({tab_key: current}) if current else {}
    if tab_key not in cards:
        return None
    card = {**cards[tab_key], **changes}
    redis.hset(hash_key, tab_key, dumps({**card, "at": time.time()}))
    return card

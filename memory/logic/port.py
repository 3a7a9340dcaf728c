"""A provider as a workflow's nodes see it, with all that the logic makes of entries: talks and pages.

What the in-process runner hands to its nodes. Shapes are the engine's, which this package must not import.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol
from uuid import uuid4

from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scoped import Clearing, OriginLike, ScopedMemory, tier_named
from memory.core.scopes import Scope, needed, resolve_namespace
from memory.logic.apart import held_for
from memory.logic.ingress import judge, origin_named
from memory.logic.paging import MERGE, Hit, Kept, Sought, find, write
from memory.logic.ports import Entries
from memory.logic.talking import Talk, asked, converse


class StepLike(OriginLike, Protocol):
    @property
    def idempotency_key(self) -> str: ...


class LogicMemory(ScopedMemory):
    def __init__(self, provider: Clearing) -> None:
        super().__init__(provider)
        self._entries: Entries = provider

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: OriginLike,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryEntry:
        """Without secrets; a stranger's orders go to quarantine, and take nothing in use with them."""
        namespace = resolve_namespace(scope, identity)
        params = StoreParams(namespace, key, value, metadata or {}, tier=tier_named(tier))
        kept = judge(params, origin_named(params)).params
        if kept.tier is Tier.QUARANTINE:
            in_use = await self._entries.recall(MemoryQuery(namespace, key=kept.key))
            kept = held_for(kept.key, kept) if in_use else kept
        return await super().store(
            scope=scope,
            identity=identity,
            origin=origin,
            key=kept.key,
            value=kept.value,
            metadata=kept.metadata,
            tier=str(kept.tier),
            ttl_seconds=None if kept.tier is Tier.QUARANTINE else ttl_seconds,
        )

    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepLike,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> Talk:
        session = needed(Scope.CONVERSATION, "conversation_id", identity)
        wanted = asked(action, messages, rules or {}, step=origin.idempotency_key)
        return await converse(
            wanted, session, self._entries, new_id=_new_id, clock=_now, source=_source(origin)
        )

    async def find_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepLike,
        query: str,
        top_k: int = 20,
        min_score: float = 0.1,
        tags: Sequence[str] = (),
    ) -> Sequence[Hit]:
        namespace = resolve_namespace(scope, identity)
        sought = Sought(query, top_k, min_score, tuple(tags))
        return await find(sought, self._entries, namespace)

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepLike,
        pages: Sequence[Mapping[str, Json]],
        mode: str = MERGE,
    ) -> Sequence[Kept]:
        namespace = resolve_namespace(scope, identity)
        return await write(
            pages, self._entries, namespace, mode=mode, clock=_now, source=_source(origin)
        )


def _source(origin: OriginLike) -> Source:
    return Source(run_id=origin.run_id, node_id=origin.node_id)


def _new_id() -> str:
    return uuid4().hex


def _now() -> datetime:
    return datetime.now(UTC)

"""Memory as a durable run's nodes see it: the engine's port, answered by the services.

The caller's identity, from the server, decides the namespace; what the node passes is not used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from memory.core.records import Json, MemoryEntry
from memory.core.scoped import check_target, of_group
from memory.core.scopes import life_in
from memory.logic.paging import MERGE, Hit, Kept
from memory.logic.talking import Talk
from memory.providers.postgres.provider import in_thread
from memory.services.caller import CallOrigin, MemoryCaller
from memory.services.conversation import converse
from memory.services.forget import forget
from memory.services.knowledge import find_pages, write_pages
from memory.services.recall import recall
from memory.services.remember import remember


class StepOrigin(Protocol):
    @property
    def run_id(self) -> str: ...
    @property
    def node_id(self) -> str: ...
    @property
    def idempotency_key(self) -> str: ...


class RunMemory:
    """``caller.reach`` bounds it; see ``memory.services.caller``."""

    def __init__(self, caller: MemoryCaller) -> None:
        self._caller = caller

    async def recall(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        query_text: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
        top_k: int | None = None,
        injected: bool = False,
        group_id: str | None = None,
        recency_days: float | None = None,
    ) -> list[MemoryEntry]:
        caller = self._at(origin, group_id)
        return await in_thread(
            lambda: recall(
                caller,
                scope=scope,
                key=key,
                query_text=query_text,
                filter=filter,
                top_k=top_k,
                injected=injected,
                recency_days=recency_days,
            )
        )

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryEntry:
        caller = self._at(origin)
        return await in_thread(
            lambda: remember(
                caller,
                scope=scope,
                key=key,
                value=value,
                metadata=metadata,
                tier=tier,
                ttl_seconds=life_in(scope, ttl_seconds, tier),
            )
        )

    async def delete(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    ) -> int:
        check_target(key, filter)
        caller = self._at(origin)
        forgotten = await in_thread(lambda: forget(caller, scope=scope, key=key, filter=filter))
        return forgotten.count

    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> Talk:
        caller = self._at(origin)
        return await in_thread(
            lambda: converse(caller, action=action, messages=messages, rules=rules)
        )

    async def find_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        query: str,
        top_k: int = 20,
        min_score: float = 0.1,
        tags: Sequence[str] = (),
    ) -> Sequence[Hit]:
        caller = self._at(origin)
        return await in_thread(
            lambda: find_pages(
                caller, scope=scope, query=query, top_k=top_k, min_score=min_score, tags=tags
            )
        )

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = MERGE,
    ) -> Sequence[Kept]:
        caller = self._at(origin)
        return await in_thread(lambda: write_pages(caller, scope=scope, pages=pages, mode=mode))

    def _at(self, origin: StepOrigin, group_id: str | None = None) -> MemoryCaller:
        """Its reach stays the run's own, whatever group it asks for."""
        step = CallOrigin(origin.run_id, origin.node_id, origin.idempotency_key)
        return replace(
            self._caller, origin=step, identity=of_group(self._caller.identity, group_id)
        )

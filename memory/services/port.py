"""Memory as a durable run's nodes see it: the engine's port, answered by the services.

The caller's identity, from the server, decides the namespace; what the node passes is not used.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from memory.core.records import Json, MemoryEntry
from memory.core.scoped import check_target
from memory.core.scopes import life_in
from memory.providers.postgres.provider import in_thread
from memory.services.caller import CallOrigin, MemoryCaller
from memory.services.forget import forget
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
    ) -> list[MemoryEntry]:
        caller = self._at(origin)
        return await in_thread(
            lambda: recall(
                caller,
                scope=scope,
                key=key,
                query_text=query_text,
                filter=filter,
                top_k=top_k,
                injected=injected,
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
                ttl_seconds=life_in(scope, ttl_seconds),
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

    def _at(self, origin: StepOrigin) -> MemoryCaller:
        step = CallOrigin(origin.run_id, origin.node_id, origin.idempotency_key)
        return replace(self._caller, origin=step)

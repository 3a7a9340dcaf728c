"""The door in the shape of a provider, so that what is written against providers works through it too."""

from collections.abc import Sequence

from memory.core.provider import MemoryProvider
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.providers.postgres.provider import in_thread
from memory.services.caller import MemoryCaller
from memory.services.forget import clear, forget
from memory.services.history import values
from memory.services.recall import recall
from memory.services.remember import remember


class DoorEntries(MemoryProvider):
    """``caller`` decides what is allowed; every call is one transaction with its row in the trail."""

    def __init__(self, caller: MemoryCaller) -> None:
        self._caller = caller

    async def store(self, params: StoreParams) -> MemoryEntry:
        return await in_thread(
            lambda: remember(
                self._caller,
                namespace=params.namespace,
                key=params.key,
                value=params.value,
                metadata=params.metadata,
                category=params.category,
                tier=params.tier,
                importance=params.importance,
                ttl_seconds=params.ttl_seconds,
                source=params.source,
                raw=True,
            )
        )

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        return await in_thread(
            lambda: recall(
                self._caller,
                namespace=query.namespace,
                key=query.key,
                query_text=query.query_text,
                filter=query.filter,
                top_k=query.top_k,
                language=query.language,
                recency_days=query.recency_days,
                as_of=query.as_of,
            )
        )

    async def delete(self, namespace: str, key: str) -> bool:
        done = await in_thread(lambda: forget(self._caller, namespace=namespace, key=key))
        return done.count > 0

    async def clear_namespace(self, namespace: str) -> int:
        done = await in_thread(lambda: clear(self._caller, namespace=namespace))
        return done.count

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return await in_thread(lambda: values(self._caller, namespace=namespace, key=key))

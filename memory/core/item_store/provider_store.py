"""Any provider as a store: its items are the entries of one namespace, so they outlive the process.

What an item was before it was saved again stays readable in the provider's history.
"""

from memory.core.provider import MemoryProvider
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.store import (
    EVERYTHING,
    MemoryFilter,
    MemoryItem,
    MemoryStore,
    check_filter,
    check_item,
    oldest_first,
)


class ProviderStore(MemoryStore):
    """Evicts nothing itself; an entry's end is its provider's affair (``ttl_seconds``)."""

    def __init__(
        self, provider: MemoryProvider, namespace: str, *, ttl_seconds: float | None = None
    ) -> None:
        self._provider = provider
        self._namespace = namespace
        self._ttl_seconds = ttl_seconds

    async def save(self, item: MemoryItem) -> None:
        check_item(item)
        await self._provider.store(
            StoreParams(
                self._namespace, item.id, item.to_json(), category="item",
                ttl_seconds=self._ttl_seconds,
            )
        )  # fmt: skip

    async def get(self, id: str) -> MemoryItem | None:  # noqa: A002 - the contract's word
        found = await self._provider.recall(MemoryQuery(self._namespace, key=id))
        return _item(found[0]) if found else None

    async def delete(self, id: str) -> None:  # noqa: A002 - the contract's word
        await self._provider.delete(self._namespace, id)

    async def list(self, filter: MemoryFilter = EVERYTHING) -> "list[MemoryItem]":  # noqa: A002
        check_filter(filter)
        entries = await self._provider.recall(MemoryQuery(self._namespace))
        found = [item for item in map(_item, entries) if filter.admits(item)]
        return oldest_first(found)[: filter.limit]


def _item(entry: MemoryEntry) -> MemoryItem:
    return MemoryItem.from_json(entry.value)

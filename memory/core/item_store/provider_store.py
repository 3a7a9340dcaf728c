"""Any provider as a store: its items are the entries of one namespace, so they outlive the process.

What an item was before it was saved again stays readable in the provider's history.
"""

from memory.core.item_store.store import (
    EVERYTHING,
    MemoryFilter,
    MemoryItem,
    MemoryStore,
    check_filter,
    check_item,
    oldest_first,
)
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams


class ProviderStore(MemoryStore):
    """Evicts nothing itself; an entry's end is its provider's affair (``ttl_seconds``)."""

    def __init__(
        self, provider: NamespaceStore, namespace: str, *, ttl_seconds: float | None = None
    ) -> None:
        self._provider = provider
        self._namespace = namespace
        self._ttl_seconds = ttl_seconds

    def save(self, item: MemoryItem) -> None:
        check_item(item)
        self._provider.store(
            StoreParams(
                self._namespace, item.id, value=item.to_json(), category="item",
                ttl_seconds=self._ttl_seconds,
            )
        )  # fmt: skip

    def get(self, id: str) -> MemoryItem | None:  # noqa: A002 - the contract's word
        entries = self._provider.recall(MemoryQuery(self._namespace, key=id))
        return _item(entries[0]) if entries else None

    def delete(self, id: str) -> None:  # noqa: A002 - the contract's word
        self._provider.delete(self._namespace, id)

    def list(self, filter: MemoryFilter = EVERYTHING) -> "list[MemoryItem]":  # noqa: A002
        check_filter(filter)
        entries = self._provider.recall(MemoryQuery(self._namespace))
        items = [item for item in map(_item, entries) if filter.admits(item)]
        return oldest_first(items)[: filter.limit]


def _item(entry: MemoryEntry) -> MemoryItem:
    return MemoryItem.from_json(entry.value)

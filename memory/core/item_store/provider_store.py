"""An item store on any provider: its items are the entries of one namespace, so they outlive the process.

The earlier states of an item stay readable in the provider's history.
"""

from memory.core.item_store.store import (
    NO_FILTER,
    MemoryFilter,
    MemoryItem,
    MemoryStore,
    check_filter,
    check_item,
    sort_by_age,
)
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams


class ProviderStore(MemoryStore):
    """An item store on a provider. It evicts nothing itself; the provider expires entries (``ttl_seconds``)."""

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

    def get(self, id: str) -> MemoryItem | None:  # noqa: A002 - the interface's name
        entries = self._provider.recall(MemoryQuery(self._namespace, key=id))
        return _decode_item(entries[0]) if entries else None

    def delete(self, id: str) -> None:  # noqa: A002 - the interface's name
        self._provider.delete(self._namespace, id)

    def list(self, filter: MemoryFilter = NO_FILTER) -> "list[MemoryItem]":  # noqa: A002
        check_filter(filter)
        entries = self._provider.recall(MemoryQuery(self._namespace))
        items = [item for item in map(_decode_item, entries) if filter.matches(item)]
        return sort_by_age(items)[: filter.limit]


def _decode_item(entry: MemoryEntry) -> MemoryItem:
    return MemoryItem.from_json(entry.value)

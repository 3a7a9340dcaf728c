"""An item store on any provider: its items are the entries of one namespace, so they outlive the process.

The earlier states of an item stay readable in the provider's history.
"""

from dataclasses import replace

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
from memory.core.records import MemoryQuery, StoreParams


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
        params = StoreParams(self._namespace, item.id, value=item.to_json(), category="item")
        self._provider.store(replace(params, ttl_seconds=self._ttl_seconds))

    def get(self, id: str) -> MemoryItem | None:  # noqa: A002 - the interface's name
        entries = self._provider.recall(MemoryQuery(self._namespace, key=id))
        return MemoryItem.from_json(entries[0].value) if entries else None

    def delete(self, id: str) -> None:  # noqa: A002 - the interface's name
        self._provider.delete(self._namespace, id)

    def list(self, filter: MemoryFilter = NO_FILTER) -> "list[MemoryItem]":  # noqa: A002
        check_filter(filter)
        entries = self._provider.recall(MemoryQuery(self._namespace, include_former=True))
        items = [MemoryItem.from_json(entry.value) for entry in entries]
        return sort_by_age(item for item in items if filter.matches(item))[: filter.limit]

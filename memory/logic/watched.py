"""Entries on their way through the logic: what was found and what was kept, for provenance and events."""

from collections.abc import Iterable, Sequence

from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.logic.ports import Entries


class Watched:
    """Has the shape of what it watches; by key, the last of each."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self.found: dict[str, MemoryEntry] = {}
        self.kept: dict[str, MemoryEntry] = {}

    async def store(self, params: StoreParams) -> MemoryEntry:
        entry = await self._entries.store(params)
        self.kept[entry.key] = entry
        return entry

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        entries = await self._entries.recall(query)
        self.found |= {entry.key: entry for entry in entries}
        return entries

    async def delete(self, namespace: str, key: str) -> bool:
        self.kept.pop(key, None)
        return await self._entries.delete(namespace, key)

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        return await self._entries.history(namespace, key)

    def named(self, keys: Iterable[str]) -> list[MemoryEntry]:
        """As last seen, in the order of the keys; a key without an entry is left out."""
        known = self.found | self.kept
        return [known[key] for key in keys if key in known]

"""All messages of a conversation at once, and of their entries no more than a history needs."""

from memory.core.records import MemoryEntry, MemoryQuery
from memory.providers.postgres import rows
from memory.services.within import WithinDoor


class WholeTalk(WithinDoor):
    """A door to look at a history through: what is asked for by its category has key, value and metadata alone.

    A chat may have ten thousand messages; making whole entries of them takes longer than all the rest of a look.
    """

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        category = (query.filter or {}).get("category")
        if category is None or self._row is None or self._door.elsewhere is not None:
            return await super().recall(query)
        there = rows.visible(self._row, self._door.now).filter(category=category).order_by("key")
        text = self._door.text
        columns = there.values_list("key", "value", "metadata")
        return [MemoryEntry("", text, *kept, category=category) for kept in columns]

"""The pages that a question is compared with passage by passage: of a large shelf those that are worth it."""

from collections.abc import Iterable
from typing import Final

from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.pages import CATEGORY, is_page
from memory.providers.postgres import rows
from memory.providers.postgres.provider import search
from memory.services.door import Door
from memory.services.within import WithinDoor


LARGE: Final = 500  # entries from which on not every page is compared
MOST_COMPARED: Final = 100  # pages: those that full text finds first


def found_by_text(door: Door, query: str) -> list[MemoryEntry]:
    """Best first; nothing of what another provider keeps."""
    if door.place.row is None or door.elsewhere is not None:
        return []
    asked = MemoryQuery(
        door.text, query_text=query, filter={"category": CATEGORY}, top_k=MOST_COMPARED
    )
    return [one for one in search(door.place.row, asked, door.now) if is_page(one)]


class Compared(WithinDoor):
    """A door that gives to whom asks for all pages those that a question is worth comparing with.

    What has no word of it and isn't near it in meaning could not be an answer. ``near``: keys.
    """

    def __init__(self, door: Door, query: str, near: Iterable[str]) -> None:
        super().__init__(door)
        self._asked = query
        self._near = tuple(near)

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        found = found_by_text(self._door, self._asked)
        missing = set(self._near).difference(one.key for one in found)
        if missing and self._row is not None:
            there = rows.visible(self._row, self._door.now).filter(key__in=missing)
            found += [rows.entry_of(one, self._door.text) for one in there]
        return found


def worth_comparing(
    door: Door, query: str, near: Iterable[str], *, narrowed: bool = False
) -> WithinDoor:
    """All of a small shelf; and of one ``narrowed`` by tags, which the index of words doesn't know."""
    row = door.place.row
    if row is None or door.elsewhere or narrowed or row.entry_count <= LARGE:
        return WithinDoor(door)
    return Compared(door, query, near)

"""All pages of a namespace at once, and of their entries no more than a shelf needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KeyTextTransform

from memory.logic.knowledge import KnowledgeStore
from memory.logic.page_index import PageIndex
from memory.logic.pages import CATEGORY, KnowledgePage, key_of, page_of
from memory.logic.watched import Watched
from memory.providers.postgres import rows
from memory.services.door import Door
from memory.services.within import WithinDoor, at_once


@dataclass(frozen=True, slots=True)
class PageEntry:
    """The entry that a page is, as far as it is needed to name it."""

    id: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """All pages of a namespace, by title, with what refers to what; ``entries`` by the page's id."""

    pages: tuple[KnowledgePage, ...]
    index: PageIndex
    entries: Mapping[str, PageEntry]


def shelf_behind(door: Door) -> Shelf:
    found = dict(_pages_here(door) if door.elsewhere is None else _pages_elsewhere(door))
    by_id = {page.id: page for page in found.values()}
    index = PageIndex.of(by_id.values())
    return Shelf(
        tuple(by_id[entry.id] for entry in index.entries),
        index,
        {page.id: PageEntry(entry_id, door.text) for entry_id, page in found.items()},
    )


def _pages_here(door: Door) -> Iterable[tuple[str, KnowledgePage]]:
    """A few columns of each: whole rows of thousands take longer than all that is done with them."""
    if door.place.row is None:
        return
    there = rows.visible(door.place.row, door.now)
    pages = there.filter(category=CATEGORY, key__startswith=key_of("")).order_by()
    columns = pages.values_list("id", "key", "value", *_OF_METADATA, "revision")
    for entry_id, key, value, origin, review, revision in columns:
        metadata = {"origin": origin, "review": review} if origin else {}
        yield str(entry_id), page_of(key, value, metadata, revision)


# What says whose words a page is.
_OF_METADATA = (KeyTextTransform("origin", "metadata"), KeyTextTransform("review", "metadata"))


def _pages_elsewhere(door: Door) -> Iterable[tuple[str, KnowledgePage]]:
    watched = Watched(WithinDoor(door))
    for page in at_once(KnowledgeStore(door.text, watched).pages()):
        yield watched.found[key_of(page.id)].id, page

"""All pages of a namespace at once, with only those columns of their entries that are needed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KeyTextTransform

from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.page_index import PageIndex
from memory.logic.knowledge.pages import (
    CATEGORY,
    KnowledgePage,
    build_page_key,
    from_entry,
    parse_page,
)
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess


@dataclass(frozen=True, slots=True)
class PageEntry:
    """The entry that a page is, as far as it is needed to name it."""

    id: str
    namespace: str


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """All pages of a namespace by title, with their references; ``entries`` are by page id."""

    pages: tuple[KnowledgePage, ...]
    index: PageIndex
    entries: Mapping[str, PageEntry]


def load_knowledge_base(access: NamespaceAccess) -> KnowledgeBase:
    pages_by_entry = dict(
        _pages_here(access) if access.external is None else _pages_elsewhere(access)
    )
    by_id = {page.id: page for page in pages_by_entry.values()}
    index = PageIndex.of(by_id.values())
    return KnowledgeBase(
        tuple(by_id[entry.id] for entry in index.entries),
        index,
        {page.id: PageEntry(entry_id, access.text) for entry_id, page in pages_by_entry.items()},
    )


def _pages_here(access: NamespaceAccess) -> Iterable[tuple[str, KnowledgePage]]:
    """A few columns of each: whole rows of thousands take longer than all that is done with them."""
    if access.target.row is None:
        return
    visible = rows.visible(access.target.row, access.now)
    pages = visible.filter(category=CATEGORY, key__startswith=build_page_key("")).order_by()
    columns = pages.values_list("id", "key", "value", *_OF_METADATA, "revision")
    for entry_id, key, value, origin, review, revision in columns:
        metadata = {"origin": origin, "review": review} if origin else {}
        yield str(entry_id), parse_page(key, value, metadata, revision)


# What says whose words a page is.
_OF_METADATA = (KeyTextTransform("origin", "metadata"), KeyTextTransform("review", "metadata"))


def _pages_elsewhere(access: NamespaceAccess) -> Iterable[tuple[str, KnowledgePage]]:
    for entry in list_page_entries(access.store(), access.text):
        yield entry.id, from_entry(entry)

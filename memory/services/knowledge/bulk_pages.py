"""Read all pages of a namespace at once, with only those columns of their entries that a knowledge base needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models.fields.json import KeyTextTransform

from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.page_index import PageIndex
from memory.logic.knowledge.pages import (
    PAGE_CATEGORY,
    KnowledgePage,
    build_page_key,
    from_entry,
    parse_page,
)
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, list_sources
from memory.logic.wiki.staleness import StaleSource, find_stale_sources
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess


# The metadata that tells who wrote or approved a page.
_METADATA_COLUMNS = (KeyTextTransform("origin", "metadata"), KeyTextTransform("review", "metadata"))


@dataclass(frozen=True, slots=True)
class PageEntry:
    """The id and the namespace of a page's entry, and when it holds."""

    id: str
    namespace: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """All pages of a namespace in order of their titles, their links, their entries by page id, and the stale ones."""

    pages: tuple[KnowledgePage, ...]
    index: PageIndex
    entries: Mapping[str, PageEntry]
    stale: tuple[StaleSource, ...] = ()


def load_knowledge_base(access: NamespaceAccess) -> KnowledgeBase:
    """Return all recallable pages of an open namespace, former ones too."""
    read_pages = _read_stored_pages if access.external is None else _read_external_pages
    pages_by_entry = dict(read_pages(access))
    by_id = {page.id: page for page in pages_by_entry.values()}
    entries = {page.id: entry for entry, page in pages_by_entry.items()}
    index = PageIndex.from_pages(by_id.values())
    pages = tuple(by_id[entry.id] for entry in index.entries)
    has_sources = any(page.sources for page in pages)
    stale = find_stale_sources(pages, _read_digests(access)) if has_sources else ()
    return KnowledgeBase(pages, index, entries, stale)


def _read_digests(access: NamespaceAccess) -> dict[str, str]:
    """Return the digests of the present texts of the sources, by source id."""
    if access.external is not None:
        sources = list_sources(access.open_store(), access.text)
        return {source.id: source.digest for source in sources}
    if access.target.row is None:
        return {}
    visible = rows.find_visible(access.target.row, access.now).filter(category=SOURCE_CATEGORY)
    columns = (KeyTextTransform("id", "value"), KeyTextTransform("digest", "value"))
    return dict(visible.order_by().values_list(*columns))


def _read_stored_pages(access: NamespaceAccess) -> Iterable[tuple[PageEntry, KnowledgePage]]:
    """Yield the pages with their entries, from a few columns, because loading thousands of whole rows would take too long."""
    if access.target.row is None:
        return
    visible = rows.find_visible(access.target.row, access.now)
    pages = visible.filter(category=PAGE_CATEGORY, key__startswith=build_page_key("")).order_by()
    columns = pages.values_list(
        *("id", "valid_from", "valid_until", "key", "value", *_METADATA_COLUMNS, "revision")
    )
    for entry_id, valid_from, valid_until, key, value, origin, review, revision in columns:
        metadata = {"origin": origin, "review": review} if origin else {}
        entry = PageEntry(str(entry_id), access.text, valid_from, valid_until)
        yield entry, parse_page(key, value, metadata, revision)


def _read_external_pages(access: NamespaceAccess) -> Iterable[tuple[PageEntry, KnowledgePage]]:
    for entry in list_page_entries(access.open_store(), access.text):
        page_entry = PageEntry(entry.id, access.text, entry.valid_from, entry.valid_until)
        yield page_entry, from_entry(entry)

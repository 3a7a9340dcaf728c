"""The pages of a large knowledge base that are worth comparing with a query passage by passage."""

from collections.abc import Iterable
from typing import Final

from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.pages import CATEGORY, is_page
from memory.providers.postgres import rows
from memory.providers.postgres.provider import search
from memory.services.gateway.namespace_access import NamespaceAccess


LARGE: Final = 500  # entries from which on not every page is compared
MOST_COMPARED: Final = 100  # pages: those that full text finds first


def search_pages_by_text(access: NamespaceAccess, query: str) -> list[MemoryEntry]:
    """Best first; nothing of what another provider keeps."""
    if access.target.row is None or access.external is not None:
        return []
    text_query = MemoryQuery(
        access.text, query_text=query, filter={"category": CATEGORY}, top_k=MOST_COMPARED
    )
    return [entry for entry in search(access.target.row, text_query, access.now) if is_page(entry)]


def candidate_pages(
    access: NamespaceAccess, query: str, near: Iterable[str], *, narrowed: bool = False
) -> list[MemoryEntry]:
    """Return the pages that a question is worth comparing with: of a large namespace those that have a word of it or
    are near it in meaning (``near``: keys); no other could be an answer.

    All pages of a small one; and of one ``narrowed`` by tags, which the index of words doesn't know.
    """
    row = access.target.row
    if row is None or access.external or narrowed or row.entry_count <= LARGE:
        return list_page_entries(access.store(), access.text)
    entries = search_pages_by_text(access, query)
    missing = set(near).difference(entry.key for entry in entries)
    if missing:
        rest = rows.visible(row, access.now).filter(key__in=missing)
        entries += [rows.entry_of(entry, access.text) for entry in rest]
    return entries

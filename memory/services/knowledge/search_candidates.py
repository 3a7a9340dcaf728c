"""Choose the pages that a query is compared with passage by passage: in a large namespace only the likely ones.

Former pages are not among them.
"""

from collections.abc import Iterable
from typing import Final

from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.pages import PAGE_CATEGORY, is_page
from memory.providers.postgres import rows
from memory.providers.postgres.provider import search
from memory.services.gateway.namespace_access import NamespaceAccess


LARGE_SIZE: Final = 500  # entries from which on not every page is compared
MAX_COMPARED: Final = 100  # pages: those that full text finds first


def search_pages_by_text(access: NamespaceAccess, query: str) -> list[MemoryEntry]:
    """Search the namespace's pages by full text, best first. Those of an external provider are not found."""
    if access.target.row is None or access.external is not None:
        return []
    text_query = MemoryQuery(
        access.text, query_text=query, filter={"category": PAGE_CATEGORY}, top_k=MAX_COMPARED
    )
    return [entry for entry in search(access.target.row, text_query, access.now) if is_page(entry)]


def list_candidate_pages(
    access: NamespaceAccess, query: str, near_keys: Iterable[str], *, is_filtered: bool = False
) -> list[MemoryEntry]:
    """Return the pages to compare with the query: in a large namespace those that contain one of its terms or have one
    of ``near_keys``.

    All pages of a small namespace are compared, and all if the search ``is_filtered`` by properties without an index, such as tags.
    """
    row = access.target.row
    if row is None or access.external or is_filtered or row.entry_count <= LARGE_SIZE:
        return list_page_entries(access.open_store(), access.text, include_former=False)
    entries = search_pages_by_text(access, query)
    missing_keys = set(near_keys).difference(entry.key for entry in entries)
    if missing_keys:
        holding = rows.find_visible(row, access.now, holding_at=access.now)
        near_rows = holding.filter(key__in=missing_keys)
        entries += [rows.build_entry(near_row, access.text) for near_row in near_rows]
    return entries

"""Search pages in all knowledge bases that a caller may view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import MemoryFault
from memory.core.recall.tokens import extract_query_terms
from memory.core.records import MemoryEntry
from memory.logic.knowledge.page_queries import PageHit, PageQuery, search_pages
from memory.models import Namespace, Posting
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.knowledge.knowledge_bases import list_knowledge_bases
from memory.services.knowledge.page_finding import check_search
from memory.services.knowledge.search_candidates import search_pages_by_text


MAX_KNOWLEDGE_BASES: Final = 50  # the last changed among those with a word of the query


@dataclass(frozen=True, slots=True)
class PageSearchResults:
    """The pages that were found, best first, and their namespaces by the name that the entries have."""

    hits: tuple[PageHit, ...]
    namespaces: Mapping[str, Namespace]
    is_all: bool = True  # whether every knowledge base was searched


@retry_on_conflict
def search_all_pages(
    caller: MemoryCaller,
    *,
    query: str,
    top_k: int = 20,
    min_score: float = 0.1,
    tags: Sequence[str] = (),
) -> PageSearchResults:
    """Search each knowledge base through the gateway, with an audit entry for each; a paused one has no results.

    A knowledge base that the gateway refuses is skipped, and ``is_all`` is false in the result.
    """
    check_search(top_k, min_score)
    namespaces = _list_namespaces_with_terms(caller, query)
    entries: list[MemoryEntry] = []
    is_all = len(namespaces) <= MAX_KNOWLEDGE_BASES
    for row in namespaces[:MAX_KNOWLEDGE_BASES]:
        try:
            entries += _search_candidates(caller, row, query)
        except MemoryFault:  # refused by the policy or deleted since
            is_all = False
    # The results of keys may be put into prompts.
    for_prompt = caller.principal.kind != "user"
    page_query = PageQuery(query, top_k, min_score, tuple(tags), for_prompt=for_prompt)
    hits = search_pages(page_query, entries)
    hit_namespaces = {hit.entry.namespace for hit in hits}
    namespaces_by_text = {row.text: row for row in namespaces if row.text in hit_namespaces}
    return PageSearchResults(hits, namespaces_by_text, is_all)


def _list_namespaces_with_terms(caller: MemoryCaller, query: str) -> list[Namespace]:
    """Return the namespaces with pages that contain a term of the query, the last changed first."""
    terms = list(dict.fromkeys(extract_query_terms(query))) if query.strip() else []
    if not terms:
        return []
    with tenant([caller.team_id]):
        rows_by_id = {base.row.pk: base.row for base in list_knowledge_bases(caller)}
        postings = Posting.objects.unscoped().filter(namespace_id__in=rows_by_id, term__in=terms)
        ids = set(postings.order_by().values_list("namespace_id", flat=True).distinct())
    return [row for pk, row in rows_by_id.items() if pk in ids]


def _search_candidates(caller: MemoryCaller, row: Namespace, query: str) -> list[MemoryEntry]:
    with open_namespace(caller, "view", "memory.recalled", namespace=row.text) as access:
        entries = search_pages_by_text(access, query)
        access.detail.update(keys=len(entries), pages=True)
    return entries

"""The search for pages in all knowledge bases that the caller may see."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import MemoryFault
from memory.core.recall.tokens import query_terms
from memory.core.records import MemoryEntry
from memory.logic.knowledge.page_requests import PageHit
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.logic.knowledge.retriever import RetrieverConfig, rank_pages
from memory.models import Namespace, Posting
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.knowledge.knowledge_bases import list_knowledge_bases
from memory.services.knowledge.pages import check_sought
from memory.services.knowledge.search_candidates import search_pages_by_text


MAX_KNOWLEDGE_BASES: Final = 50  # of those with a word of the question, the last changed


@dataclass(frozen=True, slots=True)
class FoundPages:
    """Best first. ``places``: the shelves they stand on, by what their entries call the namespace."""

    hits: tuple[PageHit, ...]
    places: Mapping[str, Namespace]
    is_all: bool = True  # whether every shelf was looked at


@retry_on_conflict
def find_everywhere(
    caller: MemoryCaller,
    *,
    query: str,
    top_k: int = 20,
    min_score: float = 0.1,
    tags: Sequence[str] = (),
) -> FoundPages:
    """Each shelf through its own door, and in the trail; a person's who paused recall gives nothing.

    A shelf whose door doesn't open is left out, which the trail has, and the answer says so.
    """
    check_sought(top_k, min_score)
    namespaces = _with_a_word_of(query, caller)
    candidates: list[tuple[KnowledgePage, MemoryEntry]] = []
    is_all = len(namespaces) <= MAX_KNOWLEDGE_BASES
    for row in namespaces[:MAX_KNOWLEDGE_BASES]:
        try:
            candidates += _candidates(caller, row, query)
        except MemoryFault:  # closed by the policy, or gone meanwhile: the others are there
            is_all = False
    folded_tags = {tag.casefold() for tag in tags}
    pages = [
        page
        for page, _entry in candidates
        if not folded_tags or not folded_tags.isdisjoint(map(str.casefold, page.tags))
    ]
    entries = {
        id(page): entry for page, entry in candidates
    }  # two shelves may have a page of one name
    hits = tuple(
        PageHit(item, replace(entry, score=min(1.0, item.score), explain=dict(item.parts)))
        for item in rank_pages(query, pages, RetrieverConfig(top_k, min_score, 1.0))
        for entry in [entries[id(item.page)]]
    )
    named = {hit.entry.namespace for hit in hits}
    places = {row.text: row for row in namespaces if row.text in named}
    return FoundPages(hits, places, is_all)


def _with_a_word_of(query: str, caller: MemoryCaller) -> list[Namespace]:
    """The last changed first. One question to the postings: most shelves need no look then."""
    terms = list(dict.fromkeys(query_terms(query))) if query.strip() else []
    if not terms:
        return []
    with tenant([caller.team_id]):
        every = {base.row.pk: base.row for base in list_knowledge_bases(caller)}
        rows = Posting.objects.unscoped().filter(namespace_id__in=every, term__in=terms)
        having: set[UUID] = set(rows.order_by().values_list("namespace_id", flat=True).distinct())
    return [row for pk, row in every.items() if pk in having]


def _candidates(
    caller: MemoryCaller, row: Namespace, query: str
) -> Iterator[tuple[KnowledgePage, MemoryEntry]]:
    with MemoryGateway(caller).open_namespace(
        "view", "memory.recalled", namespace=row.text
    ) as access:
        entries = search_pages_by_text(access, query)
        access.detail.update(keys=len(entries), pages=True)
    yield from ((from_entry(entry), entry) for entry in entries)

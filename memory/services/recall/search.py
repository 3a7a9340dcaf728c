"""Search the entries of a namespace, for the memory pages and for actions on many entries.

Entries that match the text are ranked as by a recall, each with its score, and former ones among them. Quarantined
entries and others that only contain the text follow. All other criteria filter the entries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q, QuerySet

from config.retry import retry_on_conflict
from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.folding import contains_folded
from memory.core.records import Json, MemoryEntry, MemoryQuery, QueryEmbedding, Tier
from memory.core.values import build_search_text
from memory.embedding.query_embedding import embed_query
from memory.models import Namespace, Revision
from memory.providers.postgres import rows
from memory.providers.postgres.filters import apply_filter
from memory.providers.postgres.folding import contains
from memory.providers.postgres.provider import search
from memory.services.entries.listing import MAX_PAGE_SIZE, EntryPage
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


MAX_RANKED: Final = 1_000
# The parts of a rank that don't come from the similarity in meaning.
_NOT_BY_MEANING: Final = frozenset(
    {"rank_words", "rank_context", "rank_neighbours", "rank_literal"}
)


class Sort(StrEnum):
    BEST = "best"  # by score; without words the newest
    NEWEST = "newest"
    OLDEST = "oldest"
    KEY = "key"
    IMPORTANCE = "importance"
    ENDING = "ending"  # the first to expire first


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """The conditions of a search, which finds all entries without any. ``actor`` is who wrote the entry, ``since`` and
    ``until`` limit the time of its last change, ``min_score`` is the least score of entries that match the text.
    """

    text: str = ""
    key: str = ""  # a part of it
    category: str = ""
    tier: str = ""
    actor: str = ""
    filter: Mapping[str, Json] | None = None
    since: datetime | None = None
    until: datetime | None = None
    sort: Sort = Sort.BEST
    min_score: float = 0.0
    meaning: QueryEmbedding | None = None  # of the text, if entries are also searched by meaning


ORDERS: Final[Mapping[Sort, tuple[Any, ...]]] = {  # arguments of order_by
    Sort.BEST: ("-updated_at", "-id"),
    Sort.NEWEST: ("-updated_at", "-id"),
    Sort.OLDEST: ("updated_at", "id"),
    Sort.KEY: ("key", "id"),
    Sort.IMPORTANCE: ("-importance", "-updated_at", "-id"),
    Sort.ENDING: (F("expires_at").asc(nulls_last=True), "-updated_at", "-id"),
}


MAX_OF_TIER: Final = 20

_SORT_KEYS: Final[Mapping[Sort, Any]] = {  # key functions for sorted
    Sort.BEST: lambda entry: 0,
    Sort.NEWEST: lambda entry: 0,
    Sort.OLDEST: lambda entry: (entry.updated_at, entry.id),
    Sort.KEY: lambda entry: (entry.key, entry.id),
    Sort.IMPORTANCE: lambda entry: entry.importance,
    Sort.ENDING: lambda entry: (
        entry.expires_at is None,
        entry.expires_at and entry.expires_at.timestamp(),
    ),
}


@retry_on_conflict
def search_entries(
    caller: MemoryCaller, *, namespace: str, search: EntrySearch, limit: int = 50, offset: int = 0
) -> EntryPage:
    """Return a page of the entries that match, including quarantined ones, which recall leaves out."""
    search = _embed_search(caller, namespace, search)
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        page = search_page(access, search, min(limit, MAX_PAGE_SIZE), offset)
        access.detail["keys"] = page.total
        return page


@retry_on_conflict
def search_by_tier(
    caller: MemoryCaller, *, namespace: str, search: EntrySearch
) -> dict[Tier, EntryPage]:
    """Return the first entries that match of each tier."""
    search = _embed_search(caller, namespace, search)
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        pages = {
            tier: search_page(access, replace(search, tier=str(tier)), MAX_OF_TIER, 0)
            for tier in (Tier.QUARANTINE, Tier.WORKING, Tier.LONG_TERM)
        }
        access.detail["keys"] = sum(page.total for page in pages.values())
        return pages


def search_page(
    access: NamespaceAccess, criteria: EntrySearch, limit: int, offset: int
) -> EntryPage:
    """Return a page of the entries of an open namespace that match the criteria."""
    row = access.target.row
    if row is None:
        return EntryPage([], 0, offset)
    if access.external is not None:
        query = MemoryQuery(row.text, filter=criteria.filter, include_former=True)
        entries = access.open_store().recall(query)
        matching = [entry for entry in entries if matches_search(criteria, entry)]
        page = sort_entries(criteria, matching)[offset : offset + limit]
        return EntryPage(page, len(matching), offset)
    if criteria.text:
        return _rank_page(row, criteria, access.now, limit, offset)
    matching_rows = filter_entries(row, criteria, access.now)
    sorted_rows = matching_rows.order_by(*ORDERS[criteria.sort])[offset : offset + limit]
    entries = [rows.build_entry(entry, row.text) for entry in sorted_rows]
    return EntryPage(entries, matching_rows.count(), offset)


def match_entries(namespace: Namespace, criteria: EntrySearch, now: datetime) -> rows.Entries:
    """Return the query for all entries that match by words, for an action on them."""
    query = filter_entries(namespace, criteria, now)
    if not criteria.text:
        return query
    by_words = replace(criteria, meaning=None)
    hits = [UUID(hit.id) for hit in _search_hits(namespace, by_words, now)]
    return query.filter(Q(pk__in=hits) | contains("text", criteria.text))


def filter_entries(namespace: Namespace, criteria: EntrySearch, now: datetime) -> rows.Entries:
    """Return the query for the living entries that match every criterion except the text."""
    query = rows.find_living(namespace).exclude(expires_at__lte=now)
    conditions: dict[str, Any] = {  # conditions of different types
        "category": criteria.category,
        "tier": criteria.tier,
        "source_actor": criteria.actor,
        "updated_at__gte": criteria.since,
        "updated_at__lt": criteria.until,
    }
    query = query.filter(
        contains("key", criteria.key),
        **{name: value for name, value in conditions.items() if value},
    )
    return apply_filter(query, parse_filter(criteria.filter))


def filter_revisions(revisions: QuerySet[Revision], criteria: EntrySearch) -> QuerySet[Revision]:
    """Limit the revisions by every criterion except the text. The actor is who made the change."""
    conditions: dict[str, Any] = {  # conditions of different types
        "category": criteria.category,
        "tier": criteria.tier,
        "actor": criteria.actor,
        "at__gte": criteria.since,
        "at__lt": criteria.until,
    }
    revisions = revisions.filter(
        contains("entry__key", criteria.key),
        **{name: value for name, value in conditions.items() if value},
    )
    return apply_filter(revisions, parse_filter(criteria.filter))


def matches_search(criteria: EntrySearch, entry: MemoryEntry) -> bool:
    """Return whether the entry matches every criterion and contains the text, without ranking it."""
    updated_at = entry.updated_at
    return (
        contains_folded(entry.key, criteria.key)
        and contains_folded(build_search_text(entry.key, entry.value), criteria.text)
        and criteria.category in ("", entry.category)
        and criteria.tier in ("", str(entry.tier))
        and criteria.actor in ("", entry.source.actor)
        and (criteria.since is None or updated_at is None or updated_at >= criteria.since)
        and (criteria.until is None or updated_at is None or updated_at < criteria.until)
        and matches(parse_filter(criteria.filter), build_filter_document(entry))
    )


def sort_entries(criteria: EntrySearch, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Return the entries in the order of the criteria, those that are equal in it newest first."""
    newest = sorted(entries, key=lambda entry: (entry.updated_at, entry.id), reverse=True)
    return sorted(newest, key=_SORT_KEYS[criteria.sort], reverse=criteria.sort is Sort.IMPORTANCE)


def _rank_page(
    namespace: Namespace, criteria: EntrySearch, now: datetime, limit: int, offset: int
) -> EntryPage:
    """Return a page of the entries that match the text, ranked or, with another sort order, in that order."""
    hits = {UUID(entry.id): entry for entry in _search_hits(namespace, criteria, now)}
    filtered = filter_entries(namespace, criteria, now)
    if criteria.sort is not Sort.BEST:
        query = filtered.filter(Q(pk__in=hits) | contains("text", criteria.text))
        page = query.order_by(*ORDERS[criteria.sort])[offset : offset + limit]
        entries = [hits.get(row.pk) or rows.build_entry(row, namespace.text) for row in page]
        return EntryPage(entries, query.count(), offset)
    filtered_ids = set(filtered.filter(pk__in=hits).values_list("pk", flat=True))
    ranked = [hit for pk, hit in hits.items() if pk in filtered_ids]
    unranked = filtered.filter(contains("text", criteria.text)).exclude(pk__in=hits)
    start = max(0, offset - len(ranked))
    entries = ranked[offset : offset + limit]
    unranked_rows = unranked.order_by(*ORDERS[Sort.NEWEST])[start : start + limit - len(entries)]
    entries += [rows.build_entry(row, namespace.text) for row in unranked_rows]
    return EntryPage(entries, len(ranked) + unranked.count(), offset)


def _search_hits(namespace: Namespace, criteria: EntrySearch, now: datetime) -> list[MemoryEntry]:
    query = MemoryQuery(
        namespace.text,
        query_text=criteria.text,
        filter=criteria.filter,
        top_k=MAX_RANKED,
        min_score=criteria.min_score,
        meaning=criteria.meaning,
        include_former=True,
    )
    hits = search(namespace, query, now)
    if criteria.meaning is None:
        return hits
    # Recall ranks the nearest entries however far they are; a page lists what has something to do with the text.
    return [hit for hit in hits if hit.score or _NOT_BY_MEANING & hit.explain.keys()]


def _embed_search(caller: MemoryCaller, namespace: str, search: EntrySearch) -> EntrySearch:
    """Return the search with the embedding of its text. It is embedded before the transaction, because that is slow, and
    only if the caller may view the namespace.
    """
    if not search.text:
        return search

    def may_embed() -> bool:
        access = authorize(caller, "view", "memory.listed", namespace=namespace)
        return access.target.row is not None and access.external is None

    query = MemoryQuery("", query_text=search.text)
    query = embed_query(query, caller.team_id, may_embed, caller.embedding_caller)
    return replace(search, meaning=query.meaning)

"""Searches within a namespace, for looking and for acts over many entries.

Words are ranked as a recall would rank them, each hit with its score and its parts; what only
contains them, or waits in quarantine, follows. Everything else narrows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q

from config.retry import retry_on_conflict
from memory.core.filters import document_of, matches, parse_filter
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.values import search_text
from memory.models import Entry, Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.providers.postgres.provider import search
from memory.services.entries.listing import MOST_A_PAGE, EntryPage
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess


MOST_RANKED: Final = 1_000


class Sort(StrEnum):
    BEST = "best"  # by score; without words the newest
    NEWEST = "newest"
    OLDEST = "oldest"
    KEY = "key"
    IMPORTANCE = "importance"
    ENDING = "ending"  # what ends soonest


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """Conditions of a search; without any, all entries, newest first. ``actor`` is who wrote it; the times are when it
    changed.
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

    @property
    def narrows(self) -> bool:
        return replace(self, sort=Sort.BEST) != EntrySearch()


ORDERS: Final[Mapping[Sort, tuple[Any, ...]]] = {  # what order_by takes
    Sort.BEST: ("-updated_at", "-id"),
    Sort.NEWEST: ("-updated_at", "-id"),
    Sort.OLDEST: ("updated_at", "id"),
    Sort.KEY: ("key", "id"),
    Sort.IMPORTANCE: ("-importance", "-updated_at", "-id"),
    Sort.ENDING: (F("expires_at").asc(nulls_last=True), "-updated_at", "-id"),
}


@retry_on_conflict
def search_entries(
    caller: MemoryCaller, *, namespace: str, sought: EntrySearch, limit: int = 50, offset: int = 0
) -> EntryPage:
    """Quarantined ones included: this is for looking, recall is for using."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        page = search_page(access, sought, min(limit, MOST_A_PAGE), offset)
        access.detail["keys"] = page.total
        return page


@retry_on_conflict
def by_tier(
    caller: MemoryCaller, *, namespace: str, sought: EntrySearch, limit: int = 20
) -> dict[Tier, EntryPage]:
    """The first of each tier, side by side."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        pages = {
            tier: search_page(access, replace(sought, tier=str(tier)), limit, 0)
            for tier in (Tier.QUARANTINE, Tier.WORKING, Tier.LONG_TERM)
        }
        access.detail["keys"] = sum(page.total for page in pages.values())
        return pages


def search_page(access: NamespaceAccess, sought: EntrySearch, limit: int, offset: int) -> EntryPage:
    """A page of it, behind an open door."""
    row = access.target.row
    if row is None:
        return EntryPage([], 0, offset)
    if access.external is not None:
        external_entries = access.store().recall(MemoryQuery(row.text, filter=sought.filter))
        chosen = in_order(sought, [entry for entry in external_entries if fits(sought, entry)])
        return EntryPage(chosen[offset : offset + limit], len(chosen), offset)
    if sought.text:
        return _rank(row, sought, access.now, limit, offset)
    query = narrowed_to(row, sought, access.now)
    page = query.order_by(*ORDERS[sought.sort])[offset : offset + limit]
    return EntryPage([rows.entry_of(entry, row.text) for entry in page], query.count(), offset)


def matching(namespace: Namespace, sought: EntrySearch, now: datetime) -> rows.Entries:
    """All of it, for an act over many."""
    query = narrowed_to(namespace, sought, now)
    if not sought.text:
        return query
    hits = [UUID(hit.id) for hit in _hits(namespace, sought, now)]
    return query.filter(Q(pk__in=hits) | Q(text__icontains=sought.text))


def narrowed_to(namespace: Namespace, sought: EntrySearch, now: datetime) -> rows.Entries:
    """By everything but the words."""
    query = rows.living(namespace).exclude(expires_at__lte=now)
    conditions: dict[str, Any] = {  # a condition each, of its own type
        "key__icontains": sought.key,
        "category": sought.category,
        "tier": sought.tier,
        "source_actor": sought.actor,
        "updated_at__gte": sought.since,
        "updated_at__lt": sought.until,
    }
    query = query.filter(**{name: value for name, value in conditions.items() if value})
    return narrowed(query, parse_filter(sought.filter))


def fits(sought: EntrySearch, entry: MemoryEntry) -> bool:
    """The same of one entry, its words as they stand there."""
    at = entry.updated_at
    return (
        sought.key.casefold() in entry.key.casefold()
        and sought.text.casefold() in search_text(entry.key, entry.value).casefold()
        and sought.category in ("", entry.category)
        and sought.tier in ("", str(entry.tier))
        and sought.actor in ("", entry.source.actor)
        and (sought.since is None or at is None or at >= sought.since)
        and (sought.until is None or at is None or at < sought.until)
        and matches(parse_filter(sought.filter), document_of(entry))
    )


def in_order(sought: EntrySearch, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    newest = sorted(entries, key=lambda entry: (entry.updated_at, entry.id), reverse=True)
    return sorted(newest, key=_KEYS[sought.sort], reverse=sought.sort is Sort.IMPORTANCE)


_KEYS: Final[Mapping[Sort, Any]] = {  # what sorted takes
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


def _rank(
    namespace: Namespace, sought: EntrySearch, now: datetime, limit: int, offset: int
) -> EntryPage:
    hits = {UUID(entry.id): entry for entry in _hits(namespace, sought, now)}
    narrow = narrowed_to(namespace, sought, now)
    if sought.sort is not Sort.BEST:
        query = narrow.filter(Q(pk__in=hits) | Q(text__icontains=sought.text))
        page = list(query.order_by(*ORDERS[sought.sort])[offset : offset + limit])
        return EntryPage(
            [_with_score(entry, namespace, hits) for entry in page], query.count(), offset
        )
    passing = set(narrow.filter(pk__in=hits).values_list("pk", flat=True))
    best = [hit for pk, hit in hits.items() if pk in passing]
    rest = narrow.filter(text__icontains=sought.text).exclude(pk__in=hits)
    start = max(0, offset - len(best))
    entries = best[offset : offset + limit]
    more = rest.order_by(*ORDERS[Sort.NEWEST])[start : start + limit - len(entries)]
    entries += [rows.entry_of(entry, namespace.text) for entry in more]
    return EntryPage(entries, len(best) + rest.count(), offset)


def _hits(namespace: Namespace, sought: EntrySearch, now: datetime) -> list[MemoryEntry]:
    query = MemoryQuery(
        namespace.text, query_text=sought.text, filter=sought.filter, top_k=MOST_RANKED
    )
    return search(namespace, query, now)


def _with_score(row: Entry, namespace: Namespace, hits: Mapping[UUID, MemoryEntry]) -> MemoryEntry:
    return hits.get(row.pk) or rows.entry_of(row, namespace.text)

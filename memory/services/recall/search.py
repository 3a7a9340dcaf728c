"""What somebody looks for in a namespace, and what of it is there: for looking and for acts over many.

Words are ranked as a recall would rank them, each hit with its score and what that is made of; what only
contains them, or waits in quarantine, follows. Everything else narrows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q

from config.again import tried_again
from memory.core.filters import document_of, matches, parse_filter
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.values import search_text
from memory.models import Entry, Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.providers.postgres.provider import search
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.listing import MOST_A_PAGE, EntryPage


MOST_RANKED: Final = 1_000


class Sort(StrEnum):
    BEST = "best"  # by score; without words the newest
    NEWEST = "newest"
    OLDEST = "oldest"
    KEY = "key"
    IMPORTANCE = "importance"
    ENDING = "ending"  # what ends soonest


@dataclass(frozen=True, slots=True)
class Sought:
    """Nothing set: everything there, newest first. ``actor`` is who wrote it; the times are when it changed."""

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
        return replace(self, sort=Sort.BEST) != Sought()


ORDERS: Final[Mapping[Sort, tuple[Any, ...]]] = {  # what order_by takes
    Sort.BEST: ("-updated_at", "-id"),
    Sort.NEWEST: ("-updated_at", "-id"),
    Sort.OLDEST: ("updated_at", "id"),
    Sort.KEY: ("key", "id"),
    Sort.IMPORTANCE: ("-importance", "-updated_at", "-id"),
    Sort.ENDING: (F("expires_at").asc(nulls_last=True), "-updated_at", "-id"),
}


@tried_again
def seek(
    caller: MemoryCaller, *, namespace: str, sought: Sought, limit: int = 50, offset: int = 0
) -> EntryPage:
    """Quarantined ones included: this is for looking, recall is for using."""
    with opened(caller, "view", "memory.listed", namespace=namespace) as door:
        page = found_at(door, sought, min(limit, MOST_A_PAGE), offset)
        door.detail["keys"] = page.total
        return page


@tried_again
def by_tier(
    caller: MemoryCaller, *, namespace: str, sought: Sought, limit: int = 20
) -> dict[Tier, EntryPage]:
    """The first of each tier, side by side."""
    with opened(caller, "view", "memory.listed", namespace=namespace) as door:
        found = {
            tier: found_at(door, replace(sought, tier=str(tier)), limit, 0)
            for tier in (Tier.QUARANTINE, Tier.WORKING, Tier.LONG_TERM)
        }
        door.detail["keys"] = sum(page.total for page in found.values())
        return found


def found_at(door: Door, sought: Sought, limit: int, offset: int) -> EntryPage:
    """A page of it, behind an open door."""
    row = door.place.row
    if row is None:
        return EntryPage([], 0, offset)
    if door.elsewhere is not None:
        there = door.elsewhere.recall(MemoryQuery(row.text, filter=sought.filter))
        chosen = in_order(sought, [one for one in there if fits(sought, one)])
        return EntryPage(chosen[offset : offset + limit], len(chosen), offset)
    if sought.text:
        return _ranked(row, sought, door.now, limit, offset)
    found = narrowed_to(row, sought, door.now)
    page = found.order_by(*ORDERS[sought.sort])[offset : offset + limit]
    return EntryPage([rows.entry_of(one, row.text) for one in page], found.count(), offset)


def matching(namespace: Namespace, sought: Sought, now: datetime) -> rows.Entries:
    """All of it, for an act over many."""
    found = narrowed_to(namespace, sought, now)
    if not sought.text:
        return found
    hits = [UUID(one.id) for one in _hits(namespace, sought, now)]
    return found.filter(Q(pk__in=hits) | Q(text__icontains=sought.text))


def narrowed_to(namespace: Namespace, sought: Sought, now: datetime) -> rows.Entries:
    """By everything but the words."""
    found = rows.living(namespace).exclude(expires_at__lte=now)
    wanted: dict[str, Any] = {  # a condition each, of its own type
        "key__icontains": sought.key,
        "category": sought.category,
        "tier": sought.tier,
        "source_actor": sought.actor,
        "updated_at__gte": sought.since,
        "updated_at__lt": sought.until,
    }
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    return narrowed(found, parse_filter(sought.filter))


def fits(sought: Sought, entry: MemoryEntry) -> bool:
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


def in_order(sought: Sought, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    newest = sorted(entries, key=lambda one: (one.updated_at, one.id), reverse=True)
    return sorted(newest, key=_KEYS[sought.sort], reverse=sought.sort is Sort.IMPORTANCE)


_KEYS: Final[Mapping[Sort, Any]] = {  # what sorted takes
    Sort.BEST: lambda one: 0,
    Sort.NEWEST: lambda one: 0,
    Sort.OLDEST: lambda one: (one.updated_at, one.id),
    Sort.KEY: lambda one: (one.key, one.id),
    Sort.IMPORTANCE: lambda one: one.importance,
    Sort.ENDING: lambda one: (
        one.expires_at is None,
        one.expires_at and one.expires_at.timestamp(),
    ),
}


def _ranked(
    namespace: Namespace, sought: Sought, now: datetime, limit: int, offset: int
) -> EntryPage:
    hits = {UUID(one.id): one for one in _hits(namespace, sought, now)}
    narrow = narrowed_to(namespace, sought, now)
    if sought.sort is not Sort.BEST:
        found = narrow.filter(Q(pk__in=hits) | Q(text__icontains=sought.text))
        page = list(found.order_by(*ORDERS[sought.sort])[offset : offset + limit])
        return EntryPage([_scored(one, namespace, hits) for one in page], found.count(), offset)
    passing = set(narrow.filter(pk__in=hits).values_list("pk", flat=True))
    best = [hit for pk, hit in hits.items() if pk in passing]
    rest = narrow.filter(text__icontains=sought.text).exclude(pk__in=hits)
    start = max(0, offset - len(best))
    entries = best[offset : offset + limit]
    more = rest.order_by(*ORDERS[Sort.NEWEST])[start : start + limit - len(entries)]
    entries += [rows.entry_of(one, namespace.text) for one in more]
    return EntryPage(entries, len(best) + rest.count(), offset)


def _hits(namespace: Namespace, sought: Sought, now: datetime) -> list[MemoryEntry]:
    query = MemoryQuery(
        namespace.text, query_text=sought.text, filter=sought.filter, top_k=MOST_RANKED
    )
    return search(namespace, query, now)


def _scored(row: Entry, namespace: Namespace, hits: Mapping[UUID, MemoryEntry]) -> MemoryEntry:
    return hits.get(row.pk) or rows.entry_of(row, namespace.text)

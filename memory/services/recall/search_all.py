"""Searching everything somebody may look into, whatever namespace it lies in.

What is seen is what the page of the newest shows: what roles and sharing open, and one's own. Emergency access
widens no list. Memory that another provider keeps is not looked through; the answer says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from config.again import tried_again
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.policy import MemorySecurityPolicy, check_namespace
from memory.core.provider import MAX_QUERY_LENGTH
from memory.core.records import MemoryEntry, Tier
from memory.core.scopes import scope_named
from memory.models import Entry, Namespace, Policy
from memory.models.namespaces import PauseChoice
from memory.places import scopes_elsewhere
from memory.policies import policies_of
from memory.providers.postgres import everywhere, rows
from memory.services.caller import MemoryCaller
from memory.services.listing import MOST_A_PAGE
from memory.services.trail import record


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """Best first, then what waits in quarantine. ``places``: by what the entries call their namespace."""

    entries: tuple[MemoryEntry, ...]
    places: Mapping[str, Namespace]
    total: int
    offset: int
    is_all: bool  # whether everything they may look into was looked through


@tried_again
def search_everywhere(
    caller: MemoryCaller,
    *,
    query: str,
    scope: str | None = None,
    tier: str | None = None,
    category: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> FoundEntries:
    """By words, as a recall in one namespace ranks them. People look around, and find quarantined ones, too; what a
    programme finds may go into a prompt, so it has to name that tier."""
    if not query.strip() or len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(f"q: from 1 to {MAX_QUERY_LENGTH} characters.")
    most = min(limit, MOST_A_PAGE)
    with tenant([caller.team_id]):
        places, is_all = _places(caller, scope)
        pages = _Pages(places, query, category or "", offset, most)
        hits, total = pages.ranked(tier or "") if tier != Tier.QUARANTINE else ([], 0)
        if tier == Tier.QUARANTINE or (not tier and caller.principal.kind == "user"):
            waiting, more = pages.waiting(offset - total, most - len(hits))
            hits, total = [*hits, *waiting], total + more
        found = Namespace.objects.unscoped().in_bulk({row.namespace_id for row, _one in hits})
        entries = tuple(replace(one, namespace=found[row.namespace_id].text) for row, one in hits)
        told = {"door": "search", "keys": total, "namespaces": sorted(map(str, found))}
        record(caller, "memory.listed", f"team:{caller.team_id}", told)
    return FoundEntries(entries, {row.text: row for row in found.values()}, total, offset, is_all)


_Hits = list[tuple[Entry, MemoryEntry]]


@dataclass(frozen=True, slots=True)
class _Pages:
    """One list of two: what is ranked, and behind it what waits."""

    places: Any  # namespaces; the manager's queryset is untyped
    query: str
    category: str
    offset: int
    limit: int

    def ranked(self, tier: str) -> tuple[_Hits, int]:
        page = everywhere.ranked(
            self.places,
            self.query,
            timezone.now(),
            category=self.category,
            tier=tier,
            limit=self.limit,
            offset=self.offset,
        )
        hits = [
            (row, replace(rows.entry_of(row, ""), score=score, explain=parts))
            for row, score, parts in page.hits
        ]
        return hits, page.total

    def waiting(self, start: int, room: int) -> tuple[_Hits, int]:
        ids = everywhere.waiting(self.places, self.query, timezone.now(), category=self.category)
        start = max(0, start)
        page = ids[start : start + room]
        found = Entry.objects.unscoped().in_bulk(page) if page else {}
        return [(row, rows.entry_of(row, "")) for one in page if (row := found.get(one))], len(ids)


def _places(caller: MemoryCaller, scope: str | None) -> tuple[Any, bool]:  # as above
    """What they may look into and the policy leaves open, as a question; and whether that is all of it."""
    seen = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    if scope:
        seen = seen.filter(scope=str(scope_named(scope).word))
    away = scopes_elsewhere(caller.team_id)
    is_all = not away or not seen.filter(scope__in=away).exists()
    seen = seen.filter(entry_count__gt=0).exclude(scope__in=away)
    if caller.principal.kind != "user":
        seen = seen.exclude(_paused())
    closing = (
        Policy.objects.unscoped().filter(team_id=caller.team_id).exclude(allowed_prefixes=None)
    )
    if closing.exists():
        seen = seen.filter(pk__in=_left_open(caller.team_id, list(seen)))
    return seen, is_all


def _paused() -> Q:
    """What a programme finds nothing in, for its person paused being recalled: ``pausing.is_left_off``, as a query."""
    off = Q(paused__in=(PauseChoice.RECALLING, PauseChoice.BOTH), paused_since__isnull=False)
    return off & (Q(paused_until=None) | Q(paused_until__gt=timezone.now()))


def _left_open(team_id: UUID, found: list[Namespace]) -> list[UUID]:
    policies = policies_of(team_id, found)
    return [row.pk for row in found if _is_open(policies[row.pk], row.text)]


def _is_open(policy: MemorySecurityPolicy, text: str) -> bool:
    try:
        check_namespace(policy, text)
    except AccessDenied:
        return False
    return True

"""Searches the entries of all namespaces that a caller may view.

It covers what the page of the newest memories shows: what roles and sharing allow, and one's own. Emergency access
doesn't widen any list. Memory of external providers isn't searched; the result says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.policy import MemorySecurityPolicy, check_namespace
from memory.core.provider import MAX_QUERY_LENGTH
from memory.core.records import MemoryEntry, Tier
from memory.core.scopes import get_scope
from memory.models import Entry, Namespace, Policy
from memory.models.namespaces import PauseChoice
from memory.policies import load_policies
from memory.providers.postgres import rows, search_all
from memory.routing import list_external_scopes
from memory.services.entries.listing import MAX_PAGE_SIZE
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller, select_visible


_Hits = list[tuple[Entry, MemoryEntry]]


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The entries, best first, then quarantined ones. ``namespaces`` are by the name that the entries give them."""

    entries: tuple[MemoryEntry, ...]
    namespaces: Mapping[str, Namespace]
    total: int
    offset: int
    is_all: bool  # whether all namespaces that the caller may view were searched


@retry_on_conflict
def search_all_namespaces(
    caller: MemoryCaller,
    *,
    query: str,
    scope: str | None = None,
    tier: str | None = None,
    category: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> SearchResults:
    """Search by words, ranked as a recall in one namespace. People find quarantined entries too; what a program finds
    may end up in a prompt, so it has to name that tier.
    """
    if not query.strip() or len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(f"q: from 1 to {MAX_QUERY_LENGTH} characters.")
    page_size = min(limit, MAX_PAGE_SIZE)
    with tenant([caller.team_id]):
        visible, is_all = _list_namespaces(caller, scope)
        pages = _Pages(visible, query, category or "", offset, page_size)
        hits, total = pages.rank(tier or "") if tier != Tier.QUARANTINE else ([], 0)
        if tier == Tier.QUARANTINE or (not tier and caller.principal.kind == "user"):
            quarantined, quarantined_count = pages.list_quarantined(
                offset - total, page_size - len(hits)
            )
            hits, total = [*hits, *quarantined], total + quarantined_count
        namespaces = Namespace.objects.unscoped().in_bulk(
            {row.namespace_id for row, _entry in hits}
        )
        entries = tuple(
            replace(entry, namespace=namespaces[row.namespace_id].text) for row, entry in hits
        )
        detail = {"door": "search", "keys": total, "namespaces": sorted(map(str, namespaces))}
        record(caller, "memory.listed", f"team:{caller.team_id}", detail)
    return SearchResults(
        entries, {row.text: row for row in namespaces.values()}, total, offset, is_all
    )


@dataclass(frozen=True, slots=True)
class _Pages:
    """One list of two parts: the ranked entries, and after them the quarantined ones."""

    namespaces: Any  # namespaces; the manager's queryset is untyped
    query: str
    category: str
    offset: int
    limit: int

    def rank(self, tier: str) -> tuple[_Hits, int]:
        page = search_all.rank_entries(
            self.namespaces,
            self.query,
            timezone.now(),
            category=self.category,
            tier=tier,
            limit=self.limit,
            offset=self.offset,
        )
        hits = [
            (row, replace(rows.build_entry(row, ""), score=score, explain=parts))
            for row, score, parts in page.hits
        ]
        return hits, page.total

    def list_quarantined(self, start: int, room: int) -> tuple[_Hits, int]:
        ids = search_all.list_quarantined(
            self.namespaces, self.query, timezone.now(), category=self.category
        )
        start = max(0, start)
        page = ids[start : start + room]
        entries = Entry.objects.unscoped().in_bulk(page) if page else {}
        return [
            (row, rows.build_entry(row, "")) for entry_id in page if (row := entries.get(entry_id))
        ], len(ids)


def _list_namespaces(caller: MemoryCaller, scope: str | None) -> tuple[Any, bool]:  # as above
    """Return the query for the namespaces that the caller can view and the policy leaves open, and whether these are
    all.
    """
    namespaces = select_visible(caller, Namespace)
    if scope:
        namespaces = namespaces.filter(scope=str(get_scope(scope).word))
    external_scopes = list_external_scopes(caller.team_id)
    is_all = not external_scopes or not namespaces.filter(scope__in=external_scopes).exists()
    namespaces = namespaces.filter(entry_count__gt=0).exclude(scope__in=external_scopes)
    if caller.principal.kind != "user":
        namespaces = namespaces.exclude(_paused_condition())
    restricting = (
        Policy.objects.unscoped().filter(team_id=caller.team_id).exclude(allowed_prefixes=None)
    )
    if restricting.exists():
        namespaces = namespaces.filter(pk__in=_list_open(caller.team_id, list(namespaces)))
    return namespaces, is_all


def _paused_condition() -> Q:
    """Return the condition for namespaces whose person paused recall, in which a program finds nothing; as
    ``is_verb_paused``.
    """
    is_paused = Q(paused__in=(PauseChoice.RECALLING, PauseChoice.BOTH), paused_since__isnull=False)
    return is_paused & (Q(paused_until=None) | Q(paused_until__gt=timezone.now()))


def _list_open(team_id: UUID, namespaces: list[Namespace]) -> list[UUID]:
    policies = load_policies(team_id, namespaces)
    return [row.pk for row in namespaces if _is_open(policies[row.pk], row.text)]


def _is_open(policy: MemorySecurityPolicy, text: str) -> bool:
    try:
        check_namespace(policy, text)
    except AccessDenied:
        return False
    return True

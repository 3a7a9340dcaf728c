"""Search the entries of all namespaces that a caller may view.

Namespaces that the caller may view only by emergency access are not searched, nor are those of external providers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied, InvalidInput
from memory.core.policy import MemorySecurityPolicy, check_namespace
from memory.core.provider import MAX_QUERY_LENGTH, check_query
from memory.core.records import MemoryEntry, MemoryQuery, QueryEmbedding, Tier
from memory.core.scopes import get_scope
from memory.embedding.query_embedding import embed_query
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
    """The entries, best first, then quarantined ones, and their namespaces by the name that the entries have."""

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
    min_score: float | None = None,
    valid_at: datetime | None = None,
    include_former: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> SearchResults:
    """Return the entries with words of the query or near in meaning, ranked as by a recall, with a score of at least ``min_score``.

    Only entries that hold at ``valid_at``, by default now, are found, unless ``include_former``. People find quarantined
    entries, too. Keys find them only with that tier, because their results may be put into a prompt, and never what may
    enter no prompt.
    """
    if not query.strip() or len(query) > MAX_QUERY_LENGTH:
        raise InvalidInput(f"q: from 1 to {MAX_QUERY_LENGTH} characters.")
    check_query(MemoryQuery("", min_score=min_score, valid_at=valid_at))
    page_size = min(limit, MAX_PAGE_SIZE)
    # Before the transaction, because embedders are slow.
    question = MemoryQuery("", query_text=query)
    meaning = embed_query(question, caller.team_id, caller=caller.embedding_caller).meaning
    with tenant([caller.team_id]):
        visible, is_all = list_searchable_namespaces(caller, scope)
        pages = _Pages(
            visible,
            query,
            meaning,
            category or "",
            min_score or 0.0,
            None if include_former else valid_at or timezone.now(),
            caller.principal.kind != "user",
            offset,
            page_size,
        )
        hits, total = pages.rank_entries(tier or "") if tier != Tier.QUARANTINE else ([], 0)
        if tier == Tier.QUARANTINE or (not tier and caller.principal.kind == "user"):
            start, limit = offset - total, page_size - len(hits)
            quarantined, quarantined_count = pages.list_quarantined(start, limit)
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
    """The two parts of the results: the ranked entries, and after them the quarantined ones."""

    namespaces: Any  # namespaces; the manager's queryset is untyped
    query: str
    meaning: QueryEmbedding | None
    category: str
    min_score: float
    holding_at: datetime | None  # None: entries need not hold
    for_prompt: bool
    offset: int
    limit: int

    def rank_entries(self, tier: str) -> tuple[_Hits, int]:
        page = search_all.rank_entries(
            self.namespaces,
            self.query,
            timezone.now(),
            category=self.category,
            tier=tier,
            min_score=self.min_score,
            limit=self.limit,
            offset=self.offset,
            meaning=self.meaning,
            holding_at=self.holding_at,
            for_prompt=self.for_prompt,
        )
        hits = [
            (row, replace(rows.build_entry(row, ""), score=score, explain=parts))
            for row, score, parts in page.hits
        ]
        return hits, page.total

    def list_quarantined(self, start: int, limit: int) -> tuple[_Hits, int]:
        ids = search_all.list_quarantined(
            self.namespaces, self.query, timezone.now(), category=self.category
        )
        start = max(0, start)
        page_ids = ids[start : start + limit]
        entries = Entry.objects.unscoped().in_bulk(page_ids) if page_ids else {}
        page_rows = [entries[entry_id] for entry_id in page_ids if entry_id in entries]
        return [(row, rows.build_entry(row, "")) for row in page_rows], len(ids)


def list_searchable_namespaces(
    caller: MemoryCaller, scope: str | None, *, with_named: bool = False
) -> tuple[Any, bool]:  # as above
    """Return the query for the namespaces to search, and whether these are all that the caller may view.

    ``with_named`` includes the private memory of those whom a key may name, for what its own runs wrote there.
    """
    if with_named:
        manager: Any = Namespace.objects  # the manager types its model, not its queryset
        namespaces = manager.nameable_by(caller.principal).filter(team_id=caller.team_id)
    else:
        namespaces = select_visible(caller, Namespace)
    if scope:
        namespaces = namespaces.filter(scope=str(get_scope(scope).word))
    external_scopes = list_external_scopes(caller.team_id)
    is_all = not external_scopes or not namespaces.filter(scope__in=external_scopes).exists()
    namespaces = namespaces.filter(entry_count__gt=0).exclude(scope__in=external_scopes)
    if caller.principal.kind != "user":
        namespaces = namespaces.exclude(_build_paused_condition())
    policies = Policy.objects.unscoped().filter(team_id=caller.team_id)
    if policies.exclude(allowed_prefixes=None).exists():
        allowed_ids = _list_allowed_ids(caller.team_id, list(namespaces))
        namespaces = namespaces.filter(pk__in=allowed_ids)
    return namespaces, is_all


def _build_paused_condition() -> Q:
    """Build the condition for namespaces whose person has paused recalling, as ``is_verb_paused`` checks it."""
    is_paused = Q(paused__in=(PauseChoice.RECALLING, PauseChoice.BOTH), paused_since__isnull=False)
    return is_paused & (Q(paused_until=None) | Q(paused_until__gt=timezone.now()))


def _list_allowed_ids(team_id: UUID, namespaces: list[Namespace]) -> list[UUID]:
    policies = load_policies(team_id, namespaces)
    return [row.pk for row in namespaces if _is_allowed(policies[row.pk], row.text)]


def _is_allowed(policy: MemorySecurityPolicy, text: str) -> bool:
    try:
        check_namespace(policy, text)
    except AccessDenied:
        return False
    return True

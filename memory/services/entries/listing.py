"""Lists the namespaces that a caller may view, and the entries of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.filters import parse_filter
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.values import search_text
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.filters import apply_filter
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


MAX_PAGE_SIZE = 200


@dataclass(frozen=True, slots=True)
class EntryPage:
    entries: list[MemoryEntry]
    total: int
    offset: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """A page of namespaces; ``total`` counts all of them."""

    rows: list[Namespace]
    total: int


def list_namespaces(caller: MemoryCaller, *, scope: str | None = None) -> list[Namespace]:
    with tenant([caller.team_id]):
        return list(_visible_namespaces(caller, scope))


def list_namespace_page(
    caller: MemoryCaller, *, scope: str | None = None, limit: int = 50, offset: int = 0
) -> NamespacePage:
    """Return a page in the order of ``list_namespaces``."""
    with tenant([caller.team_id]):
        query = _visible_namespaces(caller, scope)
        rows_ = list(query[offset : offset + limit + 1])
        is_last = len(rows_) <= limit and (rows_ or not offset)  # most pages need no count
        total = offset + len(rows_) if is_last else query.count()
        return NamespacePage(rows_[:limit], total)


def _visible_namespaces(caller: MemoryCaller, scope: str | None) -> QuerySet[Namespace]:
    query = select_visible(caller, Namespace)
    if scope is not None:
        query = query.filter(scope=scope)
    return query.order_by("scope", "text", "id")


@retry_on_conflict
def list_entries(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    text: str = "",
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the interface's name
    category: str | None = None,
    tier: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> EntryPage:
    """List entries newest first, including quarantined ones, which recall leaves out."""
    with open_namespace(
        caller, "view", "memory.listed", scope=scope, namespace=namespace
    ) as access:
        row = access.target.row
        condition = parse_filter(filter)
        if row is None:
            return EntryPage([], 0, offset)
        if access.external is not None:
            external_entries = access.store().recall(MemoryQuery(row.text, filter=filter))
            return _build_external_page(
                access, external_entries, text, category, tier, limit, offset
            )
        query = rows.find_living(row).exclude(expires_at__lte=access.now)
        query = _filter(query, text=text, category=category, tier=tier)
        query = apply_filter(query, condition)
        total = query.count()
        page = query.order_by("-updated_at", "-id")[offset : offset + min(limit, MAX_PAGE_SIZE)]
        access.detail["keys"] = total
        return EntryPage([rows.build_entry(entry, row.text) for entry in page], total, offset)


def _build_external_page(
    access: NamespaceAccess,
    entries: Sequence[MemoryEntry],
    text: str,
    category: str | None,
    tier: str | None,
    limit: int,
    offset: int,
) -> EntryPage:
    """Filter the entries of an external provider, which are newest first already and never quarantined."""
    matching_entries = [
        entry
        for entry in entries
        if text.casefold() in search_text(entry.key, entry.value).casefold()
        and category in (None, "", entry.category)
        and tier in (None, "", entry.tier.value)
    ]
    access.detail["keys"] = len(matching_entries)
    return EntryPage(
        matching_entries[offset : offset + min(limit, MAX_PAGE_SIZE)], len(matching_entries), offset
    )


def _filter(
    query: rows.Entries, *, text: str, category: str | None, tier: str | None
) -> rows.Entries:
    conditions: dict[str, Any] = {"text__icontains": text, "category": category, "tier": tier}
    return query.filter(**{name: value for name, value in conditions.items() if value})

"""List the namespaces that a caller may view, and the entries of a namespace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.tenancy import reading
from config.retry import retry_on_conflict
from memory.core.filters import parse_filter
from memory.core.folding import contains_folded
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.values import build_search_text
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.filters import apply_filter
from memory.providers.postgres.folding import contains
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace


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


def list_namespace_page(
    caller: MemoryCaller, *, scope: str | None = None, limit: int = 50, offset: int = 0
) -> NamespacePage:
    """Return a page in the order of scopes and texts."""
    with reading([caller.team_id]):
        query = select_visible(caller, Namespace).order_by("scope", "text", "id")
        if scope is not None:
            query = query.filter(scope=scope)
        page = list(query[offset : offset + limit + 1])
        is_last = len(page) <= limit and (page or not offset)  # most pages need no count
        total = offset + len(page) if is_last else query.count()
        return NamespacePage(page[:limit], total)


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
    """Return a page of the entries, newest first, including quarantined and former ones, which recall leaves out."""
    with open_namespace(
        caller, "view", "memory.listed", scope=scope, namespace=namespace
    ) as access:
        row = access.target.row
        condition = parse_filter(filter)
        if row is None:
            return EntryPage([], 0, offset)
        page = slice(offset, offset + min(limit, MAX_PAGE_SIZE))
        if access.external is not None:
            # An external provider returns the newest first, and no quarantined entries.
            full_query = MemoryQuery(row.text, filter=filter, include_former=True)
            matching = [
                entry
                for entry in access.open_store().recall(full_query)
                if contains_folded(build_search_text(entry.key, entry.value), text)
                and category in (None, "", entry.category)
                and tier in (None, "", entry.tier.value)
            ]
            entries, total = matching[page], len(matching)
        else:
            query = rows.find_living(row).exclude(expires_at__lte=access.now)
            fields: dict[str, Any] = {"category": category, "tier": tier}
            query = query.filter(
                contains("text", text),
                **{name: value for name, value in fields.items() if value},
            )
            query = apply_filter(query, condition)
            total = query.count()
            newest = query.order_by("-updated_at", "-id")[page]
            entries = [rows.build_entry(entry, row.text) for entry in newest]
        access.detail["keys"] = total
        return EntryPage(entries, total, offset)

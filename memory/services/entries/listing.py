"""Looking around: the namespaces one may see, and what is in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.tenancy import tenant
from config.again import tried_again
from memory.core.filters import parse_filter
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.values import search_text
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened


MOST_A_PAGE = 200


@dataclass(frozen=True, slots=True)
class EntryPage:
    entries: list[MemoryEntry]
    total: int
    offset: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """``total``: all there are, of which these are some."""

    rows: list[Namespace]
    total: int


def namespaces(caller: MemoryCaller, *, scope: str | None = None) -> list[Namespace]:
    with tenant([caller.team_id]):
        return list(_seen(caller, scope))


def namespace_page(
    caller: MemoryCaller, *, scope: str | None = None, limit: int = 50, offset: int = 0
) -> NamespacePage:
    """In the order of ``namespaces``."""
    with tenant([caller.team_id]):
        found = _seen(caller, scope)
        rows_ = list(found[offset : offset + limit + 1])
        is_last = len(rows_) <= limit and (rows_ or not offset)  # most need no counting
        total = offset + len(rows_) if is_last else found.count()
        return NamespacePage(rows_[:limit], total)


def _seen(caller: MemoryCaller, scope: str | None) -> QuerySet[Namespace]:
    found = Namespace.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
    if scope is not None:
        found = found.filter(scope=scope)
    return found.order_by("scope", "text", "id")


@tried_again
def entries(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    text: str = "",
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    category: str | None = None,
    tier: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> EntryPage:
    """Newest first, quarantined ones included: this is for looking, recall is for using."""
    with opened(caller, "view", "memory.listed", scope=scope, namespace=namespace) as door:
        row = door.place.row
        wanted = parse_filter(filter)
        if row is None:
            return EntryPage([], 0, offset)
        if door.elsewhere is not None:
            there = door.elsewhere.recall(MemoryQuery(row.text, filter=filter))
            return _page(door, there, text, category, tier, limit, offset)
        found = rows.living(row).exclude(expires_at__lte=door.now)
        found = _narrowed(found, text=text, category=category, tier=tier)
        found = narrowed(found, wanted)
        total = found.count()
        page = found.order_by("-updated_at", "-id")[offset : offset + min(limit, MOST_A_PAGE)]
        door.detail["keys"] = total
        return EntryPage([rows.entry_of(one, row.text) for one in page], total, offset)


def _page(
    door: Door,
    there: Sequence[MemoryEntry],
    text: str,
    category: str | None,
    tier: str | None,
    limit: int,
    offset: int,
) -> EntryPage:
    """Of what is kept elsewhere, newest first already; quarantined ones nobody hands out there."""
    chosen = [
        entry
        for entry in there
        if text.casefold() in search_text(entry.key, entry.value).casefold()
        and category in (None, "", entry.category)
        and tier in (None, "", entry.tier.value)
    ]
    door.detail["keys"] = len(chosen)
    return EntryPage(chosen[offset : offset + min(limit, MOST_A_PAGE)], len(chosen), offset)


def _narrowed(
    found: rows.Entries, *, text: str, category: str | None, tier: str | None
) -> rows.Entries:
    wanted: dict[str, Any] = {"text__icontains": text, "category": category, "tier": tier}
    return found.filter(**{name: value for name, value in wanted.items() if value})

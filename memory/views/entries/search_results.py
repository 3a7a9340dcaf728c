"""What a search over everything found: each memory with where it lies and why it is here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise

from accounts.principals import get_principal
from accounts.views.pagination import PAGE_SIZE, OffsetPage, read_offset
from memory import naming, services
from memory.core.records import MemoryEntry, Tier
from memory.forms.browsing import OverviewForm
from memory.logic.entries.tiers import TierAction
from memory.models import Entry, Namespace
from memory.views.entries.entry_details import PARTS
from memory.views.request_context import caller_of


Parts = tuple[tuple[str | Promise, float], ...]

BEGINS = "from"  # of the memories; "offset" is that of the names


@dataclass(frozen=True, slots=True)
class FoundShown:
    """``title``: what people call the namespace it lies in."""

    entry: MemoryEntry
    place: Namespace
    title: str
    percent: int | None
    parts: Parts
    waits: bool


def found_of(request: HttpRequest, form: OverviewForm) -> dict[str, Any]:
    """Of the overview's context, what the words brought."""
    found = services.search_all_namespaces(
        caller_of(request),
        query=form.get_value("q"),
        scope=form.selected_scope,
        tier=form.get_value("tier") or None,
        category=form.get_value("category") or None,
        limit=PAGE_SIZE,
        offset=min(read_offset(request.GET, BEGINS), 1_000_000),
    )
    places = naming.name_namespaces(
        list(found.namespaces.values()), reader_id=get_principal(request).user_id
    )
    titles = {one.row.text: one.title for one in places}
    return {
        "found": [_shown(one, found.namespaces, titles) for one in found.entries],
        "found_total": found.total,
        "found_all": found.is_all,
        "found_page": OffsetPage(found.total, found.offset, request.GET, parameter=BEGINS),
        "categories": sorted({one.category for one in found.entries}),
    }


def why_found(entry: MemoryEntry) -> tuple[int | None, Parts]:
    """How well it fits in a hundred, and what that is made of; none where nothing ranked it."""
    parts = ((PARTS.get(name, name), part) for name, part in entry.explain.items() if part > 0)
    return (None if entry.score is None else round(entry.score * 100)), tuple(parts)


def waits(entry: Entry | MemoryEntry) -> bool:
    """In quarantine, and nobody has decided about it."""
    return entry.tier == Tier.QUARANTINE and entry.metadata.get("review") != TierAction.REJECT


def _shown(
    entry: MemoryEntry, places: Mapping[str, Namespace], titles: Mapping[str, str]
) -> FoundShown:
    percent, parts = why_found(entry)
    text = entry.namespace
    return FoundShown(entry, places[text], titles[text], percent, parts, waits(entry))

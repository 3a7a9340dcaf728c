"""The results of a search in all memory: each entry with its namespace and an explanation."""

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
from memory.views.entries.entry_details import SCORE_PARTS
from memory.views.request_context import build_caller


Parts = tuple[tuple[str | Promise, float], ...]

OFFSET_PARAMETER = "from"  # of the entries; "offset" is that of the namespaces


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A result; ``title`` is the display name of its namespace."""

    entry: MemoryEntry
    namespace: Namespace
    title: str
    percent: int | None
    parts: Parts
    waits: bool


def build_search_context(request: HttpRequest, form: OverviewForm) -> dict[str, Any]:
    """Build the part of the overview's context with the search results."""
    results = services.search_all_namespaces(
        build_caller(request),
        query=form.get_value("q"),
        scope=form.selected_scope,
        tier=form.get_value("tier") or None,
        category=form.get_value("category") or None,
        limit=PAGE_SIZE,
        offset=min(read_offset(request.GET, OFFSET_PARAMETER), 1_000_000),
    )
    named_namespaces = naming.name_namespaces(
        list(results.namespaces.values()), reader_id=get_principal(request).user_id
    )
    titles = {item.row.text: item.title for item in named_namespaces}
    return {
        "results": [_build_row(item, results.namespaces, titles) for item in results.entries],
        "results_total": results.total,
        "is_all_searched": results.is_all,
        "results_page": OffsetPage(
            results.total, results.offset, request.GET, parameter=OFFSET_PARAMETER
        ),
        "categories": sorted({item.category for item in results.entries}),
    }


def explain_match(entry: MemoryEntry) -> tuple[int | None, Parts]:
    """Return the score in percent, or None without a ranking, and its parts."""
    parts = (
        (SCORE_PARTS.get(name, name), part) for name, part in entry.explain.items() if part > 0
    )
    return (None if entry.score is None else round(entry.score * 100)), tuple(parts)


def is_waiting(entry: Entry | MemoryEntry) -> bool:
    """Return whether the entry is in quarantine without a decision."""
    return entry.tier == Tier.QUARANTINE and entry.metadata.get("review") != TierAction.REJECT


def _build_row(
    entry: MemoryEntry, namespaces: Mapping[str, Namespace], titles: Mapping[str, str]
) -> ResultRow:
    percent, parts = explain_match(entry)
    text = entry.namespace
    return ResultRow(entry, namespaces[text], titles[text], percent, parts, is_waiting(entry))

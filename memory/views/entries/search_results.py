"""The results of a search in all memory: each entry with its namespace and an explanation."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from accounts.views.pagination import PAGE_SIZE, OffsetPage, read_offset
from memory import services
from memory.core.records import MemoryEntry, Tier
from memory.forms.browsing import OverviewForm
from memory.logic.entries.tiers import TierAction
from memory.models import Entry, Namespace
from memory.views.entries.entry_details import ScoreParts, label_score_parts
from memory.views.request_context import build_caller, load_titles


OFFSET_PARAMETER = "from"  # of the entries; "offset" is that of the namespaces


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry in a list. A result of a search in all memory also has its namespace with the title."""

    entry: MemoryEntry
    namespace: Namespace | None = None
    title: str = ""
    # In a snapshot: the entry is different now, and the name of who wrote the value that is shown.
    is_changed: bool = False
    author: str = ""

    @property
    def is_waiting(self) -> bool:
        return is_waiting(self.entry)

    @property
    def percent(self) -> int | None:
        """The score in percent, or None without a ranking."""
        return None if self.entry.score is None else round(self.entry.score * 100)

    @property
    def parts(self) -> ScoreParts:
        return label_score_parts(self.entry.explain)


def build_search_context(request: HttpRequest, form: OverviewForm) -> dict[str, Any]:
    """Build the part of the overview's context with the search results."""
    results = services.search_all_namespaces(
        build_caller(request),
        query=form.get_value("q"),
        scope=form.get_value("scope") or None,
        tier=form.get_value("tier") or None,
        category=form.get_value("category") or None,
        include_former=True,
        limit=PAGE_SIZE,
        offset=min(read_offset(request.GET, OFFSET_PARAMETER), 1_000_000),
    )
    namespaces = results.namespaces
    titles = load_titles(request, namespaces.values())
    pager = OffsetPage(results.total, results.offset, request.GET, parameter=OFFSET_PARAMETER)
    return {
        "results": [
            EntryRow(entry, namespaces[entry.namespace], titles[entry.namespace])
            for entry in results.entries
        ],
        "results_total": results.total,
        "is_all_searched": results.is_all,
        "results_page": pager,
        "categories": sorted({entry.category for entry in results.entries}),
    }


def is_waiting(entry: Entry | MemoryEntry) -> bool:
    """Return whether the entry is in quarantine without a decision."""
    return entry.tier == Tier.QUARANTINE and entry.metadata.get("review") != TierAction.REJECT

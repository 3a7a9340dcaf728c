"""The overview of namespaces by scope, and the entries of one; a view serves page and fragment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import PAGE_SIZE, OffsetPage, replace_query, replace_query_suffix
from memory import selectors
from memory.core.policy import NO_LIMITS
from memory.core.records import MemoryEntry
from memory.core.scopes import parse_namespace
from memory.forms.browsing import (
    BulkActionChoice,
    BulkActionForm,
    SearchForm,
    SortChoice,
    ViewChoice,
)
from memory.models import Change, Namespace
from memory.models.entries import TierChoice
from memory.routing import find_external_provider
from memory.services.entries.bulk import BulkPreview
from memory.services.entries.retention import load_retention
from memory.services.history.snapshot import search_snapshot
from memory.services.recall.search import search_entries
from memory.views.entries.filters import list_actors, list_chips, list_view_tabs
from memory.views.entries.links import build_links_context
from memory.views.entries.overview import build_overview_context
from memory.views.entries.search_results import Parts, explain_match, is_waiting
from memory.views.entries.tier_columns import build_columns_context
from memory.views.entries.timeline import build_timeline_context
from memory.views.request_context import build_caller, may, title_of, undoable_change


@dataclass(frozen=True, slots=True)
class BulkConfirmation:
    """A previewed bulk action that waits for a confirmation; ``form`` has the fields that it needs."""

    form: BulkActionForm
    preview: BulkPreview
    entries: tuple[str, ...]  # the selected ones; empty for all that match


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A row; ``percent`` and ``parts`` explain the match, ``changed`` means that it is different now."""

    entry: MemoryEntry
    waits: bool
    percent: int | None
    parts: Parts
    changed: bool


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """The outcome of an action, shown beside the current entries."""

    undoable: Change | None = None
    confirmation: BulkConfirmation | None = None
    fault: str = ""


@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Show the namespaces by scope with their counts, sizes and quotas, and the newest entries."""
    return render(request, "memory/overview.html", build_overview_context(request))


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    undoable = undoable_change(request, request.GET.get("undo", ""))
    return show_namespace(request, row, ActionOutcome(undoable))


def show_namespace(
    request: HttpRequest,
    row: Namespace,
    outcome: ActionOutcome = ActionOutcome(),
    *,
    status: int = 200,
) -> HttpResponse:
    search = SearchForm(request.GET)
    actors = list_actors(request, row)
    external = find_external_provider(row.team_id, parse_namespace(row.text), NO_LIMITS)
    active_chips = list_chips(request, search, actors)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "search": search,
        "actors": actors,
        "chips": active_chips,
        "ignored": list_form_errors(request.GET, search),
        "is_narrowed": any(chip.name != "q" for chip in active_chips),
        "views": list_view_tabs(request, search),
        "query": replace_query_suffix(request.GET),
        "plain_query": replace_query_suffix(request.GET, at=""),
        "categories": selectors.list_categories(row),
        "tiers": TierChoice.choices,
        "sorts": SortChoice.choices,
        "acts": BulkActionChoice.choices,
        "retention": load_retention(row),
        "undoable": outcome.undoable,
        "confirmation": outcome.confirmation,
        "fault": outcome.fault,
        "external_provider": external.name if external else "",
        "may_forget": external is None and may(request, "forget", row),
        "may_write": external is None and may(request, "write", row),
        "now": timezone.now(),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
        **_BODIES[search.selected_view](request, row, search),
    }
    fragment = getattr(request, "htmx", False)
    template = "memory/entries/_entries.html" if fragment else "memory/entries/namespace.html"
    return render(request, template, context, status=status)


def _build_list_context(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    at = search.at_moment
    if at is not None:
        return _build_snapshot_context(request, row, search)
    page = search_entries(
        build_caller(request),
        namespace=row.text,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_table.html",
        "rows": [_build_row(entry) for entry in page.entries],
        "scored": any(entry.score is not None for entry in page.entries),
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
    }


def _build_snapshot_context(
    request: HttpRequest, row: Namespace, search: SearchForm
) -> dict[str, Any]:
    at = search.at_moment or timezone.now()
    snapshot = search_snapshot(
        build_caller(request),
        namespace=row.text,
        at=at,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_snapshot.html",
        "at": at,
        "rows": [_build_row(entry, snapshot.changed) for entry in snapshot.page.entries],
        "before_url": snapshot.before
        and replace_query(request.GET, at=snapshot.before.isoformat()),
        "after_url": snapshot.after and replace_query(request.GET, at=snapshot.after.isoformat()),
        "scan_limit": snapshot.scan_limit,
        "total": snapshot.page.total,
        "page": OffsetPage(snapshot.page.total, snapshot.page.offset, request.GET),
    }


def _build_row(entry: MemoryEntry, changed: frozenset[str] = frozenset()) -> EntryRow:
    percent, parts = explain_match(entry)
    return EntryRow(entry, is_waiting(entry), percent, parts, entry.id in changed)


BuildBody = Callable[[HttpRequest, Namespace, SearchForm], dict[str, Any]]

_BODIES: dict[ViewChoice, BuildBody] = {
    ViewChoice.LIST: _build_list_context,
    ViewChoice.TIERS: build_columns_context,
    ViewChoice.TIMELINE: build_timeline_context,
    ViewChoice.LINKS: build_links_context,
}

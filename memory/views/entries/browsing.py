"""The newest entries, the namespaces by scope, and the entries of one; a view serves page and fragment."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.principals import get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import PAGE_SIZE, OffsetPage, replace_query, replace_query_suffix
from memory import selectors
from memory.core.policy import NO_LIMITS
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
from memory.provenance import load_provenance
from memory.routing import find_external_provider
from memory.services.entries.bulk import BulkPreview
from memory.services.entries.retention import load_retention
from memory.services.history.snapshot import search_snapshot
from memory.services.recall.search import search_entries
from memory.services.review.review_sample import find_demo_memory, find_demo_namespace
from memory.views.entries.filters import list_actors, list_chips, list_view_tabs
from memory.views.entries.links import build_links_context
from memory.views.entries.overview import build_memories_context, build_namespaces_context
from memory.views.entries.search_results import EntryRow
from memory.views.entries.tier_columns import build_columns_context
from memory.views.entries.timeline import build_timeline_context
from memory.views.request_context import (
    build_caller,
    find_namespace,
    find_undoable_change,
    get_title,
    is_allowed,
    render_page_or_fragment,
)


@dataclass(frozen=True, slots=True)
class BulkConfirmation:
    """A previewed bulk action that waits for a confirmation; ``form`` has the fields that the action needs."""

    form: BulkActionForm
    preview: BulkPreview
    entries: tuple[str, ...]  # ids of the selected entries, empty for all that match the filters


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """The outcome of an action, shown beside the current entries."""

    undoable: Change | None = None
    confirmation: BulkConfirmation | None = None
    fault: str = ""


@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Show the newest entries of all namespaces, or those that match a query."""
    return render(request, "memory/overview.html", build_memories_context(request))


@login_required
@require_safe
def namespaces(request: HttpRequest) -> HttpResponse:
    """Show the namespaces by scope with their counts, sizes and quotas."""
    return render(request, "memory/namespaces.html", build_namespaces_context(request))


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = find_namespace(request, namespace_id)
    return show_namespace(request, row, ActionOutcome(find_undoable_change(request)))


def show_namespace(
    request: HttpRequest,
    row: Namespace,
    outcome: ActionOutcome = ActionOutcome(),
    *,
    status: int = 200,
) -> HttpResponse:
    """Show the namespace in the selected view, with the outcome of the last action."""
    caller, search = build_caller(request), SearchForm(request.GET)
    actors = list_actors(request, row)
    external = find_external_provider(row.team_id, parse_namespace(row.text), NO_LIMITS)
    active_chips = list_chips(request, search, actors)
    context = {
        "namespace": row,
        "demo": find_demo_memory(caller) if row.text == find_demo_namespace(caller) else None,
        "title": get_title(request, row),
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
        "may_forget": external is None and is_allowed(request, "forget", row),
        "may_write": external is None and is_allowed(request, "write", row),
        "now": timezone.now(),
        **_BODY_BUILDERS[search.selected_view](request, row, search),
    }
    page, fragment = "memory/entries/namespace.html", "memory/entries/_entries.html"
    return render_page_or_fragment(request, page, fragment, context, status)


def _build_list_context(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    if (moment := search.snapshot_at) is not None:
        return _build_snapshot_context(request, row, search, moment)
    page = search_entries(
        build_caller(request),
        namespace=row.text,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_table.html",
        "rows": [EntryRow(entry) for entry in page.entries],
        "scored": any(entry.score is not None for entry in page.entries),
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
    }


def _build_snapshot_context(
    request: HttpRequest, row: Namespace, search: SearchForm, moment: datetime
) -> dict[str, Any]:
    snapshot = search_snapshot(
        build_caller(request),
        namespace=row.text,
        moment=moment,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    before, after = snapshot.before, snapshot.after
    entries = snapshot.page.entries
    authors = [entry.source.actor for entry in entries]
    provenance = load_provenance(get_principal(request), authors, ())
    return {
        "body": "memory/entries/_snapshot.html",
        "at": moment,
        "rows": [
            EntryRow(
                entry,
                is_changed=entry.id in snapshot.changed,
                author=provenance.actors.get(entry.source.actor, ""),
            )
            for entry in entries
        ],
        "before_url": before and replace_query(request.GET, at=before.isoformat()),
        "after_url": after and replace_query(request.GET, at=after.isoformat()),
        "scan_limit": snapshot.scan_limit,
        "total": snapshot.page.total,
        "page": OffsetPage(snapshot.page.total, snapshot.page.offset, request.GET),
    }


BuildBody = Callable[[HttpRequest, Namespace, SearchForm], dict[str, Any]]

_BODY_BUILDERS: dict[ViewChoice, BuildBody] = {
    ViewChoice.LIST: _build_list_context,
    ViewChoice.TIERS: build_columns_context,
    ViewChoice.TIMELINE: build_timeline_context,
    ViewChoice.LINKS: build_links_context,
}

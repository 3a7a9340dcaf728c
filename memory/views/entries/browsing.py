"""Namespaces by scope, and what one of them holds. The same view serves page and fragment."""

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
from memory.views.entries.filters import actors_of, chips, view_tabs
from memory.views.entries.links import links_of
from memory.views.entries.overview import overview_of
from memory.views.entries.search_results import Parts, waits, why_found
from memory.views.entries.tier_columns import columns_of
from memory.views.entries.timeline import timeline_of
from memory.views.request_context import caller_of, may, title_of, undoable_change


@dataclass(frozen=True, slots=True)
class Asked:
    """An act over many that was tried; ``form`` says what else it needs."""

    form: BulkActionForm
    rehearsed: BulkPreview
    entries: tuple[str, ...]  # as they were chosen; none: everything that matches


@dataclass(frozen=True, slots=True)
class RowShown:
    """``percent`` and ``parts`` explain why it was found; ``changed``: it is something else by now."""

    entry: MemoryEntry
    waits: bool
    percent: int | None
    parts: Parts
    changed: bool


@dataclass(frozen=True, slots=True)
class Aside:
    """What came of an act, beside what is there now."""

    undoable: Change | None = None
    asked: Asked | None = None
    fault: str = ""


@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Namespaces by scope, with counts, bytes and how full they are; and what is newest."""
    return render(request, "memory/overview.html", overview_of(request))


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    undoable = undoable_change(request, request.GET.get("undo", ""))
    return show_namespace(request, row, Aside(undoable))


def show_namespace(
    request: HttpRequest, row: Namespace, aside: Aside = Aside(), *, status: int = 200
) -> HttpResponse:
    search = SearchForm(request.GET)
    actors = actors_of(request, row)
    external = find_external_provider(row.team_id, parse_namespace(row.text), NO_LIMITS)
    narrowed_to = chips(request, search, actors)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "search": search,
        "actors": actors,
        "chips": narrowed_to,
        "ignored": list_form_errors(request.GET, search),
        "is_narrowed": any(chip.name != "q" for chip in narrowed_to),
        "views": view_tabs(request, search),
        "query": replace_query_suffix(request.GET),
        "plain_query": replace_query_suffix(request.GET, at=""),
        "categories": selectors.list_categories(row),
        "tiers": TierChoice.choices,
        "sorts": SortChoice.choices,
        "acts": BulkActionChoice.choices,
        "keeping": load_retention(row),
        "undoable": aside.undoable,
        "asked": aside.asked,
        "fault": aside.fault,
        "elsewhere": external.name if external else "",
        "may_forget": external is None and may(request, "forget", row),
        "may_write": external is None and may(request, "write", row),
        "now": timezone.now(),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
        **_BODIES[search.selected_view](request, row, search),
    }
    fragment = getattr(request, "htmx", False)
    template = "memory/entries/_entries.html" if fragment else "memory/entries/namespace.html"
    return render(request, template, context, status=status)


def _list(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    at = search.at_moment
    if at is not None:
        return _as_it_stood(request, row, search)
    page = search_entries(
        caller_of(request),
        namespace=row.text,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_table.html",
        "rows": [_row(one) for one in page.entries],
        "scored": any(one.score is not None for one in page.entries),
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
    }


def _as_it_stood(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    at = search.at_moment or timezone.now()
    past = search_snapshot(
        caller_of(request),
        namespace=row.text,
        at=at,
        search=search.build_search(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/entries/_snapshot.html",
        "at": at,
        "rows": [_row(one, past.changed) for one in past.page.entries],
        "before_url": past.before and replace_query(request.GET, at=past.before.isoformat()),
        "after_url": past.after and replace_query(request.GET, at=past.after.isoformat()),
        "most_looked_through": past.scan_limit,
        "total": past.page.total,
        "page": OffsetPage(past.page.total, past.page.offset, request.GET),
    }


def _row(entry: MemoryEntry, changed: frozenset[str] = frozenset()) -> RowShown:
    percent, parts = why_found(entry)
    return RowShown(entry, waits(entry), percent, parts, entry.id in changed)


Body = Callable[[HttpRequest, Namespace, SearchForm], dict[str, Any]]

_BODIES: dict[ViewChoice, Body] = {
    ViewChoice.LIST: _list,
    ViewChoice.TIERS: columns_of,
    ViewChoice.TIMELINE: timeline_of,
    ViewChoice.LINKS: links_of,
}

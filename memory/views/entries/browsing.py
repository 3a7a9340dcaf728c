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

from accounts.principals import current_team_id, principal_of
from accounts.views.ignored import ignored
from memory import selectors
from memory.core.policy import NO_LIMITS
from memory.core.records import MemoryEntry
from memory.core.scopes import parse_namespace
from memory.forms_browsing import ActChoice, ActForm, SearchForm, SortChoice, ViewChoice
from memory.models import Change, Namespace
from memory.models.entries import TierChoice
from memory.places import elsewhere
from memory.services.bulk import Rehearsed
from memory.services.keeping import keeping
from memory.services.seeking import seek
from memory.services.standing import stood
from memory.views.asking import caller_of, may, title_of, undoable_change
from memory.views.columns import columns_of
from memory.views.filters import actors_of, chips, view_tabs
from memory.views.found import Parts, waits, why_found
from memory.views.links import links_of
from memory.views.overview import overview_of
from memory.views.paging import PAGE_SIZE, OffsetPage, kept_query, with_query
from memory.views.timeline import timeline_of


@dataclass(frozen=True, slots=True)
class Asked:
    """An act over many that was tried; ``form`` says what else it needs."""

    form: ActForm
    rehearsed: Rehearsed
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
    return render(request, "memory/list.html", overview_of(request))


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    undoable = undoable_change(request, request.GET.get("undo", ""))
    return show_namespace(request, row, Aside(undoable))


def show_namespace(
    request: HttpRequest, row: Namespace, aside: Aside = Aside(), *, status: int = 200
) -> HttpResponse:
    search = SearchForm(request.GET)
    actors = actors_of(request, row)
    kept = elsewhere(row.team_id, parse_namespace(row.text), NO_LIMITS)
    narrowed_to = chips(request, search, actors)
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "search": search,
        "actors": actors,
        "chips": narrowed_to,
        "ignored": ignored(request.GET, search),
        "is_narrowed": any(chip.name != "q" for chip in narrowed_to),
        "views": view_tabs(request, search),
        "query": kept_query(request.GET),
        "plain_query": kept_query(request.GET, at=""),
        "categories": selectors.categories_in(row),
        "tiers": TierChoice.choices,
        "sorts": SortChoice.choices,
        "acts": ActChoice.choices,
        "keeping": keeping(row),
        "undoable": aside.undoable,
        "asked": aside.asked,
        "fault": aside.fault,
        "elsewhere": kept.name if kept else "",
        "may_forget": kept is None and may(request, "forget", row),
        "may_write": kept is None and may(request, "write", row),
        "now": timezone.now(),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
        **_BODIES[search.shown](request, row, search),
    }
    fragment = getattr(request, "htmx", False)
    template = "memory/_entries.html" if fragment else "memory/namespace.html"
    return render(request, template, context, status=status)


def _list(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    at = search.at_moment
    if at is not None:
        return _as_it_stood(request, row, search)
    page = seek(
        caller_of(request),
        namespace=row.text,
        sought=search.sought(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/_list.html",
        "rows": [_row(one) for one in page.entries],
        "scored": any(one.score is not None for one in page.entries),
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
    }


def _as_it_stood(request: HttpRequest, row: Namespace, search: SearchForm) -> dict[str, Any]:
    at = search.at_moment or timezone.now()
    past = stood(
        caller_of(request),
        namespace=row.text,
        at=at,
        sought=search.sought(),
        limit=PAGE_SIZE,
        offset=search.start,
    )
    return {
        "body": "memory/_past.html",
        "at": at,
        "rows": [_row(one, past.changed) for one in past.page.entries],
        "before_url": past.before and with_query(request.GET, at=past.before.isoformat()),
        "after_url": past.after and with_query(request.GET, at=past.after.isoformat()),
        "most_looked_through": past.most,
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

"""Namespaces by scope, and what one of them holds. The same view serves page and fragment."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.principals import current_team_id, principal_of
from memory import naming, selectors, services
from memory.forms import SearchForm
from memory.models import Change, Entry, Namespace
from memory.models.entries import TierChoice
from memory.models.namespaces import ScopeChoice
from memory.views.asking import caller_of, may, title_of, undoable_change
from memory.views.paging import PAGE_SIZE, OffsetPage


@login_required
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Namespaces by scope, with counts and bytes."""
    principal = principal_of(request)
    found = selectors.namespaces_for(principal, current_team_id(request))
    everything = naming.named(found, reader_id=principal.user_id)
    words = sorted({row.scope for row in found}, key=_place_of_scope)
    groups = [
        {
            "label": next(
                one.row for one in everything if one.row.scope == word
            ).get_scope_display(),
            "hint": SCOPE_HINTS.get(word, ""),
            "rows": sorted(
                (one for one in everything if one.row.scope == word), key=lambda one: not one.is_own
            ),
        }
        for word in words
    ]
    return render(
        request,
        "memory/list.html",
        {
            "groups": groups,
            "base_url": request.build_absolute_uri("/").rstrip("/"),
        },
    )


@login_required
@require_safe
def namespace(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    undoable = undoable_change(request, request.GET.get("undo", ""))
    return show_namespace(request, row, undoable)


def show_namespace(
    request: HttpRequest,
    row: Namespace,
    undoable: Change | None,
    *,
    asked: Sequence[Entry] = (),
) -> HttpResponse:
    """``asked`` are entries about to be forgotten, shown before it is done."""
    search = SearchForm(request.GET)
    chosen = search.chosen()
    page = services.entries(caller_of(request), namespace=row.text, limit=PAGE_SIZE, **chosen)
    context = {
        "namespace": row,
        "entries": page.entries,
        "total": page.total,
        "page": OffsetPage(page.total, page.offset, request.GET),
        "chosen": chosen,
        "search": search,
        "filtered": any(chosen[name] for name in ("text", "category", "tier", "filter")),
        "title": title_of(request, row),
        "asked": asked,
        "asked_bytes": sum(entry.size for entry in asked),
        "categories": selectors.categories_in(row),
        "tiers": TierChoice.choices,
        "undoable": undoable,
        "may_forget": may(request, "forget", row),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    fragment = getattr(request, "htmx", False)
    return render(request, "memory/_entries.html" if fragment else "memory/namespace.html", context)


SCOPE_HINTS: dict[str, Promise] = {
    ScopeChoice.USER: gettext_lazy(
        "What is remembered about a person, across their conversations."
    ),
    ScopeChoice.CONVERSATION: gettext_lazy("What belongs to one conversation."),
    ScopeChoice.GLOBAL: gettext_lazy("What an application knows, whoever asks."),
    ScopeChoice.WORKFLOW: gettext_lazy("What one workflow keeps for itself."),
    ScopeChoice.RUN: gettext_lazy("Notes of a run, cleared when it ends."),
}


_ORDER = (*SCOPE_HINTS,)


def _place_of_scope(word: str) -> tuple[int, str]:
    return (_ORDER.index(ScopeChoice(word)) if word in ScopeChoice.values else len(_ORDER), word)

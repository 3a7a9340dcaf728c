"""Everything of memory that somebody may look into: namespaces by scope, how full they are, and what is newest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import get_current_team_id, get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import OffsetPage, replace_query
from memory import naming, selectors
from memory.forms.browsing import OverviewForm
from memory.models import Entry, Namespace
from memory.models.entries import TierChoice
from memory.models.namespaces import ScopeChoice
from memory.naming import NamedNamespace
from memory.services.access.private_namespaces import count_hidden
from memory.services.entries.retention import Capacity, load_capacities
from memory.views.entries.search_results import found_of, waits
from memory.views.request_context import caller_of


PLACES = 50  # a page
NEWEST = 12
# Names are made of what other tables say, so a search by name has to name what it looks through.
MOST_NAMED = 5_000


@dataclass(frozen=True, slots=True)
class PlaceShown:
    named: NamedNamespace
    room: Capacity


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    hint: str | Promise
    places: Sequence[PlaceShown]


@dataclass(frozen=True, slots=True)
class ScopeShown:
    """A scope to choose; none: all of them together."""

    label: str | Promise
    namespaces: int
    entries: int
    size: int
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class NewestShown:
    entry: Entry
    title: str
    waits: bool


def overview_of(request: HttpRequest) -> dict[str, Any]:
    """The page's context."""
    form = OverviewForm(request.GET)
    words, start = form.get_value("q") or "", form.get_value("offset") or 0
    chosen = form.selected_scope or ""
    totals = selectors.list_scope_totals(get_principal(request), get_current_team_id(request))
    scopes = _scopes([one.scope for one in totals], chosen)
    if words:
        found = _named_like(request, words, scopes)
        total, places = len(found), found[start : start + PLACES]
    else:
        total = sum(one.namespaces for one in totals if one.scope in scopes)
        places = _page(request, scopes, start)
    return {
        "groups": _groups(request, places),
        "totals": _totals(request, totals, chosen),
        "words": words,
        "form": form,
        "ignored": list_form_errors(request.GET, form),
        "tiers": TierChoice.choices,
        **(found_of(request, form) if words else {}),
        "scope": chosen,
        "page": OffsetPage(total, start, request.GET, PLACES),
        "is_empty": not totals,
        "newest": _newest(request) if totals and not words else (),
        "hidden": count_hidden(caller_of(request)),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }


# In the order they are shown: what there are few of first, conversations near the end.
SCOPE_HINTS: dict[str, Promise] = {
    ScopeChoice.USER: _("Memories about a user, across conversations."),
    ScopeChoice.GLOBAL: _("Shared by everyone who uses an application."),
    ScopeChoice.WORKFLOW: _("Memory of a single workflow."),
    ScopeChoice.CONVERSATION: _("Memory of a single conversation."),
    ScopeChoice.RUN: _("Notes of a run, deleted when it ends."),
}


def _scopes(known: Sequence[str], chosen: str) -> list[str]:
    """In the order of the hints, then what plug-ins brought; or the chosen one alone."""
    order = [*SCOPE_HINTS]
    place = {word: at for at, word in enumerate(order)}
    ordered = sorted(known, key=lambda word: (place.get(word, len(order)), word))
    return [word for word in ordered if chosen in ("", word)]


def _page(request: HttpRequest, scopes: Sequence[str], start: int) -> list[NamedNamespace]:
    principal = get_principal(request)
    rows = selectors.list_namespace_page(
        principal, get_current_team_id(request), scopes=scopes, limit=PLACES, offset=start
    )
    return naming.name_namespaces(rows, reader_id=principal.user_id)


def _named_like(request: HttpRequest, words: str, scopes: Sequence[str]) -> list[NamedNamespace]:
    principal = get_principal(request)
    rows = selectors.list_namespace_page(
        principal, get_current_team_id(request), scopes=scopes, limit=MOST_NAMED, offset=0
    )
    wanted = words.casefold()
    return [
        one
        for one in naming.name_namespaces(rows, reader_id=principal.user_id)
        if wanted in one.title.casefold() or wanted in one.row.text.casefold()
    ]


def _groups(request: HttpRequest, places: Sequence[NamedNamespace]) -> list[Group]:
    room = load_capacities(get_current_team_id(request), [one.row for one in places])
    by_scope: dict[str, list[PlaceShown]] = {}
    for one in places:
        by_scope.setdefault(one.row.scope, []).append(PlaceShown(one, room[one.row.pk]))
    return [
        Group(_label(word, shown[0].named.row), SCOPE_HINTS.get(word, ""), shown)
        for word, shown in by_scope.items()
    ]


def _label(word: str, row: Namespace | None = None) -> str:
    return (row or Namespace(scope=word)).get_scope_display()


def _totals(
    request: HttpRequest, totals: Sequence[selectors.ScopeTotal], chosen: str
) -> list[ScopeShown]:
    by_scope = {one.scope: one for one in totals}
    shown = [
        ScopeShown(
            _label(word),
            by_scope[word].namespaces,
            by_scope[word].entries,
            by_scope[word].size,
            replace_query(request.GET, scope=word),
            is_chosen=word == chosen,
        )
        for word in _scopes([*by_scope], "")
    ]
    everything = ScopeShown(
        _("Everything"),
        sum(one.namespaces for one in totals),
        sum(one.entries for one in totals),
        sum(one.size for one in totals),
        replace_query(request.GET, scope=""),
        is_chosen=not chosen,
    )
    return [everything, *shown]


def _newest(request: HttpRequest) -> list[NewestShown]:
    principal = get_principal(request)
    entries = selectors.list_newest_entries(principal, get_current_team_id(request), NEWEST)
    rows = list({one.namespace_id: one.namespace for one in entries}.values())
    titles = {
        one.row.pk: one.title for one in naming.name_namespaces(rows, reader_id=principal.user_id)
    }
    return [NewestShown(one, titles[one.namespace_id], waits(one)) for one in entries]

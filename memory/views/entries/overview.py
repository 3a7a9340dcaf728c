"""The overview of the memory that the caller may see: namespaces by scope, quotas, newest entries."""

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
from memory.views.entries.search_results import build_search_context, is_waiting
from memory.views.request_context import build_caller


NAMESPACES_PER_PAGE = 50
MAX_NEWEST = 12
# Names come from other tables, so a search by name first has to load the names.
MAX_SEARCHED_NAMES = 5_000


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    namespace: NamedNamespace
    room: Capacity


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    hint: str | Promise
    namespaces: Sequence[NamespaceRow]


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope to select, or all scopes together."""

    label: str | Promise
    namespaces: int
    entries: int
    size: int
    url: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class NewestRow:
    entry: Entry
    title: str
    waits: bool


def build_overview_context(request: HttpRequest) -> dict[str, Any]:
    form = OverviewForm(request.GET)
    query, start = form.get_value("q") or "", form.get_value("offset") or 0
    selected_scope = form.selected_scope or ""
    totals = selectors.list_scope_totals(get_principal(request), get_current_team_id(request))
    scopes = _sort_scopes([scope_total.scope for scope_total in totals], selected_scope)
    if query:
        matches = _search_namespaces(request, query, scopes)
        total, namespaces = len(matches), matches[start : start + NAMESPACES_PER_PAGE]
    else:
        total = sum(scope_total.namespaces for scope_total in totals if scope_total.scope in scopes)
        namespaces = _list_namespaces(request, scopes, start)
    return {
        "groups": _group_namespaces(request, namespaces),
        "totals": _build_totals(request, totals, selected_scope),
        "query": query,
        "form": form,
        "ignored": list_form_errors(request.GET, form),
        "tiers": TierChoice.choices,
        **(build_search_context(request, form) if query else {}),
        "scope": selected_scope,
        "page": OffsetPage(total, start, request.GET, NAMESPACES_PER_PAGE),
        "is_empty": not totals,
        "newest": _list_newest(request) if totals and not query else (),
        "hidden": count_hidden(build_caller(request)),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }


# In display order: the least numerous first, conversations near the end.
SCOPE_HINTS: dict[str, Promise] = {
    ScopeChoice.USER: _("Memories about a user, across conversations."),
    ScopeChoice.GLOBAL: _("Shared by everyone who uses an application."),
    ScopeChoice.WORKFLOW: _("Memory of a single workflow."),
    ScopeChoice.CONVERSATION: _("Memory of a single conversation."),
    ScopeChoice.RUN: _("Notes of a run, deleted when it ends."),
}


def _sort_scopes(scopes: Sequence[str], selected_scope: str) -> list[str]:
    """Return the scopes in the order of the hints, then those of plug-ins; or only the selected one."""
    order = [*SCOPE_HINTS]
    ranks = {word: rank for rank, word in enumerate(order)}
    sorted_scopes = sorted(scopes, key=lambda word: (ranks.get(word, len(order)), word))
    return [word for word in sorted_scopes if selected_scope in ("", word)]


def _list_namespaces(
    request: HttpRequest, scopes: Sequence[str], start: int
) -> list[NamedNamespace]:
    principal = get_principal(request)
    rows = selectors.list_namespace_page(
        principal,
        get_current_team_id(request),
        scopes=scopes,
        limit=NAMESPACES_PER_PAGE,
        offset=start,
    )
    return naming.name_namespaces(rows, reader_id=principal.user_id)


def _search_namespaces(
    request: HttpRequest, query: str, scopes: Sequence[str]
) -> list[NamedNamespace]:
    principal = get_principal(request)
    rows = selectors.list_namespace_page(
        principal, get_current_team_id(request), scopes=scopes, limit=MAX_SEARCHED_NAMES, offset=0
    )
    text = query.casefold()
    return [
        item
        for item in naming.name_namespaces(rows, reader_id=principal.user_id)
        if text in item.title.casefold() or text in item.row.text.casefold()
    ]


def _group_namespaces(request: HttpRequest, namespaces: Sequence[NamedNamespace]) -> list[Group]:
    room = load_capacities(get_current_team_id(request), [item.row for item in namespaces])
    by_scope: dict[str, list[NamespaceRow]] = {}
    for item in namespaces:
        by_scope.setdefault(item.row.scope, []).append(NamespaceRow(item, room[item.row.pk]))
    return [
        Group(
            _get_label(word, namespace_rows[0].namespace.row),
            SCOPE_HINTS.get(word, ""),
            namespace_rows,
        )
        for word, namespace_rows in by_scope.items()
    ]


def _get_label(word: str, row: Namespace | None = None) -> str:
    return (row or Namespace(scope=word)).get_scope_display()


def _build_totals(
    request: HttpRequest, totals: Sequence[selectors.ScopeTotal], selected_scope: str
) -> list[ScopeRow]:
    by_scope = {scope_total.scope: scope_total for scope_total in totals}
    scope_rows = [
        ScopeRow(
            _get_label(word),
            by_scope[word].namespaces,
            by_scope[word].entries,
            by_scope[word].size,
            replace_query(request.GET, scope=word),
            is_selected=word == selected_scope,
        )
        for word in _sort_scopes([*by_scope], "")
    ]
    all_scopes = ScopeRow(
        _("Everything"),
        sum(scope_total.namespaces for scope_total in totals),
        sum(scope_total.entries for scope_total in totals),
        sum(scope_total.size for scope_total in totals),
        replace_query(request.GET, scope=""),
        is_selected=not selected_scope,
    )
    return [all_scopes, *scope_rows]


def _list_newest(request: HttpRequest) -> list[NewestRow]:
    principal = get_principal(request)
    entries = selectors.list_newest_entries(principal, get_current_team_id(request), MAX_NEWEST)
    rows = list({item.namespace_id: item.namespace for item in entries}.values())
    titles = {
        item.row.pk: item.title
        for item in naming.name_namespaces(rows, reader_id=principal.user_id)
    }
    return [NewestRow(item, titles[item.namespace_id], is_waiting(item)) for item in entries]

"""The memory that the caller may see: its entries, newest first or by a query, and its namespaces by scope."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.principals import get_current_team_id, get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import OffsetPage, replace_query
from memory import selectors
from memory.core.folding import contains_folded
from memory.forms.browsing import OverviewForm
from memory.models import Entry, Namespace
from memory.models.entries import TierChoice
from memory.models.namespaces import ScopeChoice
from memory.naming import NamedNamespace
from memory.routing import list_external_scopes
from memory.selectors import ScopeTotal
from memory.services.access.private_namespaces import count_hidden
from memory.services.entries.external_usage import MAX_COUNTED, add_external_usage
from memory.services.entries.retention import Capacity, load_capacities
from memory.views.entries.search_results import build_search_context, is_waiting
from memory.views.request_context import build_caller, load_titles, name_namespaces


NAMESPACES_PER_PAGE = 50
MAX_NEWEST = 50
# Names come from other tables, so a search by name first has to load the names.
MAX_SEARCHED_NAMES = 5_000

# In display order: the least numerous first, conversations near the end.
SCOPE_HINTS: dict[str, Promise] = {
    ScopeChoice.USER: _("One memory per user, shared by all workflows of the team."),
    ScopeChoice.GLOBAL: _("Shared by everyone who uses an application."),
    ScopeChoice.WORKFLOW: _("Memory of a single workflow."),
    ScopeChoice.CONVERSATION: _("Memory of a single conversation."),
    ScopeChoice.RUN: _("Notes of a run, deleted when it ends."),
}


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    namespace: NamedNamespace
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    hint: str | Promise
    namespaces: Sequence[NamespaceRow]


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope to select, or all scopes together."""

    label: str | Promise
    total: ScopeTotal
    url: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class NewestRow:
    entry: Entry
    title: str
    is_waiting: bool


def build_memories_context(request: HttpRequest) -> dict[str, Any]:
    """Build the context of the newest memories, or of the memories and namespaces that match a query."""
    form = OverviewForm(request.GET)
    query, selected_scope = form.get_text("q"), form.get_text("scope")
    totals, uncounted = _list_totals(request)
    scopes = [total.scope for total in totals]
    context = _build_context(request, form, totals) | {
        "query": query,
        "tiers": TierChoice.choices,
        "scopes": _build_totals(request, totals, selected_scope)[1:],
        "scope_hint": SCOPE_HINTS.get(selected_scope, ""),
        "uncounted": uncounted,
    }
    if not query:
        newest = _list_newest(request, form) if totals else []
        categories = sorted({row.entry.category for row in newest})
        return context | {
            "newest": newest,
            "categories": categories,
            "hides_tier": len({row.entry.tier for row in newest}) == 1,
        }
    matches = _search_namespaces(request, query, _sort_scopes(scopes, selected_scope))
    page = OffsetPage(len(matches), form.start, request.GET, NAMESPACES_PER_PAGE)
    visible_matches = matches[form.start : form.start + NAMESPACES_PER_PAGE]
    results = {"groups": _group_namespaces(request, visible_matches), "page": page}
    return context | results | build_search_context(request, form)


def build_namespaces_context(request: HttpRequest) -> dict[str, Any]:
    """Build the context of the namespaces by scope, with their numbers, sizes and quotas."""
    form = OverviewForm(request.GET)
    selected_scope, start = form.get_text("scope"), form.start
    totals, uncounted = _list_totals(request)
    scopes = _sort_scopes([total.scope for total in totals], selected_scope)
    count = sum(total.namespaces for total in totals if total.scope in scopes)
    namespaces = _list_namespaces(request, scopes, NAMESPACES_PER_PAGE, start)
    return _build_context(request, form, totals) | {
        "groups": _group_namespaces(request, namespaces),
        "totals": _build_totals(request, totals, selected_scope),
        "uncounted": uncounted,
        "page": OffsetPage(count, start, request.GET, NAMESPACES_PER_PAGE),
    }


def _build_context(
    request: HttpRequest, form: OverviewForm, totals: Sequence[ScopeTotal]
) -> dict[str, Any]:
    return {
        "form": form,
        "ignored": list_form_errors(request.GET, form),
        **{name: form.get_text(name) for name in ("scope", "tier", "category")},
        "is_empty": not totals,
        "hidden": count_hidden(build_caller(request)),
    }


def _list_totals(request: HttpRequest) -> tuple[Sequence[ScopeTotal], str]:
    """Return the totals by scope, and which entries of other providers they leave out."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    totals = selectors.list_scope_totals(principal, team_id)
    external = list_external_scopes(team_id).intersection(total.scope for total in totals)
    if not external:
        return totals, ""
    rows = selectors.list_namespace_page(
        principal, team_id, scopes=sorted(external), limit=MAX_COUNTED + 1, offset=0
    )
    problem = add_external_usage(rows[:MAX_COUNTED])
    if not problem and len(rows) > MAX_COUNTED:
        message = gettext("Only %(number)d namespaces of other providers are counted.")
        problem = message % {"number": MAX_COUNTED}
    totals = [_count_rows(total, rows) if total.scope in external else total for total in totals]
    return totals, problem


def _count_rows(total: ScopeTotal, rows: Sequence[Namespace]) -> ScopeTotal:
    """Return the total with the entries and bytes of the rows of its scope."""
    rows = [row for row in rows if row.scope == total.scope]
    entries, size = sum(row.entry_count for row in rows), sum(row.byte_count for row in rows)
    return replace(total, entries=entries, size=size)


def _sort_scopes(scopes: Sequence[str], selected_scope: str) -> list[str]:
    """Return the scopes in display order, those of plug-ins last, or only the selected scope."""
    ranks = {scope: rank for rank, scope in enumerate(SCOPE_HINTS)}
    sorted_scopes = sorted(scopes, key=lambda scope: (ranks.get(scope, len(ranks)), scope))
    return [scope for scope in sorted_scopes if selected_scope in ("", scope)]


def _list_namespaces(
    request: HttpRequest, scopes: Sequence[str], limit: int, offset: int = 0
) -> list[NamedNamespace]:
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = selectors.list_namespace_page(
        principal, team_id, scopes=scopes, limit=limit, offset=offset
    )
    return name_namespaces(request, rows)


def _search_namespaces(
    request: HttpRequest, query: str, scopes: Sequence[str]
) -> list[NamedNamespace]:
    return [
        item
        for item in _list_namespaces(request, scopes, MAX_SEARCHED_NAMES)
        if contains_folded(item.title, query) or contains_folded(item.row.text, query)
    ]


def _group_namespaces(request: HttpRequest, namespaces: Sequence[NamedNamespace]) -> list[Group]:
    add_external_usage(item.row for item in namespaces)
    capacities = load_capacities(get_current_team_id(request), [item.row for item in namespaces])
    by_scope: dict[str, list[NamespaceRow]] = {}
    for item in namespaces:
        by_scope.setdefault(item.row.scope, []).append(NamespaceRow(item, capacities[item.row.pk]))
    return [
        Group(_get_label(scope), SCOPE_HINTS.get(scope, ""), rows)
        for scope, rows in by_scope.items()
    ]


def _get_label(scope: str) -> str:
    return Namespace(scope=scope).get_scope_display()


def _build_totals(
    request: HttpRequest, totals: Sequence[ScopeTotal], selected_scope: str
) -> list[ScopeRow]:
    by_scope = {total.scope: total for total in totals}
    overall = ScopeTotal(
        "",
        sum(total.namespaces for total in totals),
        sum(total.entries for total in totals),
        sum(total.size for total in totals),
    )
    rows: list[tuple[str | Promise, ScopeTotal]] = [(_("Everything"), overall)]
    rows += [(_get_label(scope), by_scope[scope]) for scope in _sort_scopes([*by_scope], "")]
    return [
        ScopeRow(
            label,
            total,
            replace_query(request.GET, scope=total.scope),
            is_selected=total.scope == selected_scope,
        )
        for label, total in rows
    ]


def _list_newest(request: HttpRequest, form: OverviewForm) -> list[NewestRow]:
    entries = selectors.list_newest_entries(
        get_principal(request),
        get_current_team_id(request),
        MAX_NEWEST,
        **{name: form.get_text(name) for name in ("scope", "tier", "category")},
    )
    titles = load_titles(request, [entry.namespace for entry in entries])
    return [NewestRow(row, titles[row.namespace.text], is_waiting(row)) for row in entries]

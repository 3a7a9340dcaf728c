"""Helpers of the memory pages: the caller of a request, its objects with their titles, permissions, and rendering."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.principals import get_current_team_id, get_principal
from memory import naming, permissions, selectors
from memory.core.errors import MemoryFault
from memory.core.scopes import resolve_namespace
from memory.models import Change, Entry, Namespace
from memory.naming import NamedNamespace
from memory.permissions import AccessFacts, Verb
from memory.services import MemoryCaller


_FACTS: Final = "_namespace_facts"  # the attribute of a request


def build_caller(request: HttpRequest) -> MemoryCaller:
    return MemoryCaller(principal=get_principal(request), team_id=get_current_team_id(request))


def find_namespace(request: HttpRequest, namespace_id: UUID) -> Namespace:
    return selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )


def find_entry(request: HttpRequest, entry_id: UUID) -> Entry:
    return selectors.find_entry(get_principal(request), get_current_team_id(request), entry_id)


def find_undoable_change(request: HttpRequest, change_id: str | None = None) -> Change | None:
    """Return the change with this id, or with the one in the query's ``undo``.

    Return None if the id is missing or invalid, or if the change is not visible or already undone.
    """
    team_id, id_text = get_current_team_id(request), change_id or request.GET.get("undo", "")
    try:
        change = selectors.find_change(get_principal(request), team_id, UUID(id_text))
    except (ValueError, MemoryFault):
        return None
    return change if change.undone_at is None else None


def name_namespaces(request: HttpRequest, rows: Iterable[Namespace]) -> list[NamedNamespace]:
    """Return the namespaces with their titles for the reader, in the same order."""
    return naming.name_namespaces(list(rows), reader_id=get_principal(request).user_id)


def load_titles(request: HttpRequest, rows: Iterable[Namespace]) -> dict[str, str]:
    """Return the titles by the namespaces' texts; a namespace may occur several times."""
    distinct = {row.text: row for row in rows}.values()
    return {namespace.row.text: namespace.title for namespace in name_namespaces(request, distinct)}


def get_title(request: HttpRequest, row: Namespace) -> str:
    return name_namespaces(request, [row])[0].title


def name_applications(request: HttpRequest, app_ids: Iterable[str]) -> list[str]:
    """Return the titles of the applications in the same order: the titles of their global memories, even of empty ones."""
    team_id = get_current_team_id(request)
    rows = [
        Namespace(
            team_id=team_id, scope="global", text=resolve_namespace("global", {"app_id": id_})
        )
        for id_ in app_ids
    ]
    return [namespace.title for namespace in naming.name_namespaces(rows, reader_id=None)]


def build_application_url(url_name: str, app_id: str) -> str:
    """Return the URL of the settings of an application, or of the team for an empty id."""
    return reverse(url_name) + (f"?{urlencode({'app': app_id})}" if app_id else "")


def is_allowed(request: HttpRequest, verb: Verb, row: Namespace) -> bool:
    facts = _get_facts(request, row)
    return permissions.is_allowed(get_principal(request), verb, facts.target, facts)


def _get_facts(request: HttpRequest, row: Namespace) -> AccessFacts:
    """Return the facts about a namespace, which are read once for all questions of a page about the row."""
    facts: AccessFacts | None = getattr(request, _FACTS, None)
    if facts is None or facts.target.row is not row:
        facts = AccessFacts(permissions.build_target(row))
        setattr(request, _FACTS, facts)
    return facts


def read_reason(request: HttpRequest) -> str:
    return request.POST.get("reason", "")[:500]


def render_page_or_fragment(
    request: HttpRequest,
    page: str,
    fragment: str,
    context: Mapping[str, Any],  # Any: what a template takes
    status: int = 200,
) -> HttpResponse:
    """Render the fragment for HTMX, and the whole page for any other request."""
    template = fragment if getattr(request, "htmx", False) else page
    return render(request, template, context, status=status)

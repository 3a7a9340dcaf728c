"""Template tags for notices about emergency access to the reader's memory, and about the reader's own accesses."""

from typing import Any
from uuid import UUID

from django import template
from django.http import HttpRequest

from accounts.principals import get_current_team_id, get_principal
from memory import naming
from memory.models import EmergencyAccess, Namespace
from memory.permissions import find_sole_emergency_access
from memory.services.access.emergency_access import list_current_accesses


register = template.Library()

Context = dict[str, Any]  # Any: Django's own

CURRENT_ACCESSES = "_emergency_accesses"  # attributes of a request that cache loaded rows
SOLE_ACCESSES = "_needs_emergency_access"
NOTICE_SHOWN = "_emergency_access_shown"  # the page shows its emergency accesses itself


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_notice(context: Context) -> Context:
    """Show the current accesses to the person's memory that they haven't acknowledged, and their own accesses."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"notices": []}
    setattr(request, NOTICE_SHOWN, True)
    user_id = get_principal(request).user_id
    rows = load_current_accesses(request)
    rows = [row for row in rows if row.by_id == user_id or user_id not in row.seen_by]
    return _build_context(context, rows, next=_get_return_url(request))


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_unseen(context: Context) -> Context:
    """Show the accesses to the person's memory that they haven't acknowledged."""
    request = context["request"]
    return _build_context(context, list_unseen_accesses(request), next=_get_return_url(request))


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_here(context: Context, row: Namespace) -> Context:
    """Show reason and end of the emergency access if it alone lets the person see the page."""
    access = _find_sole_access(context["request"], row)
    return _build_context(context, [access] if access else [], is_here=True)


@register.simple_tag(takes_context=True)
def needs_emergency_access(context: Context, row: Namespace) -> bool:
    """Return whether only emergency access lets the person see the namespace; it can't be exported then."""
    return _find_sole_access(context["request"], row) is not None


def list_unseen_accesses(request: HttpRequest) -> list[EmergencyAccess]:
    user_id, rows = get_principal(request).user_id, load_current_accesses(request)
    return [row for row in rows if row.by_id != user_id and user_id not in row.seen_by]


def load_current_accesses(request: HttpRequest) -> list[EmergencyAccess]:
    """Load the current accesses once per request."""
    rows: list[EmergencyAccess] | None = getattr(request, CURRENT_ACCESSES, None)
    if rows is None:
        rows = list_current_accesses(get_principal(request), get_current_team_id(request))
        setattr(request, CURRENT_ACCESSES, rows)
    return rows


def _find_sole_access(request: HttpRequest, row: Namespace) -> EmergencyAccess | None:
    """Find the access that alone lets the person see the namespace, once per request and namespace."""
    cache: dict[UUID, EmergencyAccess | None] = request.__dict__.setdefault(SOLE_ACCESSES, {})
    if row.pk not in cache:
        cache[row.pk] = find_sole_emergency_access(get_principal(request), row)
        if (access := cache[row.pk]) is not None:
            access.namespace = row
    return cache[row.pk]


def _build_context(context: Context, rows: list[EmergencyAccess], **extra_context: Any) -> Context:
    """Return the context of the notices; forms in them need the request and its token."""
    user_id = get_principal(context["request"]).user_id
    names = naming.name_namespaces([row.namespace for row in rows], reader_id=user_id)
    notices = [
        {
            "emergency_access": row,
            "title": name.title,
            "is_mine": row.by_id == user_id,
            "is_own": name.is_own,
        }
        for row, name in zip(rows, names, strict=True)
    ]
    token = context.get("csrf_token")
    return {"notices": notices, "request": context["request"], "csrf_token": token, **extra_context}


def _get_return_url(request: HttpRequest) -> str:
    """Return the URL of the page that shows the notice, or an empty string for the response to a form."""
    htmx = getattr(request, "htmx", None)
    if htmx:
        return htmx.current_url_abs_path or ""
    return request.get_full_path() if request.method == "GET" else ""

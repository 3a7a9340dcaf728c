"""Notices about emergency access on top of pages: the accesses to one's own memory, and one's own accesses."""

from typing import Any
from uuid import UUID

from django import template
from django.http import HttpRequest

from accounts.principals import get_current_team_id, get_principal
from memory import naming
from memory.models import EmergencyAccess, Namespace
from memory.permissions import find_sole_emergency_access
from memory.services.access.emergency_access import list_current


register = template.Library()

CURRENT_ACCESSES = "_emergency_accesses"  # attributes of a request that cache loaded rows
SOLE_ACCESSES = "_needs_emergency_access"
NOTICE_SHOWN = "_emergency_access_shown"  # the page shows its emergency accesses itself


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_notice(context: dict[str, Any]) -> dict[str, Any]:  # Any: Django's own
    """Show the accesses that the person hasn't acknowledged, and their own current ones."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"notices": []}
    setattr(request, NOTICE_SHOWN, True)
    user_id = get_principal(request).user_id
    emergency_accesses = [
        access
        for access in load_current_accesses(request)
        if access.by_id == user_id or user_id not in access.seen_by
    ]
    return {
        "notices": _build_notices(request, emergency_accesses),
        "next": _get_return_url(request),
        **_copy_form_context(context),
    }


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_unseen(context: dict[str, Any]) -> dict[str, Any]:  # Any: as above
    request = context["request"]
    return {
        "notices": _build_notices(request, list_unseen_accesses(request)),
        "next": _get_return_url(request),
        **_copy_form_context(context),
    }


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_here(
    context: dict[str, Any], row: Namespace
) -> dict[str, Any]:  # Any: as above
    """Show reason and end of the emergency access if it alone lets the person see the page."""
    request = context["request"]
    emergency_access = _find_sole_access(request, row)
    notices = _build_notices(request, [emergency_access] if emergency_access else [])
    return {"notices": notices, "is_here": True, **_copy_form_context(context)}


@register.simple_tag(takes_context=True)
def needs_emergency_access(context: dict[str, Any], row: Namespace) -> bool:  # Any: as above
    """Return whether only emergency access lets the person see the namespace; it can't be exported then."""
    return _find_sole_access(context["request"], row) is not None


def list_unseen_accesses(request: HttpRequest) -> list[EmergencyAccess]:
    user_id = get_principal(request).user_id
    return [
        access
        for access in load_current_accesses(request)
        if access.by_id != user_id and user_id not in access.seen_by
    ]


def load_current_accesses(request: HttpRequest) -> list[EmergencyAccess]:
    """Load the current accesses once per request."""
    emergency_accesses: list[EmergencyAccess] | None = getattr(request, CURRENT_ACCESSES, None)
    if emergency_accesses is None:
        emergency_accesses = list_current(get_principal(request), get_current_team_id(request))
        setattr(request, CURRENT_ACCESSES, emergency_accesses)
    return emergency_accesses


def _find_sole_access(request: HttpRequest, row: Namespace) -> EmergencyAccess | None:
    """Find the access that alone lets the person see the namespace, once per request and namespace."""
    emergency_accesses: dict[UUID, EmergencyAccess | None] = request.__dict__.setdefault(
        SOLE_ACCESSES, {}
    )
    if row.pk not in emergency_accesses:
        emergency_accesses[row.pk] = find_sole_emergency_access(get_principal(request), row)
        if (emergency_access := emergency_accesses[row.pk]) is not None:
            emergency_access.namespace = row
    return emergency_accesses[row.pk]


def _build_notices(
    request: HttpRequest, emergency_accesses: list[EmergencyAccess]
) -> list[dict[str, Any]]:  # Any: a template's
    principal = get_principal(request)
    namespaces = naming.name_namespaces(
        [access.namespace for access in emergency_accesses], reader_id=principal.user_id
    )
    return [
        {
            "emergency_access": access,
            "title": namespace.title,
            "is_mine": access.by_id == principal.user_id,
            "is_own": namespace.is_own,
        }
        for access, namespace in zip(emergency_accesses, namespaces, strict=True)
    ]


def _get_return_url(request: HttpRequest) -> str:
    """Return the URL of the page, also if it only fetched the notice, or nothing for the answer to a form."""
    htmx = getattr(request, "htmx", None)
    if htmx:
        return htmx.current_url_abs_path or ""
    return request.get_full_path() if request.method == "GET" else ""


def _copy_form_context(context: dict[str, Any]) -> dict[str, Any]:  # Any: as above
    return {"request": context["request"], "csrf_token": context.get("csrf_token")}

"""Emergency access on top of pages: who looks into yours, and into whose you look."""

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

ASKED = "_emergency_accesses"  # on a request: what was found for it already
ALONE = "_needs_emergency_access"
NOTICE_SHOWN = "_emergency_access_shown"  # its page tells of emergency access itself


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_notice(context: dict[str, Any]) -> dict[str, Any]:  # Any: Django's own
    """What they haven't said they saw, and their own that is open."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"told": []}
    setattr(request, NOTICE_SHOWN, True)
    who = get_principal(request).user_id
    found = [
        one for one in load_current_accesses(request) if one.by_id == who or who not in one.seen_by
    ]
    return {"told": _told(request, found), "next": _here(request), **_kept(context)}


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_unseen(context: dict[str, Any]) -> dict[str, Any]:  # Any: as above
    request = context["request"]
    return {"told": _told(request, unseen_by(request)), "next": _here(request), **_kept(context)}


@register.inclusion_tag("memory/access/_emergency_access_notice.html", takes_context=True)
def emergency_access_here(
    context: dict[str, Any], row: Namespace
) -> dict[str, Any]:  # Any: as above
    """On what is seen by emergency access alone: that it is, why, and until when."""
    request = context["request"]
    emergency_access = _alone(request, row)
    told = _told(request, [emergency_access] if emergency_access else [])
    return {"told": told, "is_here": True, **_kept(context)}


@register.simple_tag(takes_context=True)
def needs_emergency_access(context: dict[str, Any], row: Namespace) -> bool:  # Any: as above
    """Whether nothing but emergency access lets them see it: then there is nothing to take out as a file."""
    return _alone(context["request"], row) is not None


def unseen_by(request: HttpRequest) -> list[EmergencyAccess]:
    who = get_principal(request).user_id
    return [
        one for one in load_current_accesses(request) if one.by_id != who and who not in one.seen_by
    ]


def load_current_accesses(request: HttpRequest) -> list[EmergencyAccess]:
    """Asked once a request, however many parts of its page tell of it."""
    known: list[EmergencyAccess] | None = getattr(request, ASKED, None)
    if known is None:
        known = list_current(get_principal(request), get_current_team_id(request))
        setattr(request, ASKED, known)
    return known


def _alone(request: HttpRequest, row: Namespace) -> EmergencyAccess | None:
    """Asked once a request and place, however many parts of its page want to know."""
    known: dict[UUID, EmergencyAccess | None] = request.__dict__.setdefault(ALONE, {})
    if row.pk not in known:
        known[row.pk] = find_sole_emergency_access(get_principal(request), row)
        if (emergency_access := known[row.pk]) is not None:
            emergency_access.namespace = row
    return known[row.pk]


def _told(
    request: HttpRequest, found: list[EmergencyAccess]
) -> list[dict[str, Any]]:  # Any: a template's
    principal = get_principal(request)
    titles = naming.name_namespaces([one.namespace for one in found], reader_id=principal.user_id)
    return [
        {
            "emergency_access": one,
            "title": named.title,
            "is_mine": one.by_id == principal.user_id,
            "is_own": named.is_own,
        }
        for one, named in zip(found, titles, strict=True)
    ]


def _here(request: HttpRequest) -> str:
    """The page they are on, as well where it only fetched the notice; never where a form was sent."""
    htmx = getattr(request, "htmx", None)
    if htmx:
        return htmx.current_url_abs_path or ""
    return request.get_full_path() if request.method == "GET" else ""


def _kept(context: dict[str, Any]) -> dict[str, Any]:  # Any: as above
    return {"request": context["request"], "csrf_token": context.get("csrf_token")}

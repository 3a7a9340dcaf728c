"""Limits of memory: the team's and those of single applications, how full it is, and what may be changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts import access
from accounts.principals import get_current_team_id, get_principal
from memory import naming
from memory.core.errors import InvalidInput
from memory.models import Namespace
from memory.services.access import quotas as services
from memory.services.access.quotas import Application, Limits
from memory.views.request_context import caller_of


# As the page calls what the API calls by its name.
LABELS: Final[dict[str, str | Promise]] = {
    "max_entries": gettext_lazy("Max entries per namespace"),
    "max_namespace_bytes": gettext_lazy("Max bytes per namespace"),
    "max_value_bytes": gettext_lazy("Max bytes per value"),
    "max_namespaces": gettext_lazy("Max namespaces"),
    "allowed_prefixes": gettext_lazy("Allowed prefixes"),
    "app": gettext_lazy("Application"),
}
TEAM_NUMBERS: Final = ("max_entries", "max_namespace_bytes", "max_value_bytes", "max_namespaces")
APP_NUMBERS: Final = TEAM_NUMBERS[:-1]  # namespaces are counted for the whole team
BYTES: Final = ("max_namespace_bytes", "max_value_bytes")


@dataclass(frozen=True, slots=True)
class Box:
    """A number to type: ``otherwise`` is what holds when it is empty, ``in_words`` how much that many bytes are."""

    name: str
    label: str
    typed: str
    otherwise: int
    in_words: str


@dataclass(frozen=True, slots=True)
class Listed:
    """An application in the list."""

    app_id: str
    title: str
    own: Limits | None
    is_open: bool


@login_required
@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest) -> HttpResponse:
    """``app`` of the address: an application's own limits; without one, the team's."""
    problem, app_id = "", request.GET.get("app", "").replace("\x00", "")[: services.LONGEST_APP]
    if request.method == "POST":
        try:
            if app_id and "follow" in request.POST:
                services.follow_team(caller_of(request), app_id=app_id)
            else:
                services.change_limits(caller_of(request), _typed(request, app_id), app_id=app_id)
        except InvalidInput as fault:
            problem = _in_words(str(fault))
        else:
            messages.success(request, _("Saved."))
            return HttpResponseRedirect(_address(app_id))
    return _page(request, app_id, problem)


def _page(request: HttpRequest, app_id: str, problem: str) -> HttpResponse:
    caller, principal = caller_of(request), get_principal(request)
    limits = services.limits_of(caller, app_id=app_id)
    team = services.limits_of(caller) if app_id else limits
    otherwise = services.in_force(team) if app_id else services.DEFAULTS
    may_change = access.can(principal, services.VERB, get_current_team_id(request))
    full = services.fullness(caller, team) if may_change and not app_id else None
    listed = _listed(request, services.applications(caller), app_id)
    has_own = any(one.is_open and one.own for one in listed)
    given = request.POST if problem else None
    in_force = services.in_force_for(caller, app_id=app_id) if app_id else services.in_force(team)
    context: dict[str, Any] = {  # Any: what a template takes
        "app_id": app_id,
        "title": next((one.title for one in listed if one.is_open), app_id),
        "has_own": has_own,
        "limits": limits,
        "boxes": [_box(name, limits, otherwise, given) for name in _numbers(app_id)],
        "in_force": in_force,
        "holding": [(str(LABELS[n]), _said(n, getattr(in_force, n))) for n in _numbers(app_id)],
        "prefixes": "\n".join(limits.allowed_prefixes or ()),
        "holding_prefixes": "\n".join(in_force.allowed_prefixes or ()),
        "full": full,
        "fullest": naming.name_namespaces(full.fullest, reader_id=principal.user_id)
        if full
        else (),
        "applications": listed,
        "may_change": may_change,
        "outside_people_may": in_force.subjects_write_global,
        "team_forbids": bool(app_id) and not team.subjects_write_global,
        "problem": problem,
        "given": given,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/access/quotas.html", context, status=422 if problem else 200)


def _listed(request: HttpRequest, found: Sequence[Application], app_id: str) -> list[Listed]:
    """Named as their shared memory is; the one the address names is there, whether known or not."""
    if app_id and all(one.app_id != app_id for one in found):
        found = [*found, Application(app_id, None)]
    team_id = get_current_team_id(request)
    rows = [Namespace(team_id=team_id, scope="global", text=f"global:{o.app_id}") for o in found]
    named = naming.name_namespaces(rows, reader_id=None) if rows else []
    return [
        Listed(one.app_id, name.title, one.own, one.app_id == app_id)
        for one, name in zip(found, named, strict=True)
    ]


def _box(name: str, own: Limits, otherwise: Limits, given: Any) -> Box:  # Any: what a form sent
    kept, most = getattr(own, name), getattr(otherwise, name)
    typed = given.get(name, "") if given else "" if kept is None else str(kept)
    now = filesizeformat(most if kept is None else kept) if name in BYTES else ""
    return Box(name, str(LABELS[name]), typed, most, now)


def _said(name: str, number: int) -> str:
    return filesizeformat(number) if name in BYTES else f"{number:,}"


def _numbers(app_id: str) -> Sequence[str]:
    return APP_NUMBERS if app_id else TEAM_NUMBERS


def _typed(request: HttpRequest, app_id: str) -> Limits:
    prefixes = tuple(request.POST.get("allowed_prefixes", "").split())
    numbers = {name: _number(request, name) for name in _numbers(app_id)}
    return Limits(
        allowed_prefixes=prefixes or None,
        subjects_write_global=_outside_people_may(request, app_id),
        **numbers,
    )


def _outside_people_may(request: HttpRequest, app_id: str) -> bool | None:
    """An application's box forbids or follows the team; where the team forbids there is no box, and all stays."""
    ticked = "subjects_write_global" in request.POST
    if not app_id:
        return ticked
    if ticked:
        return None
    caller = caller_of(request)
    if services.limits_of(caller).subjects_write_global:
        return False
    return services.limits_of(caller, app_id=app_id).subjects_write_global


def _in_words(problem: str) -> str:
    for name, label in LABELS.items():
        if problem.startswith(name):
            return f"{label}{problem.removeprefix(name)}"
    return problem


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidInput(_("%(name)s: must be a whole number, 0 or more.") % {"name": name})
    return int(text)


def _address(app_id: str) -> str:
    address = reverse("memory:policy")
    return f"{address}?{urlencode({'app': app_id})}" if app_id else address

"""The page of the limits of the team and of single applications, with their usage and the form to change them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.access import can
from memory.core.errors import InvalidInput
from memory.services.access import quotas as services
from memory.services.access.quotas import ApplicationLimits, Limits
from memory.views.request_context import (
    build_application_url,
    build_caller,
    name_applications,
    name_namespaces,
)


# The labels of the limits, by their names in the API.
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
BYTE_LIMITS: Final = ("max_namespace_bytes", "max_value_bytes")


@dataclass(frozen=True, slots=True)
class NumberField:
    """An input for a limit. ``default`` applies if it is empty; ``size`` is a number of bytes in readable form."""

    name: str
    label: str
    value: str
    default: int
    size: str


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    app_id: str
    title: str
    limits: Limits | None
    is_open: bool


@login_required
@require_http_methods(["GET", "POST"])
def show_policy(request: HttpRequest) -> HttpResponse:
    """Show and change the limits of the application in the query, or the team's without one."""
    caller, problem = build_caller(request), ""
    app_id = request.GET.get("app", "").replace("\x00", "")[: services.MAX_APP_LENGTH]
    if request.method == "POST":
        try:
            if app_id and "follow" in request.POST:
                services.remove_application_limits(caller, app_id=app_id)
            else:
                services.change_limits(caller, _read_limits(request, app_id), app_id=app_id)
        except InvalidInput as fault:
            problem = _translate_problem(str(fault))
        else:
            messages.success(request, _("Saved."))
            return redirect(build_application_url("memory:policy", app_id))
    return _render_page(request, app_id, problem)


def _render_page(request: HttpRequest, app_id: str, problem: str) -> HttpResponse:
    caller = build_caller(request)
    limits = services.get_limits(caller, app_id=app_id)
    team_limits = services.get_limits(caller) if app_id else limits
    defaults = services.apply_defaults(team_limits) if app_id else services.DEFAULTS
    may_change = can(caller.principal, services.CHANGE_VERB, caller.team_id)
    usage = services.measure_usage(caller, team_limits) if may_change and not app_id else None
    applications = _build_rows(request, services.list_applications(caller), app_id)
    current = next((application for application in applications if application.is_open), None)
    effective = services.apply_defaults(team_limits)
    if app_id:
        effective = services.get_effective_limits(caller, app_id=app_id)
    names, form = _list_number_names(app_id), request.POST if problem else None
    context: dict[str, Any] = {  # Any: what a template takes
        "app_id": app_id,
        "title": current.title if current else app_id,
        "has_own": bool(current and current.limits),
        "limits": limits,
        "fields": [_build_field(name, limits, defaults, form) for name in names],
        "effective_limits": [
            (str(LABELS[name]), _format_limit(name, getattr(effective, name))) for name in names
        ],
        "prefixes": "\n".join(limits.allowed_prefixes or ()),
        "effective_prefixes": "\n".join(effective.allowed_prefixes or ()),
        "usage": usage,
        "fullest": name_namespaces(request, usage.fullest) if usage else (),
        "applications": applications,
        "may_change": may_change,
        "external_users_may_write": effective.subjects_write_global,
        "team_forbids": bool(app_id) and not team_limits.subjects_write_global,
        "problem": problem,
        "form_data": form,
    }
    return render(request, "memory/access/quotas.html", context, status=422 if problem else 200)


def _build_rows(
    request: HttpRequest, applications: Sequence[ApplicationLimits], app_id: str
) -> list[ApplicationRow]:
    """Return the applications with their titles, also the one in the query if it is unknown."""
    if app_id and all(application.app_id != app_id for application in applications):
        applications = [*applications, ApplicationLimits(app_id, None)]
    titles = name_applications(request, [application.app_id for application in applications])
    return [
        ApplicationRow(application.app_id, title, application.limits, application.app_id == app_id)
        for application, title in zip(applications, titles, strict=True)
    ]


def _build_field(
    name: str, limits: Limits, defaults: Limits, form: Any
) -> NumberField:  # Any: what a form sent
    limit, default = getattr(limits, name), getattr(defaults, name)
    value = form.get(name, "") if form else "" if limit is None else str(limit)
    size = filesizeformat(default if limit is None else limit) if name in BYTE_LIMITS else ""
    return NumberField(name, str(LABELS[name]), value, default, size)


def _format_limit(name: str, number: int) -> str:
    return filesizeformat(number) if name in BYTE_LIMITS else f"{number:,}"


def _list_number_names(app_id: str) -> Sequence[str]:
    return APP_NUMBERS if app_id else TEAM_NUMBERS


def _read_limits(request: HttpRequest, app_id: str) -> Limits:
    return Limits(
        allowed_prefixes=tuple(request.POST.get("allowed_prefixes", "").split()) or None,
        subjects_write_global=_read_subjects_write_global(request, app_id),
        **{name: _read_number(request, name) for name in _list_number_names(app_id)},
    )


def _read_subjects_write_global(request: HttpRequest, app_id: str) -> bool | None:
    """Return the setting of the checkbox: an application forbids it or follows the team, which is None.

    If the team forbids it, there is no checkbox and the setting stays.
    """
    is_checked = "subjects_write_global" in request.POST
    if not app_id:
        return is_checked
    if is_checked:
        return None
    caller = build_caller(request)
    if services.get_limits(caller).subjects_write_global:
        return False
    return services.get_limits(caller, app_id=app_id).subjects_write_global


def _translate_problem(problem: str) -> str:
    """Replace the name of a limit at the start of the problem by its label."""
    for name, label in LABELS.items():
        if problem.startswith(name):
            return f"{label}{problem.removeprefix(name)}"
    return problem


def _read_number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InvalidInput(_("%(name)s: must be a whole number, 0 or more.") % {"name": name})
    return int(text)

"""Limits of the team's memory: how full it is, and what may be changed about it."""

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts import access
from accounts.principals import current_team_id, principal_of
from memory import naming
from memory.core.errors import InvalidInput
from memory.services import policy as services
from memory.services.policy import Limits
from memory.views.asking import caller_of


NUMBERS = ("max_entries", "max_value_bytes", "max_namespace_bytes", "max_namespaces")

# As the page calls what the API calls by its name.
LABELS: Final[dict[str, str | Promise]] = {
    "max_entries": gettext_lazy("Most entries a namespace"),
    "max_namespace_bytes": gettext_lazy("Most bytes a namespace"),
    "max_value_bytes": gettext_lazy("Most bytes a value"),
    "max_namespaces": gettext_lazy("Most namespaces"),
    "allowed_prefixes": gettext_lazy("Allowed beginnings of namespaces"),
}


@login_required
@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest) -> HttpResponse:
    problem = ""
    if request.method == "POST":
        try:
            services.change_limits(caller_of(request), _typed(request))
        except InvalidInput as fault:
            problem = _in_words(str(fault))
        else:
            messages.success(request, _("Saved."))
            return redirect("memory:policy")
    return _page(request, problem)


def _page(request: HttpRequest, problem: str) -> HttpResponse:
    caller, principal = caller_of(request), principal_of(request)
    limits = services.limits_of(caller)
    may_change = access.can(principal, services.VERB, current_team_id(request))
    full = services.fullness(caller, limits) if may_change else None
    context: dict[str, Any] = {  # Any: what a template takes
        "limits": limits,
        "in_force": services.in_force(limits),
        "defaults": services.DEFAULTS,
        "prefixes": "\n".join(limits.allowed_prefixes or ()),
        "full": full,
        "fullest": naming.named(full.fullest, reader_id=principal.user_id) if full else (),
        "may_change": may_change,
        "problem": problem,
        "given": request.POST if problem else None,
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/access_policy.html", context, status=422 if problem else 200)


def _typed(request: HttpRequest) -> Limits:
    prefixes = tuple(request.POST.get("allowed_prefixes", "").split())
    numbers = {name: _number(request, name) for name in NUMBERS}
    return Limits(
        allowed_prefixes=prefixes or None,
        subjects_write_global="subjects_write_global" in request.POST,
        **numbers,
    )


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
        raise InvalidInput(_("%(name)s: a whole number from 0.") % {"name": name})
    return int(text)

"""The page of limits: what the team may use per day, and what it has used."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.access import can
from accounts.models.limits import LIMITS
from accounts.principals import get_current_team_id, get_principal
from workflows.errors import InvalidValue
from workflows.services.budgets.limits import (
    RunLimits,
    get_installation_limits,
    set_team_limits,
)
from workflows.services.budgets.report import Budget, list_key_budgets, load_team_budget
from workflows.services.budgets.wording import LABELS
from workflows.templatetags.usage_numbers import format_count


HIGHEST = 10**15


class LimitsForm(forms.Form):
    """One optional number for each limit. Empty is no limit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: Django's signature
        super().__init__(*args, **kwargs)
        installation = get_installation_limits()
        for name, label in LABELS.items():
            highest = getattr(installation, name)
            hint = _("At most %(limit)s on this installation.") % {"limit": format_count(highest)}
            self.fields[name] = forms.IntegerField(
                label=str(label),
                required=False,
                min_value=1,
                max_value=HIGHEST,
                help_text=hint if highest else gettext_lazy("Empty: no limit."),
            )


@dataclass(frozen=True, slots=True)
class Line:
    """A limit and how much of it is used. ``share`` is in percent, or None without a limit."""

    id: str
    label: str
    used: str
    limit: str
    share: int | None
    is_reached: bool


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Show the limits and today's use to those who see the team's usage; an owner changes the limits."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    budget = load_team_budget(principal, team_id)
    form = LimitsForm(initial={name: getattr(budget.own_limits, name) for name in LIMITS})
    status = 200
    if request.method == "POST":
        form = LimitsForm(request.POST)
        if form.is_valid():
            try:
                set_team_limits(principal, team_id, RunLimits(**form.cleaned_data))
            except InvalidValue as error:
                form.add_error(error.field, str(error))
            else:
                messages.success(request, _("Limits saved."))
                return redirect("workflows:limits")
        status = 422
    context = {
        "lines": build_lines(budget),
        "keys": [(row.key, build_lines(row)) for row in list_key_budgets(principal, team_id)],
        "form": form if can(principal, "team.limit", team_id) else None,
        "manages_keys": can(principal, "key.manage", team_id),
    }
    return render(request, "usage/limits.html", context, status=status)


def build_lines(budget: Budget) -> list[Line]:
    lines = []
    for name, label in LABELS.items():
        used, limit = getattr(budget.use, name), getattr(budget.limits, name)
        if budget.key is not None and limit is None:
            continue
        lines.append(
            Line(
                id=f"meter-{budget.key.pk if budget.key else 'team'}-{name}",
                label=str(label),
                used=format_count(used),
                limit="" if limit is None else format_count(limit),
                share=None if limit is None else min(round(100 * used / limit), 100),
                is_reached=budget.is_reached(name),
            )
        )
    return lines

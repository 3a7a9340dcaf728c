"""The pages of learning: the settings of the team and its applications, the recent curations and the rejection rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import get_principal
from memory.core.errors import AlreadyExists
from memory.forms.review import KINDS, LearningRuleForm
from memory.host import RunDescription
from memory.logic.text_diff import render_value
from memory.models import Curation
from memory.models.jobs import JobStatus
from memory.provenance import load_provenance
from memory.services.curation import curate, learning_rules
from memory.services.curation.learning_rules import (
    LearningApplication,
    can_change_rules,
    list_learning_applications,
)
from memory.services.review.agreement import RejectionRule, list_rejection_rules
from memory.views.request_context import (
    build_application_url,
    build_caller,
    load_titles,
    name_applications,
)


RECENT_CURATIONS = 15
MAX_APP_ID_LENGTH = 80

_OUTCOME_LABELS: dict[str, str | Promise] = {
    "admit": gettext_lazy("%(number)s stored"),
    "merge": gettext_lazy("%(number)s already known"),
    "quarantine": gettext_lazy("%(number)s quarantined"),
    "refuse": gettext_lazy("%(number)s skipped"),
    "proposed": gettext_lazy("%(number)s proposed"),
}


@dataclass(frozen=True, slots=True)
class RejectionRow:
    rule: RejectionRule
    label: str
    text: str
    namespace_title: str
    rejected_by: str


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    application: LearningApplication
    title: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class CurationRow:
    """A curation with its run and a description of its counts."""

    row: Curation
    run: RunDescription | None
    counts: str

    @property
    def is_failed(self) -> bool:
        return self.row.status == JobStatus.FAILED


@login_required
@require_safe
def review_rules(request: HttpRequest) -> HttpResponse:
    principal, rules = get_principal(request), list_rejection_rules(build_caller(request))
    titles = load_titles(request, [rule.namespace for rule in rules])
    actors = load_provenance(principal, [rule.by for rule in rules], []).actors
    rows = [
        RejectionRow(
            rule,
            str(KINDS[rule.kind]),
            render_value(rule.value),
            titles[rule.namespace.text],
            actors.get(rule.by, rule.by),
        )
        for rule in rules
    ]
    return render(request, "memory/curation/rules.html", {"rows": rows})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Show or save the learning rule of the team, or of an application, which has none until it is first saved."""
    caller, app_id = build_caller(request), request.GET.get("app", "")[:MAX_APP_ID_LENGTH]
    if request.method == "POST":
        form = LearningRuleForm(request.POST)
        if not form.is_valid():
            return _show_settings(request, app_id, form, status=422)
        learning_rules.set_learning_rule(caller, app_id=app_id, learning=form.build_rule())
        messages.success(request, _("Saved."))
        return redirect(build_application_url("memory:curation_settings", app_id))
    rule = learning_rules.read_learning_rule(caller, app_id=app_id)
    return _show_settings(request, app_id, LearningRuleForm.from_rule(rule))


@login_required
@require_POST
def retry(request: HttpRequest, curation_id: UUID) -> HttpResponse:
    try:
        curate.retry_curation(build_caller(request), curation_id=curation_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    else:
        messages.success(request, _("Retrying in the background."))
    return redirect("memory:curation_settings")


def _show_settings(
    request: HttpRequest, app_id: str, form: LearningRuleForm, status: int = 200
) -> HttpResponse:
    caller = build_caller(request)
    applications = _list_applications(request, list_learning_applications(caller), app_id)
    context = {
        "form": form,
        "app_id": app_id,
        "title": next((row.title for row in applications if row.is_current), app_id),
        "applications": applications,
        "can_change": can_change_rules(caller),
        "curations": _list_curations(request),
    }
    return render(request, "memory/curation/settings.html", context, status=status)


def _list_applications(
    request: HttpRequest, applications: Sequence[LearningApplication], app_id: str
) -> list[ApplicationRow]:
    """Return the team's row, and those of the applications with their titles."""
    apps = [application for application in applications if application.app_id]
    titles = name_applications(request, [application.app_id for application in apps])
    rows = [(row, _("Whole team")) for row in applications if not row.app_id]
    rows += zip(apps, titles, strict=True)
    return [ApplicationRow(row, title, row.app_id == app_id) for row, title in rows]


def _list_curations(request: HttpRequest) -> list[CurationRow]:
    rows = curate.list_curations(build_caller(request), limit=RECENT_CURATIONS)
    runs = load_provenance(get_principal(request), [], [row.run_id for row in rows]).runs
    return [CurationRow(row, runs.get(row.run_id), _describe_counts(row)) for row in rows]


def _describe_counts(row: Curation) -> str:
    parts = [
        str(label) % {"number": row.counts[name]}
        for name, label in _OUTCOME_LABELS.items()
        if row.counts.get(name)
    ]
    if not parts and row.status == JobStatus.DONE:
        return _("nothing to store")
    return ", ".join(parts)

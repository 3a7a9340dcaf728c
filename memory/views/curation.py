"""The pages of learning: the settings of the team and its applications, the recent curations and the rejection rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import get_current_team_id, get_principal
from memory import naming, provenance
from memory.core.errors import AlreadyExists
from memory.forms.review import KINDS, LearningRuleForm
from memory.host import RunDescription
from memory.logic.text_diff import render_value
from memory.models import Curation, Namespace
from memory.models.jobs import JobStatus
from memory.services.curation import curate, learning_rules
from memory.services.curation.learning_rules import (
    LearningApplication,
    can_change_rules,
    list_learning_applications,
)
from memory.services.review.agreement import list_rejection_rules
from memory.views.request_context import build_caller


RECENT_CURATIONS = 15
MAX_APP_ID_LENGTH = 80


@dataclass(frozen=True, slots=True)
class RejectionRow:
    id: UUID
    label: str
    text: str
    namespace_title: str
    namespace_id: UUID
    by: str
    at: datetime | None
    reason: str
    can_decide: bool


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
    namespaces = {rule.namespace.pk: rule.namespace for rule in rules}
    names = naming.name_namespaces(list(namespaces.values()), reader_id=principal.user_id)
    titles = {name.row.pk: name.title for name in names}
    origins = provenance.load_provenance(principal, [rule.by for rule in rules], [])
    rejections = [
        RejectionRow(
            rule.id,
            str(KINDS[rule.kind]),
            render_value(rule.value),
            titles[rule.namespace.pk],
            rule.namespace.pk,
            origins.actors.get(rule.by, rule.by),
            rule.at,
            rule.reason,
            rule.can_decide,
        )
        for rule in rules
    ]
    return render(request, "memory/curation/rules.html", {"rules": rejections})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """Show or save the rule of the team, or of an application, which gets its own when it is saved first."""
    caller, app_id = build_caller(request), request.GET.get("app", "")[:MAX_APP_ID_LENGTH]
    if request.method == "POST":
        form = LearningRuleForm(request.POST)
        if not form.is_valid():
            return _show_settings(request, app_id, form, status=422)
        learning_rules.set_learning_rule(caller, app_id=app_id, learning=form.build_rule())
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(_build_url(app_id))
    return _show_settings(
        request,
        app_id,
        LearningRuleForm.of(learning_rules.read_learning_rule(caller, app_id=app_id)),
    )


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
        "title": _get_title(applications, app_id),
        "applications": applications,
        "can_change": can_change_rules(caller),
        "curations": _list_curations(request),
    }
    return render(request, "memory/curation/settings.html", context, status=status)


def _list_applications(
    request: HttpRequest, applications: Sequence[LearningApplication], app_id: str
) -> list[ApplicationRow]:
    """Return the rows, titled like the applications' shared memory, even if there is none yet."""
    team_id = get_current_team_id(request)
    apps = [application for application in applications if application.app_id]
    rows = [Namespace(team_id=team_id, scope="global", text=f"global:{o.app_id}") for o in apps]
    names = naming.name_namespaces(rows, reader_id=None) if rows else []
    team_rows = [
        ApplicationRow(application, _("Whole team"), not app_id)
        for application in applications
        if not application.app_id
    ]
    return team_rows + [
        ApplicationRow(application, name.title, application.app_id == app_id)
        for application, name in zip(apps, names, strict=True)
    ]


def _get_title(applications: Sequence[ApplicationRow], app_id: str) -> str:
    return next((row.title for row in applications if row.application.app_id == app_id), app_id)


def _list_curations(request: HttpRequest) -> list[CurationRow]:
    rows = curate.list_curations(build_caller(request), limit=RECENT_CURATIONS)
    origins = provenance.load_provenance(get_principal(request), [], [row.run_id for row in rows])
    return [CurationRow(row, origins.runs.get(row.run_id), _describe_counts(row)) for row in rows]


_OUTCOMES: dict[str, str | Promise] = {
    "admit": gettext_lazy("%(number)s stored"),
    "merge": gettext_lazy("%(number)s already known"),
    "quarantine": gettext_lazy("%(number)s quarantined"),
    "refuse": gettext_lazy("%(number)s skipped"),
    "proposed": gettext_lazy("%(number)s proposed"),
}


def _describe_counts(row: Curation) -> str:
    parts = [
        str(words) % {"number": row.counts[name]}
        for name, words in _OUTCOMES.items()
        if row.counts.get(name)
    ]
    if not parts and row.status == JobStatus.DONE:
        return _("nothing to store")
    return ", ".join(parts)


def _build_url(app_id: str) -> str:
    address = reverse("memory:curation_settings")
    return f"{address}?{urlencode({'app': app_id})}" if app_id else address

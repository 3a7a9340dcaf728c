"""How a team and its workflows learn, what was rejected for good, and what became of the last runs' curation."""

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
from memory.forms.review import KINDS, LearningForm
from memory.host import RunDescription
from memory.logic.text_diff import format_value
from memory.models import Curation, Namespace
from memory.models.jobs import JobStatus
from memory.services.curation import curate, learning_rules
from memory.services.curation.learning_rules import Learner, learners, may_change_rules
from memory.services.review.agreement import list_rejection_rules
from memory.views.request_context import caller_of


LAST_CURATIONS = 15
LONGEST_APP = 80


@dataclass(frozen=True, slots=True)
class Rule:
    """What was rejected for good, as people read it."""

    id: UUID
    label: str
    says: str
    place: str
    place_id: UUID
    by: str
    at: datetime | None
    reason: str
    can_decide: bool


@dataclass(frozen=True, slots=True)
class LearnerTold:
    learner: Learner
    title: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class CurationTold:
    """What became of one run's curation."""

    row: Curation
    run: RunDescription | None
    counts: str

    @property
    def is_failed(self) -> bool:
        return self.row.status == JobStatus.FAILED


@login_required
@require_safe
def review_rules(request: HttpRequest) -> HttpResponse:
    principal, found = get_principal(request), list_rejection_rules(caller_of(request))
    places = {one.namespace.pk: one.namespace for one in found}
    named = naming.name_namespaces(list(places.values()), reader_id=principal.user_id)
    titles = {one.row.pk: one.title for one in named}
    behind = provenance.load_provenance(principal, [one.by for one in found], [])
    shown = [
        Rule(
            one.id,
            str(KINDS[one.kind]),
            format_value(one.value),
            titles[one.namespace.pk],
            one.namespace.pk,
            behind.actors.get(one.by, one.by),
            one.at,
            one.reason,
            one.can_decide,
        )
        for one in found
    ]
    return render(request, "memory/curation/rules.html", {"rules": shown})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    """The team's rule, or an application's that has one of its own from the first time it is saved."""
    caller, app_id = caller_of(request), request.GET.get("app", "")[:LONGEST_APP]
    if request.method == "POST":
        form = LearningForm(request.POST)
        if not form.is_valid():
            return _show_settings(request, app_id, form, status=422)
        learning_rules.set_rule(caller, app_id=app_id, learning=form.learning())
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(_address(app_id))
    return _show_settings(
        request, app_id, LearningForm.of(learning_rules.rule_for(caller, app_id=app_id))
    )


@login_required
@require_POST
def retry(request: HttpRequest, curation_id: UUID) -> HttpResponse:
    try:
        curate.retry_curation(caller_of(request), curation_id=curation_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    else:
        messages.success(request, _("Retrying in the background."))
    return redirect("memory:curation_settings")


def _show_settings(
    request: HttpRequest, app_id: str, form: LearningForm, status: int = 200
) -> HttpResponse:
    caller = caller_of(request)
    told = _told(request, learners(caller), app_id)
    context = {
        "form": form,
        "app_id": app_id,
        "title": _title(told, app_id),
        "learners": told,
        "may_change": may_change_rules(caller),
        "curations": _curations(request),
    }
    return render(request, "memory/curation/settings.html", context, status=status)


def _told(request: HttpRequest, found: Sequence[Learner], app_id: str) -> list[LearnerTold]:
    """Named as their shared memory is, whether or not there is one yet."""
    team_id = get_current_team_id(request)
    apps = [one for one in found if one.app_id]
    rows = [Namespace(team_id=team_id, scope="global", text=f"global:{o.app_id}") for o in apps]
    named = naming.name_namespaces(rows, reader_id=None) if rows else []
    told = [LearnerTold(one, _("Whole team"), not app_id) for one in found if not one.app_id]
    return told + [
        LearnerTold(one, name.title, one.app_id == app_id)
        for one, name in zip(apps, named, strict=True)
    ]


def _title(told: Sequence[LearnerTold], app_id: str) -> str:
    return next((one.title for one in told if one.learner.app_id == app_id), app_id)


def _curations(request: HttpRequest) -> list[CurationTold]:
    rows = curate.curations(caller_of(request), limit=LAST_CURATIONS)
    behind = provenance.load_provenance(get_principal(request), [], [row.run_id for row in rows])
    return [CurationTold(row, behind.runs.get(row.run_id), _counted(row)) for row in rows]


_OUTCOMES: dict[str, str | Promise] = {
    "admit": gettext_lazy("%(number)s stored"),
    "merge": gettext_lazy("%(number)s already known"),
    "quarantine": gettext_lazy("%(number)s quarantined"),
    "refuse": gettext_lazy("%(number)s skipped"),
    "proposed": gettext_lazy("%(number)s proposed"),
}


def _counted(row: Curation) -> str:
    said = [
        str(words) % {"number": row.counts[name]}
        for name, words in _OUTCOMES.items()
        if row.counts.get(name)
    ]
    if not said and row.status == JobStatus.DONE:
        return _("nothing to store")
    return ", ".join(said)


def _address(app_id: str) -> str:
    address = reverse("memory:curation_settings")
    return f"{address}?{urlencode({'app': app_id})}" if app_id else address

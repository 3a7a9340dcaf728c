"""The entries that the curation of a run learned from it, and pages that show and retry the curation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.models import Run
from workflows.views.request_context import find_run, is_htmx
from workflows.views.runs.memory.recalled import build_entry_url, name_key


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The state of a run's curation, with the learned entries or the problem."""

    run: Run
    status: str
    problem: str
    counts_text: str
    waiting_count: int
    entries: tuple[Mapping[str, Any], ...]

    @property
    def is_pending(self) -> bool:
        return self.status in {"waiting", "running"}

    @property
    def has_failed(self) -> bool:
        return self.status == "failed"


def get_learning_result(principal: Principal, run: Run) -> LearningResult | None:
    """Return the result of the run's curation; None if the run is live or has no curation."""
    if not memory_app.is_on() or not run.has_ended:
        return None
    result = memory_app.summarize_curation(
        memory_app.MemoryCaller(principal, run.team_id), run_id=str(run.pk)
    )
    if result is None:
        return None
    curation = result.curation
    entries = tuple(
        {
            "key": entry.key,
            "name": name_key(entry.key),
            "text": entry.text,
            "waits": entry.is_quarantined,
            "url": build_entry_url(entry.id),
        }
        for entry in result.entries
    )
    return LearningResult(
        run,
        curation.status,
        curation.problem,
        _format_counts(curation.counts),
        result.open_proposals,
        entries,
    )


@login_required
@require_safe
def show_learning(request: HttpRequest, run_id: UUID) -> HttpResponse:
    return _render_learning(request, *find_run(request, run_id))


@login_required
@require_POST
def learn_again(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Retry the curation of the run."""
    principal, run = find_run(request, run_id)
    if not memory_app.is_on():
        raise NotFound
    caller = memory_app.MemoryCaller(principal, run.team_id)
    curation = memory_app.find_curation(caller, run_id=str(run.pk))
    if curation is None:
        raise NotFound
    memory_app.retry_curation(caller, curation_id=curation.pk)
    if not is_htmx(request):
        return redirect("workflows:run", run.pk)
    return _render_learning(request, principal, run)


def _render_learning(request: HttpRequest, principal: Principal, run: Run) -> HttpResponse:
    context = {"learning": get_learning_result(principal, run)}
    return render(request, "runs/memory/_learned.html", context)


def _format_counts(counts: Mapping[str, int]) -> str:
    """Format the numbers of candidates that were not stored, if there are any."""
    counter = Counter(counts)
    parts = [
        (counter["merge"], _("Already known: %(n)s")),
        (counter["refuse"], _("Not stored: %(n)s")),
        (counter["too_short"], _("Too short: %(n)s")),
        (counter["small_talk"], _("Only small talk: %(n)s")),
        (counter["not_done"], _("The model could not do the task: %(n)s")),
    ]
    return " · ".join(text % {"n": n} for n, text in parts if n)

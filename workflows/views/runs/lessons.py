"""What a run taught its application: under way, done with what is known now, or failed and why."""

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
from workflows.views.request_context import run_for
from workflows.views.runs.recalled_memory import entry_url, name_of


@dataclass(frozen=True, slots=True)
class Learnt:
    run: Run
    status: str
    problem: str
    counted: str
    waiting: int
    entries: tuple[Mapping[str, Any], ...]

    @property
    def is_going_on(self) -> bool:
        return self.status in {"waiting", "running"}

    @property
    def has_failed(self) -> bool:
        return self.status == "failed"


def learnt_of(principal: Principal, run: Run) -> Learnt | None:
    if not memory_app.is_on() or not run.has_ended:
        return None
    found = memory_app.summarize_curation(
        memory_app.MemoryCaller(principal, run.team_id), run_id=str(run.pk)
    )
    if found is None:
        return None
    row = found.curation
    entries = tuple(
        {
            "key": one.key,
            "name": name_of(one.key),
            "text": one.text,
            "waits": one.is_quarantined,
            "url": entry_url(one.id),
        }
        for one in found.entries
    )
    return Learnt(run, row.status, row.problem, _counted(row.counts), found.open_proposals, entries)


@login_required
@require_safe
def learnt(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = run_for(request, run_id)
    return render(request, "runs/memory/_learned.html", {"learnt": learnt_of(principal, run)})


@login_required
@require_POST
def learn_again(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = run_for(request, run_id)
    if not memory_app.is_on():
        raise NotFound
    caller = memory_app.MemoryCaller(principal, run.team_id)
    row = memory_app.find_curation(caller, run_id=str(run.pk))
    if row is None:
        raise NotFound
    memory_app.retry_curation(caller, curation_id=row.pk)
    if not getattr(request, "htmx", False):
        return redirect("workflows:run", run.pk)
    return render(request, "runs/memory/_learned.html", {"learnt": learnt_of(principal, run)})


def _counted(counts: Mapping[str, int]) -> str:
    """What became of what was found, where there is something to say."""
    found = Counter(counts)
    said = [
        (found["merge"], _("Already known: %(n)s")),
        (found["refuse"], _("Not stored: %(n)s")),
    ]
    return " · ".join(words % {"n": n} for n, words in said if n)

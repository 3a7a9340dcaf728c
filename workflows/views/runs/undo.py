"""Undoes a run's writes to memory as one change, which is previewed first and can be undone."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.principals import Principal
from workflows import memory_app
from workflows.views.request_context import find_run, parse_id_or_none
from workflows.views.runs.detail import build_run_context


@login_required
@require_POST
def undo_writes(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Undo the run's writes; without ``sure`` only count them. The memory app checks the permission."""
    principal, run = find_run(request, run_id)
    if not memory_app.is_on():
        raise Http404
    caller = memory_app.MemoryCaller(principal, run.team_id)
    if "sure" not in request.POST:
        preview = memory_app.undo_run(caller, run_id=str(run.pk), dry_run=True)
        return render(
            request, "runs/detail.html", build_run_context(principal, run) | {"preview": preview}
        )
    reason = request.POST.get("reason", "").replace("\x00", "")[:500]
    result = memory_app.undo_run(caller, run_id=str(run.pk), reason=reason)
    if result.change_id is None:
        messages.info(request, _("Nothing to undo."))
        return redirect("workflows:run", run.pk)
    address = reverse("workflows:run", args=[run.pk])
    return HttpResponseRedirect(f"{address}?undone={result.change_id}#undo-written")


def find_undone_change(principal: Principal, change_id: str) -> UUID | None:
    """Return the change that the page offers to undo; None for an old URL or another person's URL."""
    pk = parse_id_or_none(change_id)
    if pk is None or not memory_app.is_on():
        return None
    changes = memory_app.Change.objects.visible_to(principal)
    return pk if changes.filter(pk=pk, undone_at=None).exists() else None

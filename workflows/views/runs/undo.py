"""Everything a run wrote to memory, taken back as one: tried first, then done, and undone again if that was wrong."""

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
from workflows.views.request_context import run_for
from workflows.views.runs.detail import run_page


@login_required
@require_POST
def undo_written(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Without ``sure`` it is only counted. Whose memory it is, memory's own door asks."""
    principal, run = run_for(request, run_id)
    if not memory_app.is_on():
        raise Http404
    caller = memory_app.MemoryCaller(principal, run.team_id)
    if "sure" not in request.POST:
        planned = memory_app.undo_run(caller, run_id=str(run.pk), dry_run=True)
        return render(request, "runs/detail.html", run_page(principal, run) | {"planned": planned})
    reason = request.POST.get("reason", "").replace("\x00", "")[:500]
    done = memory_app.undo_run(caller, run_id=str(run.pk), reason=reason)
    if done.change_id is None:
        messages.info(request, _("Nothing to undo."))
        return redirect("workflows:run", run.pk)
    address = reverse("workflows:run", args=[run.pk])
    return HttpResponseRedirect(f"{address}?undone={done.change_id}#undo-written")


def undone_change(principal: Principal, change_id: str) -> UUID | None:
    """The undoing that a page offers to undo; a stale or foreign address offers nothing."""
    try:
        wanted = UUID(change_id)
    except ValueError:
        return None
    if not memory_app.is_on():
        return None
    changes = memory_app.Change.objects.visible_to(principal)
    return wanted if changes.filter(pk=wanted, undone_at=None).exists() else None

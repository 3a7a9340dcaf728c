"""Continue a parked run."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from workflows.services.runs import parked
from workflows.views.request_context import find_run


@login_required
@require_POST
def continue_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Continue the run, and show it."""
    principal, run = find_run(request, run_id)
    parked.continue_run(principal, run)
    return redirect("workflows:run", run_id=run.pk)

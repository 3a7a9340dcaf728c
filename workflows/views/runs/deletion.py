"""Deletes a run from its page."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workflows.errors import RunNotEnded
from workflows.services.runs.deletion import delete_run
from workflows.views.request_context import find_run


@login_required
@require_POST
def delete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Delete the run and show the list of runs; a run that has not ended stays, and its page says why."""
    principal, run = find_run(request, run_id)
    try:
        delete_run(principal, run)
    except RunNotEnded as error:
        messages.error(request, str(error))
        return redirect("workflows:run", run.pk)
    messages.success(
        request, _("Run of %(name)s deleted. Its memories stay.") % {"name": run.workflow.name}
    )
    return redirect("workflows:runs")

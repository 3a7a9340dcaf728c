"""The list of everything wrong with the draft, for the panel at the bottom."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from workflows.engine.validation import validate
from workflows.services.kinds import installed_kinds
from workflows.views.finding import workflow_for
from workflows.views.workflow_page import document_for


@login_required
@require_safe
def problems(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    found = list(validate(document_for(principal, workflow), installed_kinds()))
    return render(request, "editor/_problems.html", {"problems": found, "workflow": workflow})

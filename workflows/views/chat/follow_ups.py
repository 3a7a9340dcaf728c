"""What a person may ask after an answer, on the chat page of members and on public pages."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Principal
from accounts.errors import NotFound
from workflows.models import Message, Run
from workflows.services.chat.follow_ups import suggest_follow_ups
from workflows.views.catalog.workflow_page import load_published_document
from workflows.views.request_context import find_run


@login_required
@require_safe
def show(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show what to ask after the answer of a run."""
    principal, run = find_run(request, run_id)
    return render_follow_ups(request, principal, run)


def render_follow_ups(request: HttpRequest, principal: Principal, run: Run) -> HttpResponse:
    """Return the questions in place of the element that asked for them. Raise NotFound for a run that is no turn of a chat."""
    rows = Message.objects.visible_to(principal).select_related("conversation", "run")
    message = rows.filter(run=run).first()
    document = load_published_document(run.workflow)
    if message is None or document is None:
        raise NotFound
    questions = suggest_follow_ups(principal, document.features, message)
    return render(request, "chat/suggested/_follow_ups.html", {"questions": questions})

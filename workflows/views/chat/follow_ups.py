"""What a person may ask after an answer: on the chat page of members, in the editor, and on public pages."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import Principal
from accounts.errors import NotFound
from workflows.models import Message, Run
from workflows.models.documents import from_json
from workflows.services.chat.follow_ups import suggest_follow_ups
from workflows.views.request_context import find_run


@login_required
@require_safe
def show(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show what to ask after the answer of a run."""
    principal, run = find_run(request, run_id)
    return render_follow_ups(request, principal, run)


def render_follow_ups(request: HttpRequest, principal: Principal, run: Run) -> HttpResponse:
    """Return the questions in place of the element that asked for them. Raise NotFound for a run that is no turn of a chat.

    The document that answered says whether there are any: that of a run in the editor is a draft.
    """
    rows = Message.objects.visible_to(principal).select_related("conversation", "run")
    message = rows.filter(run=run).first()
    if message is None:
        raise NotFound
    features = from_json(run.snapshot.document).features
    questions = suggest_follow_ups(principal, features, message)
    return render(request, "chat/suggested/_follow_ups.html", {"questions": questions})

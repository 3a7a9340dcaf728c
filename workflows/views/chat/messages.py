"""A message to a chat workflow: one turn, one run."""

from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.principals import Principal
from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.errors import FileRefused
from workflows.forms import read_files
from workflows.models import Run, Workflow
from workflows.services.runs.waits import answer_with_message
from workflows.views.catalog.workflow_page import (
    GROUP_FIELD,
    build_pane_turns,
    get_document,
    read_person,
)
from workflows.views.chat.start_fields import read_start_inputs, render_rejection
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import choose_status, find_workflow, is_htmx, read_text
from workflows.views.runs.options import start_run_from_form
from workflows.views.runs.refusals import render_refusal


@login_required
@require_POST
def send_message(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Start a run with the message; return the turn for HTMX, or redirect to the conversation.

    A workflow with errors starts no run: htmx gets the list of its errors.
    """
    principal, workflow = find_workflow(request, workflow_id, "start")
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=reverse("workflows:detail", args=[workflow.pk]),
        send=partial(_send, request, principal, workflow),
    )


def _send(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> tuple[HttpResponse, Run | None]:
    """Start the run, and return it with the answer to the form, or without a run if the message was refused."""
    query, person = read_text(request.POST, "query"), read_person(request.POST)
    files = read_files(request.POST.get("files", ""))
    if not query:
        return HttpResponse(_("Enter a message first."), status=422), None
    document = get_document(principal, workflow)
    answered_run = answer_with_message(
        principal,
        workflow=workflow,
        conversation=read_text(request.POST, "conversation"),
        message=query,
        subject=person or None,
    )
    try:
        run = answered_run or start_run_from_form(
            request,
            principal,
            workflow,
            document,
            inputs=read_start_inputs(document, request.POST.dict()),
            query=query,
            files=files,
        )
    except InputRejected as rejected:
        if not is_htmx(request):
            raise
        return render_rejection(request, workflow, document, rejected), None
    except FileRefused as refused:
        return HttpResponse(str(refused), status=choose_status(refused)), None
    except DocumentInvalid as invalid:
        if not is_htmx(request):
            raise
        return render_refusal(request, invalid), None
    conversation_key = run.conversation.key if run.conversation else ""
    page_url = reverse("workflows:detail", args=[workflow.pk])
    group = read_text(request.POST, GROUP_FIELD)
    values = {"person": person, "conversation": conversation_key, GROUP_FIELD: group}
    parameters = {name: value for name, value in values.items() if value}
    url = f"{page_url}?{urlencode(parameters)}"
    if not is_htmx(request):
        return redirect(url), run
    html = ""
    if (
        answered_run is None
    ):  # otherwise the turn is on the page already, and its stream shows the rest
        (turn,) = build_pane_turns(principal, workflow, document, [run])
        html = render_to_string("chat/_pane_turn.html", {"turn": turn}, request)
    html += render_to_string(
        "chat/_pane_conversation_field.html",
        {"conversation": run.conversation, "person": person, "out_of_band": True},
        request,
    )
    response = HttpResponse(html)
    # A reload or a copied link opens this conversation again.
    response["HX-Replace-Url"] = url
    return response, run

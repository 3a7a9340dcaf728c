"""Saying something to a chat workflow: one turn, one run."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workflows import permissions
from workflows.services.debugging.start import start_run_with_options
from workflows.views.catalog.workflow_page import (
    GROUP,
    person_of,
    stream_of,
    turns_from,
    version_for,
)
from workflows.views.request_context import typed, workflow_for
from workflows.views.runs.options import options_of


@login_required
@require_POST
def say(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    query, person = typed(request.POST, "query"), person_of(request.POST)
    if not query:
        return HttpResponse(_("Enter a message first."), status=422)
    run = start_run_with_options(
        principal,
        options_of(request.POST, pins=permissions.may_edit(principal, workflow)),
        workflow=workflow,
        inputs={},
        query=query,
        conversation=typed(request.POST, "conversation") or None,
        subject=person or None,
        version=version_for(principal, workflow),
        stream=stream_of(request.POST),
    )
    key = run.conversation.key if run.conversation else ""
    place = reverse("workflows:detail", args=[workflow.pk])
    group = typed(request.POST, GROUP)
    named = {"person": person, "conversation": key, GROUP: group}
    here = {name: value for name, value in named.items() if value}
    url = f"{place}?{urlencode(here)}"
    if not request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return redirect(url)
    (turn,) = turns_from(principal, workflow, [run])
    html = render_to_string("chat/_pane_turn.html", {"turn": turn}, request)
    html += render_to_string(
        "chat/_pane_conversation_field.html",
        {"conversation": run.conversation, "person": person, "out_of_band": True},
        request,
    )
    response = HttpResponse(html)
    # a reload, or a link sent to oneself, comes back to this conversation
    response["HX-Replace-Url"] = url
    return response

"""The chat's actions that forget the newest memory and restore it. The response is a toast with the result."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.principals import Principal
from workflows import memory_app
from workflows.models import Workflow
from workflows.services.chat import forgetting
from workflows.views.catalog.workflow_page import read_person
from workflows.views.request_context import find_workflow, is_htmx, read_text


@login_required
@require_POST
def forget_last(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Forget the newest memory of the person that a run of the workflow wrote."""
    principal, workflow = _get_workflow_with_memory(request, workflow_id)
    person = read_person(request.POST)
    memory = forgetting.forget_last(principal, workflow=workflow, person=person)
    if memory:
        message = _("Forgotten: “%(text)s”") % {"text": memory.text}
    elif person:
        message = _(
            "%(person)s has no memory here. Switch back to yourself to forget one of yours."
        ) % {"person": person}
    else:
        message = _("Nothing to forget.")
    return _render_toast(request, workflow, message, "forgotten" if memory else "", memory)


@login_required
@require_POST
def remember_again(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = _get_workflow_with_memory(request, workflow_id)
    try:
        forgetting.undo_forget(
            principal, workflow=workflow, change_id=read_text(request.POST, "change")
        )
    except memory_app.AlreadyExists as fault:
        return _render_toast(request, workflow, str(fault), "")
    return _render_toast(request, workflow, _("Restored"), "undone")


def _get_workflow_with_memory(
    request: HttpRequest, workflow_id: UUID
) -> tuple[Principal, Workflow]:
    principal, workflow = find_workflow(request, workflow_id, "run")
    if not memory_app.is_on():
        raise Http404
    return principal, workflow


def _render_toast(
    request: HttpRequest,
    workflow: Workflow,
    message: str,
    event: str,
    memory: forgetting.ForgottenMemory | None = None,
) -> HttpResponse:
    if not is_htmx(request):
        messages.success(request, message)
        return redirect("workflows:detail", workflow.pk)
    context = {"message": message, "event": event, "memory": memory, "workflow": workflow}
    return render(request, "chat/_forget_notice.html", context)

"""The list of what a workflow knows, in the editor's panel of memory, with forgetting and its undo."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.errors import InvalidChoice, NotFound
from accounts.principals import Principal
from workflows import memory_app
from workflows.models import Workflow
from workflows.services.chat.forgetting import undo_forget
from workflows.services.editor.known_memory import KnownScope, MemoryOwner, forget_known, list_known
from workflows.views.catalog.workflow_page import GROUP_FIELD, get_document, read_person
from workflows.views.request_context import find_workflow, read_text
from workflows.views.runs.memory.recalled import SCOPE_LABELS


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def known_memory(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the list, for the person, conversation and group of the query; forget an entry or undo that before."""
    principal, workflow = find_workflow(request, workflow_id)
    if not memory_app.is_on():
        raise NotFound
    context = _apply(request, principal, workflow) if request.method == "POST" else {}
    owner = MemoryOwner(
        read_person(request.GET),
        read_text(request.GET, "conversation"),
        read_text(request.GET, GROUP_FIELD),
    )
    document = get_document(principal, workflow)
    scopes = list_known(principal, workflow=workflow, document=document, owner=owner)
    context |= {
        "workflow": workflow,
        "scopes": [_build_row(scope) for scope in scopes],
        "query": request.GET.urlencode(),
    }
    return render(request, "editor/debugging/_known_memory.html", context)


def _apply(request: HttpRequest, principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Forget the submitted entry, or undo the submitted change. Return the message for the list."""
    match request.POST.get("act"):
        case "forget":
            entry_id = read_text(request.POST, "entry")
            change_id = forget_known(principal, workflow=workflow, entry_id=entry_id)
            return {"message": _("Forgotten."), "change_id": change_id}
        case "undo":
            try:
                undo_forget(
                    principal, workflow=workflow, change_id=read_text(request.POST, "change")
                )
            except memory_app.AlreadyExists as fault:
                return {"message": str(fault)}
            return {"message": _("Restored")}
        case _:
            raise InvalidChoice(field="act")


def _build_row(row: KnownScope) -> dict[str, Any]:
    return {
        "scope": row.scope,
        "label": SCOPE_LABELS[row.scope],
        "namespace": row.namespace,
        "total": row.total,
        "entries": [
            {"entry": entry, "text": memory_app.format_value(entry.value)} for entry in row.entries
        ],
    }

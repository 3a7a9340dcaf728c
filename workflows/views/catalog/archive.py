"""Workflows that were put away: archiving with the way back, the list of them, and the page of one."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import permissions, selectors
from workflows.models import Workflow
from workflows.services.editor import drafts
from workflows.views.canvas.drawing import draw
from workflows.views.catalog.folder_location import address_of, shelf_of
from workflows.views.catalog.workflow_page import document_for
from workflows.views.request_context import ids_of, typed, workflow_for


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Those of every folder, newest put away first."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    query = typed(request.GET, "q")
    rows = selectors.workflows_for(principal, team_id=team_id, archived=True)
    if query:
        rows = rows.filter(name__icontains=query)
    page_rows, page = paginate_by_offset(request, rows.order_by("-archived_at", "-id"))
    context = {
        "workflows": page_rows,
        "page": page,
        "query": query,
        "can_restore": permissions.may_create(principal, team_id),
    }
    return render(request, "workflows/catalog/archived_list.html", context)


@login_required
@require_POST
def archive(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """From the page of one."""
    principal, workflow = workflow_for(request, workflow_id)
    drafts.archive(principal, workflow=workflow)
    _say_archived(request, [workflow])
    return redirect(address_of(workflow.folder_id))


@login_required
@require_POST
def archive_chosen(request: HttpRequest) -> HttpResponse:
    """From the list: those that are named ``workflow``, one or many."""
    principal = get_principal(request)
    chosen = _chosen(request, principal)
    shelf = shelf_of(request)
    if chosen:
        drafts.archive_all(principal, workflows=chosen)
        _say_archived(request, chosen)
    else:
        messages.info(request, _("Select the workflows to archive."))
    return redirect(shelf.address)


@login_required
@require_POST
def restore(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """From the page of one that is archived, which is the editor again."""
    principal, workflow = workflow_for(request, workflow_id, archived=True)
    drafts.unarchive(principal, workflow=workflow)
    _say_back(request, [workflow])
    return redirect("workflows:detail", workflow.pk)


@login_required
@require_POST
def restore_chosen(request: HttpRequest) -> HttpResponse:
    """From the list of archived ones, and from what was said when they went."""
    principal = get_principal(request)
    chosen = _chosen(request, principal)
    drafts.unarchive_all(principal, workflows=chosen)
    if chosen:
        _say_back(request, chosen)
    if "undo" in request.POST and chosen:
        return redirect(address_of(chosen[0].folder_id))
    return redirect("workflows:archived")


def archived_page(request: HttpRequest, principal: Principal, workflow: Workflow) -> HttpResponse:
    """At its own address: what it was, to look at, and the way back for those who may."""
    document = document_for(principal, workflow)
    context = {
        "workflow": workflow,
        "drawing": draw(document),
        "can_restore": permissions.may_delete(principal, workflow),
    }
    return render(request, "workflows/catalog/archived.html", context)


def _chosen(request: HttpRequest, principal: Principal) -> list[Workflow]:
    ids = ids_of(request.POST.getlist("workflow"))
    return selectors.workflows_by_id(principal, ids, "delete")


def _say_archived(request: HttpRequest, gone: list[Workflow]) -> None:
    context = {"said": _said_archived(gone), "workflows": gone}
    messages.success(
        request, render_to_string("workflows/catalog/_archived_message.html", context, request)
    )


def _said_archived(gone: list[Workflow]) -> str:
    if len(gone) == 1:
        return _("“%(name)s” is archived.") % {"name": gone[0].name}
    return _("Archived %(count)d workflows.") % {"count": len(gone)}


def _say_back(request: HttpRequest, back: list[Workflow]) -> None:
    if len(back) == 1:
        said = _("Restored “%(name)s”.") % {"name": back[0].name}
    else:
        said = _("Restored %(count)d workflows.") % {"count": len(back)}
    messages.success(request, said)

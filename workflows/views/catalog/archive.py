"""Pages of archived workflows: archiving, restoring, the list, and the page of an archived workflow."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import permissions, selectors
from workflows.models import Workflow
from workflows.services.catalog.uses import list_uses
from workflows.services.editor import drafts
from workflows.views.canvas.drawing import draw
from workflows.views.catalog.folder_location import build_folder_url, format_selection, get_location
from workflows.views.catalog.workflow_page import get_document
from workflows.views.request_context import find_workflow, parse_ids, read_text


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the archived workflows of all folders, the last archived first."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    query = read_text(request.GET, "q")
    archived = selectors.list_workflows(principal, team_id=team_id, archived=True)
    if query:
        archived = archived.filter(name__icontains=query)
    page_workflows, page = paginate_by_offset(request, archived.order_by("-archived_at", "-id"))
    context = {
        "workflows": page_workflows,
        "page": page,
        "query": query,
        "can_restore": permissions.may_create(principal, team_id),
    }
    return render(request, "workflows/catalog/archived_list.html", context)


@login_required
@require_POST
def archive(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Archive a workflow from its page."""
    principal, workflow = find_workflow(request, workflow_id)
    permissions.check_delete(principal, workflow)
    if question := _ask_about_uses(
        request, principal, [workflow], cancel_url=reverse("workflows:detail", args=[workflow.pk])
    ):
        return question
    drafts.archive(principal, workflow=workflow)
    _add_archived_message(request, [workflow])
    return redirect(build_folder_url(workflow.folder_id))


@login_required
@require_POST
def archive_selected(request: HttpRequest) -> HttpResponse:
    """Archive the workflows selected in the list, which are the values of ``workflow``."""
    principal = get_principal(request)
    selected = _find_selected(request, principal)
    location = get_location(request)
    if question := _ask_about_uses(request, principal, selected, cancel_url=location.address):
        return question
    if selected:
        drafts.archive_all(principal, workflows=selected)
        _add_archived_message(request, selected)
    else:
        messages.info(request, _("Select the workflows to archive."))
    return redirect(location.address)


@login_required
@require_POST
def restore(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Restore a workflow from its page, which becomes the editor again."""
    principal, workflow = find_workflow(request, workflow_id, archived=True)
    drafts.unarchive(principal, workflow=workflow)
    _add_restored_message(request, [workflow])
    return redirect("workflows:detail", workflow.pk)


@login_required
@require_POST
def restore_selected(request: HttpRequest) -> HttpResponse:
    """Restore workflows from the list of archived ones, or undo the archiving of several."""
    principal = get_principal(request)
    selected = _find_selected(request, principal)
    drafts.unarchive_all(principal, workflows=selected)
    if selected:
        _add_restored_message(request, selected)
    if "undo" in request.POST and selected:
        return redirect(build_folder_url(selected[0].folder_id))
    return redirect("workflows:archived")


def render_archived_page(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> HttpResponse:
    """Render an archived workflow at its own address, with a button to restore it."""
    context = {
        "workflow": workflow,
        "drawing": draw(get_document(principal, workflow)),
        "can_restore": permissions.may_delete(principal, workflow),
    }
    return render(request, "workflows/catalog/archived.html", context)


def _ask_about_uses(
    request: HttpRequest, principal: Principal, workflows: list[Workflow], *, cancel_url: str
) -> HttpResponse | None:
    """Return a page that says what uses the workflows and asks once more; None if nothing does or the person has agreed."""
    uses = [] if "confirmed" in request.POST else list_uses(principal, workflows)
    if not uses:
        return None
    context = {
        "uses": uses,
        "workflows": workflows,
        "action": request.get_full_path(),
        "cancel_url": cancel_url,
    }
    return render(request, "workflows/catalog/archive_used.html", context)


def _find_selected(request: HttpRequest, principal: Principal) -> list[Workflow]:
    ids = parse_ids(request.POST.getlist("workflow"))
    return selectors.find_workflows(principal, ids, "delete")


def _add_archived_message(request: HttpRequest, workflows: list[Workflow]) -> None:
    """Add a message with a button to undo the archiving."""
    message = format_selection(
        workflows, _("“%(name)s” is archived."), _("Archived %(count)d workflows.")
    )
    context = {"message": message, "workflows": workflows}
    messages.success(
        request, render_to_string("workflows/catalog/_archived_message.html", context, request)
    )


def _add_restored_message(request: HttpRequest, workflows: list[Workflow]) -> None:
    single, several = _("Restored “%(name)s”."), _("Restored %(count)d workflows.")
    messages.success(request, format_selection(workflows, single, several))

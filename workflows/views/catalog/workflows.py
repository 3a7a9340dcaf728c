"""Pages of workflows: the list, and the operations on a whole workflow."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import permissions, selectors
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect
from workflows.errors import CasesNotPassed, NothingToPublish, PublishingUnconfirmed
from workflows.forms import PublishForm, RenameForm
from workflows.models import Workflow
from workflows.services import publishing
from workflows.services.catalog import importing
from workflows.services.editor import drafts
from workflows.views.catalog.folder_location import get_location
from workflows.views.publishing.page_updates import render_not_published, render_published
from workflows.views.request_context import find_workflow, get_form_data, is_htmx


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """A row of the list; ``path`` is shown if the rows are from several folders."""

    workflow: Workflow
    path: str


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the workflows in a folder or at the top; a search covers all folders and shows the path."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    location = get_location(request)
    condition = Q(name__icontains=location.query) if location.query else Q(folder=location.folder)
    matching_workflows = selectors.list_workflows(principal, team_id=team_id).filter(condition)
    page_workflows, page = paginate_by_offset(request, matching_workflows)
    context = {
        "location": location,
        "workflows": [
            WorkflowRow(workflow, location.tree.format_path(workflow.folder_id))
            for workflow in page_workflows
        ],
        "page": page,
        "query": location.query,
        "can_create": permissions.may_create(principal, team_id),
        "can_arrange": permissions.may_arrange(principal, team_id),
    }
    return render(request, "workflows/catalog/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Rename a workflow, on a separate page or in a dialog of the list."""
    is_dialog = is_htmx(request)
    principal, workflow = find_workflow(request, workflow_id, "edit")
    form = RenameForm(
        get_form_data(request), initial={"name": workflow.name, "description": workflow.description}
    )
    if form.is_valid():
        drafts.rename(principal, workflow=workflow, **form.cleaned_data)
        if is_dialog:
            return HttpResponse(status=204, headers={"HX-Redirect": get_location(request).address})
        return redirect("workflows:detail", workflow.pk)
    context = {
        "workflow": workflow,
        "form": form,
        "title": _("Rename"),
        "cancel_url": reverse("workflows:detail", args=[workflow.pk]),
        "is_dialog": is_dialog,
    }
    template = f"workflows/catalog/{'_' if is_dialog else ''}name_form.html"
    return render(request, template, context, status=422 if form.errors else 200)


@login_required
@require_POST
def publish(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Publish the draft; a script gets the updates of the editor page as JSON."""
    principal, workflow = find_workflow(request, workflow_id)
    form = PublishForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    try:
        version = publishing.publish(
            principal,
            workflow=workflow,
            note=note,
            must_be_finished=True,
            accepts_failing_nodes="confirmed" in request.POST,
        )
    except (DocumentInvalid, NothingToPublish, PublishingUnconfirmed, CasesNotPassed) as error:
        has_problems = isinstance(error, DocumentInvalid)  # the page lists each at its node
        reason = _("Not published: the draft has errors.") if has_problems else str(error)
        if is_htmx(request):
            return render_not_published(request, workflow, reason, error)
        messages.add_message(request, messages.ERROR if has_problems else messages.INFO, reason)
        return redirect("workflows:detail", workflow.pk)
    message = _("Published as version %(number)s.") % {"number": version.number}
    if is_htmx(request):
        return render_published(request, principal, workflow, version, message)
    messages.success(request, message)
    return redirect(f"{reverse('workflows:detail', args=[workflow.pk])}?published")


@login_required
@require_POST
def duplicate(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    copy = importing.duplicate_workflow(principal, workflow=workflow)
    messages.success(request, _("Workflow duplicated."))
    return redirect("workflows:detail", copy.pk)


@login_required
@require_safe
def export(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Download the draft in the requested dialect and format."""
    principal, workflow = find_workflow(request, workflow_id, archived=True)
    requested_dialect = request.GET.get("dialect", "")
    dialect = Dialect(requested_dialect) if requested_dialect in set(Dialect) else None
    format_: Literal["json", "yaml"] = "json" if request.GET.get("format") == "json" else "yaml"
    document_text = drafts.export(principal, workflow=workflow, dialect=dialect, format=format_)
    response = HttpResponse(document_text, content_type=f"application/{format_}; charset=utf-8")
    name = slugify(workflow.name) or "workflow"
    extension = "yml" if format_ == "yaml" else "json"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response

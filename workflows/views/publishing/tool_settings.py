"""The page that lets a workflow be used as a tool."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from workflows.engine.sub_workflows.form import list_callable_inputs
from workflows.execution.ports.workflow_tools import get_tool_name
from workflows.forms import ToolSettingsForm
from workflows.models.documents import from_json
from workflows.services.tools.workflow_tools import change_tool_settings
from workflows.views.request_context import find_workflow, get_form_data


@login_required
@require_http_methods(["GET", "POST"])
def tool_settings(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show and change whether agents and other workflows may call this one as a tool."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    form = ToolSettingsForm(
        get_form_data(request),
        initial={"is_tool": workflow.is_tool, "description": workflow.tool_description},
    )
    if form.is_valid():
        change_tool_settings(principal, workflow=workflow, **form.cleaned_data)
        messages.success(request, _("Saved"))
        return redirect("workflows:detail", workflow.pk)
    version = workflow.published_version
    context = {
        "workflow": workflow,
        "form": form,
        "tool_name": get_tool_name(workflow),
        "is_published": version is not None,
        "inputs": list_callable_inputs(from_json(version.snapshot.document)) if version else (),
    }
    template = "workflows/tool_settings.html"
    return render(request, template, context, status=422 if form.errors else 200)

"""The page that calls a tool once: a form made from its schema, and its result as untrusted text."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.errors import NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult, ToolSource, ToolSpec
from workflows.models import Run
from workflows.services.tools import trying
from workflows.services.tools.workflow_tools import WorkflowTool, list_workflow_tools
from workflows.templatetags.problems import describe_problem
from workflows.tools.port import load_local_tools
from workflows.views.repeated_forms import send_once
from workflows.views.tools.argument_fields import build_fields, read_arguments
from workflows.views.value_text import format_value


Call = Callable[[Mapping[str, Json]], ToolResult]

# The sources whose tools run in this process, by the word in their address.
_SOURCES: Final[Mapping[str, ToolSource]] = {"builtin": "builtin", "plugin": "plugin"}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def try_operation(request: HttpRequest, connection_id: UUID, name: str) -> HttpResponse:
    """Show the form of an enabled operation, and call it."""
    principal = get_principal(request)
    connection = selectors.find_tool_connection(principal, connection_id, change=True)
    row = next((row for row in connection.operations if row["name"] == name), None)
    if row is None or name not in connection.enabled_operations:
        raise NotFound
    spec = ToolSpec(name, row["description"], row["parameters"])

    def call(arguments: Mapping[str, Json]) -> ToolResult:
        return trying.try_operation(
            principal, connection=connection, name=name, arguments=arguments
        )

    back = reverse("workflows:tool_connection", args=[connection.pk])
    return _respond(request, spec, call, {"back_url": back, "back_label": connection.name})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def try_local(request: HttpRequest, source: str, name: str) -> HttpResponse:
    """Show the form of a built-in tool or of a plug-in's, and call it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_view_credentials(principal, team_id)
    tool_source = _SOURCES.get(source)
    tool = load_local_tools().get((tool_source, name)) if tool_source else None
    if tool_source is None or tool is None:
        raise NotFound

    def call(arguments: Mapping[str, Json]) -> ToolResult:
        return trying.try_local(
            principal, team_id=team_id, source=tool_source, name=name, arguments=arguments
        )

    back = {"back_url": reverse("workflows:tools"), "back_label": _("Tools")}
    spec = _translate_spec(tool.spec) if source == "builtin" else tool.spec
    return _respond(request, spec, call, back)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def try_workflow(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the form of a workflow that is a tool, start a run with it, and go to the page of the run."""
    principal = get_principal(request)
    workflow = selectors.find_workflow(principal, workflow_id, "start")
    found = list_workflow_tools(principal, workflow.team_id)
    tool = next((tool for tool in found if tool.workflow.pk == workflow.pk), None)
    if tool is None:
        raise NotFound
    if request.method != "POST":
        return _render_workflow(request, tool)
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=request.path,
        send=partial(_try_workflow, request, principal, tool),
    )


def _try_workflow(
    request: HttpRequest, principal: Principal, tool: WorkflowTool
) -> tuple[HttpResponse, Run | None]:
    """Start the run, and lead to it; show the form again with the arguments that don't fit."""
    submission = read_arguments(tool.spec.parameters, request.POST)
    if submission.errors:
        return _render_workflow(request, tool, submission.errors), None
    try:
        run = trying.try_workflow(principal, workflow=tool.workflow, arguments=submission.arguments)
    except InputRejected as rejected:
        errors = {p.field or "": describe_problem(p) for p in rejected.problems}
        return _render_workflow(request, tool, errors), None
    return redirect("workflows:run", run.pk), run


def _render_workflow(
    request: HttpRequest, tool: WorkflowTool, errors: Mapping[str, str] | None = None
) -> HttpResponse:
    parameters = tool.spec.parameters
    data = request.POST if request.method == "POST" else None
    context = {
        "tool": ToolSpec(tool.workflow.name, tool.spec.description, parameters),
        "fields": build_fields(parameters, data, errors or {}),
        "is_workflow": True,
        "back_url": reverse("workflows:tools"),
        "back_label": _("Tools"),
    }
    return render(request, "tools/try.html", context, status=422 if errors else 200)


def _translate_spec(spec: ToolSpec) -> ToolSpec:
    """Return the spec of a built-in tool with its descriptions in the reader's language; models get them in English."""
    properties = {
        name: {**schema, "description": _(schema["description"])}
        if "description" in schema
        else schema
        for name, schema in spec.parameters["properties"].items()
    }
    parameters = {**spec.parameters, "properties": properties}
    return replace(spec, description=_(spec.description), parameters=parameters)


def _respond(
    request: HttpRequest, spec: ToolSpec, call: Call, context: dict[str, Any]
) -> HttpResponse:
    status = 200
    data = request.POST if request.method == "POST" else None
    submission = read_arguments(spec.parameters, request.POST) if data is not None else None
    errors = submission.errors if submission else {}
    if submission and errors:
        status = 422
    elif submission:
        result = call(submission.arguments)
        context |= {"result": result, "data_texts": [format_value(item) for item in result.data]}
    fields = build_fields(spec.parameters, data, errors)
    return render(
        request, "tools/try.html", context | {"tool": spec, "fields": fields}, status=status
    )

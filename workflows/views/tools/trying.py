"""The page that calls a tool once: a form made from its schema, and its result as untrusted text."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.errors import NotFound
from accounts.principals import get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.builtin import BUILTIN_TOOLS
from workflows.services import tools
from workflows.views.tools.argument_fields import build_fields, read_arguments
from workflows.views.value_text import format_value


Call = Callable[[Mapping[str, Json]], ToolResult]


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
        return tools.try_operation(principal, connection=connection, name=name, arguments=arguments)

    back = reverse("workflows:tool_connection", args=[connection.pk])
    return _respond(request, spec, call, {"back_url": back, "back_label": connection.name})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def try_builtin(request: HttpRequest, name: str) -> HttpResponse:
    """Show the form of a built-in tool, and call it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_view_credentials(principal, team_id)
    tool = next((tool for tool in BUILTIN_TOOLS if tool.spec.name == name), None)
    if tool is None:
        raise NotFound

    def call(arguments: Mapping[str, Json]) -> ToolResult:
        return tools.try_builtin(principal, team_id=team_id, name=name, arguments=arguments)

    back = {"back_url": reverse("workflows:tools"), "back_label": _("Tools")}
    return _respond(request, tool.spec, call, back)


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

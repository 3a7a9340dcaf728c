"""The list of tools, the forms that connect them, and the page of one connection."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from workflows import permissions, selectors
from workflows.engine.tools.builtin import BUILTIN_TOOLS
from workflows.engine.tools.port import list_local_tools
from workflows.engine.tools.web.services import SERVICES
from workflows.engine.tools.web.table import WEB_TOOLS
from workflows.errors import ContentTooLarge, InvalidValue, NameTaken
from workflows.forms import TOO_LARGE, PageForm
from workflows.models import ConnectionKind, SignInStatus, ToolConnection
from workflows.services import tools
from workflows.services.tools import local_servers
from workflows.services.tools.workflow_tools import list_workflow_tools
from workflows.tools.connections import find_sign_in, get_sign_in
from workflows.tools.mcp.commands import list_commands
from workflows.tools.port import load_local_tools
from workflows.tools.signed_in.renewal import EXPIRED
from workflows.views.request_context import choose_form_status, get_form_data
from workflows.views.tools.argument_fields import list_parameters
from workflows.views.tools.forms import (
    CallSecondsForm,
    McpForm,
    OpenApiForm,
    ProcessForm,
    RefreshForm,
    SecretForm,
    ServiceForm,
)


MAX_WORKFLOWS: Final = 20  # shown in the list
Connect = Callable[..., ToolConnection]
FORMS: Final[Mapping[str, tuple[type[PageForm], Connect]]] = {
    ConnectionKind.OPENAPI: (OpenApiForm, tools.connect_openapi),
    ConnectionKind.MCP_HTTP: (McpForm, tools.connect_mcp),
    ConnectionKind.MCP_STDIO: (ProcessForm, tools.connect_process),
    ConnectionKind.WEB: (ServiceForm, tools.connect_service),
}


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the team's connections, the built-in tools, those of plug-ins, and the workflows that are tools."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    connections = list(selectors.list_tool_connections(principal, team_id))
    table = load_local_tools()
    can_edit = permissions.may_manage(principal, team_id)
    context = {
        "connections": connections,
        "builtin_tools": BUILTIN_TOOLS,
        "web_services": _list_web_services(connections),
        "plugin_tools": list_local_tools(table, "plugin"),
        "workflow_tools": list_workflow_tools(principal, team_id)[:MAX_WORKFLOWS],
        "can_edit": can_edit,
        "finds_local": can_edit and settings.LOCAL_MCP,
    }
    return render(request, "tools/list.html", context)


@login_required
@require_safe
def find_local(request: HttpRequest) -> HttpResponse:
    """Show the MCP servers on this machine that are not connected yet."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    own_port = int(request.get_port() or 0)
    servers = local_servers.find_local_servers(principal, team_id, own_port=own_port)
    return render(request, "tools/_local_servers.html", {"servers": servers})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, kind: str) -> HttpResponse:
    """Show the form that connects an API or a server, and connect it."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_manage(principal, team_id)
    kinds = _list_kinds()
    if kind not in kinds:
        raise NotFound
    form_class, connect_ = FORMS[kind]
    form = form_class(get_form_data(request), request.FILES or None, initial=request.GET.dict())
    if form.is_valid():
        try:
            connection = connect_(principal, team_id=team_id, **form.cleaned_data)
        except (InvalidValue, NameTaken) as error:
            _add_error(form, error)
        else:
            messages.success(request, describe_connected(connection))
            return redirect("workflows:tool_connection", connection.pk)
    context = {"form": form, "kind": kind, "kinds": kinds}
    return render(request, "tools/connect.html", context, status=choose_form_status(form))


@login_required
@require_safe
def detail(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Show a connection with its operations."""
    principal = get_principal(request)
    connection = selectors.find_tool_connection(principal, connection_id)
    return _render_detail(request, principal, connection)


@login_required
@require_POST
def choose(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Store which operations are enabled and which need approval; ``all`` enables or disables every one."""
    principal, connection = _find(request, connection_id)
    names = [row["name"] for row in connection.operations]
    enabled = request.POST.getlist("enabled")
    if request.POST.get("all"):
        enabled = names if request.POST["all"] == "on" else []
    form = CallSecondsForm(request.POST if "call_seconds" in request.POST else None)
    if form.errors:
        return _render_detail(request, principal, connection, limit_form=form)
    tools.choose_operations(
        principal,
        connection=connection,
        enabled=set(enabled),
        approvals=set(request.POST.getlist("approval")),
        call_seconds=form.cleaned_data["call_seconds"] if form.is_bound else None,
    )
    messages.success(request, _("Saved."))
    return redirect("workflows:tool_connection", connection.pk)


@login_required
@require_POST
def refresh(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    principal, connection = _find(request, connection_id)
    document = request.POST.get("document", "")
    try:
        changed = tools.refresh_connection(principal, connection=connection, document=document)
    except ContentTooLarge:
        raise
    except InvalidValue as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _describe_changed(len(changed)))
    return redirect("workflows:tool_connection", connection.pk)


@login_required
@require_POST
def secret(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    """Replace the secret, or remove it with ``remove``."""
    principal, connection = _find(request, connection_id)
    if request.POST.get("remove"):
        tools.remove_secret(principal, connection=connection)
        messages.success(request, _("Removed the key."))
        return redirect("workflows:tool_connection", connection.pk)
    form = SecretForm(request.POST)
    if form.is_valid():
        try:
            tools.replace_secret(
                principal, connection=connection, secret=form.cleaned_data["secret"]
            )
        except InvalidValue as error:
            form.add_error("secret", str(error))
        else:
            messages.success(request, _("Saved."))
            return redirect("workflows:tool_connection", connection.pk)
    return _render_detail(request, principal, connection, form)


@login_required
@require_POST
def delete(request: HttpRequest, connection_id: UUID) -> HttpResponse:
    principal, connection = _find(request, connection_id)
    tools.disconnect(principal, connection=connection)
    messages.success(request, _("Removed “%(name)s” and its key.") % {"name": connection.name})
    return redirect("workflows:tools")


def _find(request: HttpRequest, connection_id: UUID) -> tuple[Principal, ToolConnection]:
    principal = get_principal(request)
    return principal, selectors.find_tool_connection(principal, connection_id, change=True)


def _render_detail(
    request: HttpRequest,
    principal: Principal,
    connection: ToolConnection,
    form: SecretForm | None = None,
    limit_form: CallSecondsForm | None = None,
) -> HttpResponse:
    enabled, approvals = set(connection.enabled_operations), set(connection.approval_operations)
    operations = [
        {
            **row,
            "enabled": row["name"] in enabled,
            "approval": row["name"] in approvals,
            "parameter_list": list_parameters(row["parameters"]),
        }
        for row in connection.operations
    ]
    needs_document = connection.kind == ConnectionKind.OPENAPI and not connection.document_url
    context: dict[str, Any] = {
        "web_tools": [tool for tool in WEB_TOOLS if tool.service == connection.slug],
        "connection": connection,
        "operations": operations,
        "can_edit": permissions.may_manage(principal, connection),
        "secret_form": form or SecretForm(),
        "limit_form": limit_form or _build_limit_form(connection),
        "refresh_form": RefreshForm() if needs_document else None,
        **_describe_sign_in(connection),
    }
    has_errors = any(each is not None and each.errors for each in (form, limit_form))
    return render(request, "tools/connection.html", context, status=422 if has_errors else 200)


def _build_limit_form(connection: ToolConnection) -> CallSecondsForm | None:
    """Return the form for how long a call may take, which only servers of MCP have."""
    if connection.kind not in (ConnectionKind.MCP_HTTP, ConnectionKind.MCP_STDIO):
        return None
    return CallSecondsForm(initial={"call_seconds": connection.call_seconds})


def _describe_sign_in(connection: ToolConnection) -> dict[str, Any]:
    """Return what the page says of the sign-in. It offers none beside a key, and none to what is no MCP server."""
    sign_in = get_sign_in(connection)
    if sign_in is None or find_sign_in(connection) is None:
        is_offered = connection.kind == ConnectionKind.MCP_HTTP and connection.credential is None
        return {"offers_sign_in": is_offered, "sign_in_status": ""}
    return {
        "offers_sign_in": sign_in.status != SignInStatus.NEEDED,
        "sign_in_status": sign_in.status,
        "sign_in_has_ended": sign_in.signed_in_at is not None and sign_in.access_token is None,
        # That it has expired says no more than that it has ended.
        "sign_in_reason": "" if sign_in.error == EXPIRED else sign_in.error,
        "sign_in_host": urlsplit(str(sign_in.server.get("issuer", ""))).netloc,
    }


def _list_kinds() -> dict[str, Any]:
    """Return the kinds that can be connected, with their labels; local processes only if the operator allows any."""
    kinds = dict(ConnectionKind.choices)
    if not list_commands():
        del kinds[ConnectionKind.MCP_STDIO]
    return kinds


def _list_web_services(connections: Sequence[ToolConnection]) -> list[dict[str, Any]]:
    """Return the services on the web with their tools, and the team's account with each."""
    accounts = {row.slug: row for row in connections if row.kind == ConnectionKind.WEB}
    return [
        {
            "service": service,
            "account": accounts.get(service.name),
            "can_connect": service.name not in accounts
            and (service.key != "none" or service.needs_account),
            "tools": [tool for tool in WEB_TOOLS if tool.service == service.name],
        }
        for service in SERVICES.values()
    ]


def _add_error(form: PageForm, error: InvalidValue | NameTaken) -> None:
    field = "base_url" if error.field == "url" and "url" not in form.fields else error.field
    code = TOO_LARGE if isinstance(error, ContentTooLarge) else None
    problem = ValidationError(str(error), code=code)
    form.add_error(field if field in form.fields else None, problem)


def describe_connected(connection: ToolConnection) -> str:
    """Return the message after a connection, or after the sign-in that it needed."""
    sign_in = get_sign_in(connection)
    if sign_in is not None and sign_in.status == SignInStatus.NEEDED:
        return _("Added. Sign in to list its tools.")
    count = len(connection.operations)
    text = ngettext("Connected. %(n)d tool listed.", "Connected. %(n)d tools listed.", count)
    return text % {"n": count}


def _describe_changed(count: int) -> str:
    if not count:
        return _("Refreshed. Nothing has changed.")
    text = ngettext(
        "Refreshed. %(n)d operation is new or changed; review and enable it.",
        "Refreshed. %(n)d operations are new or changed; review and enable them.",
        count,
    )
    return text % {"n": count}

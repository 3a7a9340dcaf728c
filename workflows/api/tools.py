"""Routes of ``/api/v1/tools/connections``. No secret is ever returned."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.pages import Pages
from workflows import selectors
from workflows.engine.tool_calls import ToolResult
from workflows.models import ConnectionKind, ToolConnection
from workflows.schemas import tools as schemas
from workflows.schemas.workflows import SecretIn
from workflows.services import tools
from workflows.services.tools import trying


router = Router(auth=api_auth(), tags=["tools"])

CONNECTIONS = "/tools/connections"
CONNECTION = "/tools/connections/{uuid:connection_id}"


@router.get(CONNECTIONS, response=list[schemas.ConnectionOut], summary="List tool connections")
@paginate(Pages)
def list_connections(request: HttpRequest) -> QuerySet[ToolConnection]:
    """Return the current team's connections to APIs and MCP servers, without their secrets."""
    return selectors.list_tool_connections(get_principal(request), get_current_team_id(request))


@router.post(CONNECTIONS, response={201: schemas.ConnectionOut}, summary="Connect tools")
def create_connection(request: HttpRequest, body: schemas.ConnectionIn) -> Status[ToolConnection]:
    """Connect an API by its OpenAPI document, an MCP server, or an account with a web service, to your current team."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    values = body.dict()
    kind, url = values.pop("kind"), values.pop("url")
    document = {name: values.pop(name) for name in ("document", "document_url")}
    command = values.pop("command")
    if kind == ConnectionKind.OPENAPI:
        row = tools.connect_openapi(principal, team_id=team_id, base_url=url, **document, **values)
    elif kind == ConnectionKind.MCP_HTTP:
        row = tools.connect_mcp(principal, team_id=team_id, url=url, **values)
    elif kind == ConnectionKind.WEB:
        row = tools.connect_service(
            principal, team_id=team_id, service=values["slug"], url=url, secret=values["secret"]
        )
    else:
        row = tools.connect_process(principal, team_id=team_id, command=command, **values)
    return Status(201, row)


@router.get(CONNECTION, response=schemas.ConnectionOut, summary="Get a tool connection")
def read_connection(request: HttpRequest, connection_id: UUID) -> ToolConnection:
    """Return a connection with its operations, without its secret."""
    return selectors.find_tool_connection(get_principal(request), connection_id)


@router.patch(CONNECTION, response=schemas.ConnectionOut, summary="Choose operations")
def choose_operations(
    request: HttpRequest, connection_id: UUID, body: schemas.OperationsIn
) -> ToolConnection:
    """Set which operations are tools, which of them need approval, and how long a call of an MCP server may take."""
    principal, connection = _find(request, connection_id)
    return tools.choose_operations(
        principal,
        connection=connection,
        enabled=body.enabled_operations,
        approvals=body.approval_operations,
        call_seconds=body.call_seconds,
    )


@router.post(
    f"{CONNECTION}/refresh",
    response=schemas.RefreshOut,
    summary="Read the operations of a connection again",
)
def refresh_connection(
    request: HttpRequest, connection_id: UUID, body: schemas.RefreshIn
) -> dict[str, Any]:
    """List the operations again. New and changed ones are disabled until you enable them."""
    principal, connection = _find(request, connection_id)
    changed = tools.refresh_connection(principal, connection=connection, document=body.document)
    return {"changed": changed, "connection": connection}


@router.post(f"{CONNECTION}/try", response=schemas.ToolResultOut, summary="Try an operation")
def try_operation(request: HttpRequest, connection_id: UUID, body: schemas.TryIn) -> ToolResult:
    """Call an enabled operation once. It really is called: what it changes is changed."""
    principal, connection = _find(request, connection_id)
    return trying.try_operation(
        principal, connection=connection, name=body.operation, arguments=body.arguments
    )


@router.put(f"{CONNECTION}/secret", response=schemas.ConnectionOut, summary="Replace the secret")
def replace_connection_secret(
    request: HttpRequest, connection_id: UUID, body: SecretIn
) -> ToolConnection:
    """Replace the connection's secret, or give it one. It is sent to the connection's host alone."""
    principal, connection = _find(request, connection_id)
    return tools.replace_secret(principal, connection=connection, secret=body.secret)


@router.delete(f"{CONNECTION}/secret", response={204: None}, summary="Remove the secret")
def remove_connection_secret(request: HttpRequest, connection_id: UUID) -> Status[None]:
    """Delete the connection's secret."""
    principal, connection = _find(request, connection_id)
    tools.remove_secret(principal, connection=connection)
    return Status(204, None)


@router.delete(f"{CONNECTION}/sign-in", response={204: None}, summary="Sign out of an MCP server")
def delete_sign_in(request: HttpRequest, connection_id: UUID) -> Status[None]:
    """Delete the tokens of the connection, and ask their server to forget them. A person signs in on the page Tools."""
    principal, connection = _find(request, connection_id)
    tools.sign_out(principal, connection=connection)
    return Status(204, None)


@router.delete(CONNECTION, response={204: None}, summary="Delete a tool connection")
def delete_connection(request: HttpRequest, connection_id: UUID) -> Status[None]:
    """Delete a connection and its secret. Workflows that use its tools fail from then on."""
    principal, connection = _find(request, connection_id)
    tools.disconnect(principal, connection=connection)
    return Status(204, None)


def _find(request: HttpRequest, connection_id: UUID) -> tuple[Principal, ToolConnection]:
    principal = get_principal(request)
    return principal, selectors.find_tool_connection(principal, connection_id, change=True)

"""Calls an operation once, to see what it answers."""

from collections.abc import Mapping
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from config.ids import uuid7
from workflows import permissions
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolReference, ToolResult
from workflows.engine.tools.port import LocalTools
from workflows.errors import InvalidValue
from workflows.execution.ports.http import GuardedHttp
from workflows.models import ToolConnection
from workflows.services import audit_lines
from workflows.tools.connections import build_tool, call_connection_tool, read_connection


def try_operation(
    principal: Principal, *, connection: ToolConnection, name: str, arguments: Mapping[str, Json]
) -> ToolResult:
    """Call an enabled operation with these arguments. A server that can't be reached is an error of the result.

    The call is in the audit log, as it may change something elsewhere; its arguments and its result are not.
    """
    permissions.check_manage(principal, connection)
    target = read_connection(connection)
    operation = target.operations.get(name)
    if operation is None or name not in target.enabled:
        raise InvalidValue(_("Enable this operation to try it."), field="operation")
    with tenant([connection.team_id]):
        audit_lines.record(principal, connection, "tool.tried", operation=name)
    tool = build_tool(target, operation)
    try:
        return async_to_sync(call_connection_tool)(target, tool, arguments, f"try-{uuid7()}")
    except ToolFailed as fault:
        return ToolResult(str(fault), is_error=True)


def try_builtin(
    principal: Principal, *, team_id: UUID, name: str, arguments: Mapping[str, Json]
) -> ToolResult:
    """Call a built-in tool. HTTP requests go through the guarded client, as in a run."""
    permissions.check_view_credentials(principal, team_id)
    local_tools = LocalTools(http=GuardedHttp())

    async def call() -> ToolResult:
        (tool,) = await local_tools.find([ToolReference("builtin", name)])
        return await local_tools.call(tool, arguments, idempotency_key=f"try-{uuid7()}")

    try:
        return async_to_sync(call)()
    except ToolFailed as fault:
        return ToolResult(str(fault), is_error=True)

"""Calls an operation once, to see what it answers."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal
from accounts.request_transaction import without_connection
from accounts.tenancy import tenant
from config.ids import uuid7
from workflows import permissions
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Document, Json
from workflows.engine.sub_workflows.form import check_call
from workflows.engine.tool_calls import ToolAsks, ToolReference, ToolResult, ToolSource
from workflows.engine.tools.port import LocalTools
from workflows.errors import InvalidValue
from workflows.execution.ports.http import GuardedHttp
from workflows.models import Run, ToolConnection, Workflow
from workflows.models.documents import from_json
from workflows.services import audit_lines
from workflows.services.outside_calls import take_places
from workflows.services.runs.runs import start_run
from workflows.tools.connections import build_tool, call_connection_tool, read_connection
from workflows.tools.port import load_local_tools
from workflows.tools.threads import run_in_thread
from workflows.tools.web_accounts import TeamAccounts


TRY_SECONDS: Final = 120.0  # of a call for which a person waits, whatever its connection allows


def try_operation(
    principal: Principal, *, connection: ToolConnection, name: str, arguments: Mapping[str, Json]
) -> ToolResult:
    """Call an enabled operation with these arguments. A server that can't be reached is an error of the result.

    The call is in the audit log, as it may change something elsewhere; its arguments and its result are not.
    """
    permissions.check_manage(principal, connection)
    target = read_connection(connection)
    target = replace(target, limit=target.limit.shorten(TRY_SECONDS))
    operation = target.operations.get(name)
    if operation is None or name not in target.enabled:
        raise InvalidValue(_("Enable this operation to try it."), field="operation")
    tool = build_tool(target, operation)

    async def call() -> ToolResult:
        return await call_connection_tool(target, tool, arguments, f"try-{uuid7()}")

    with take_places(principal, connection.team_id):
        with tenant([connection.team_id]):
            audit_lines.record(principal, connection, "tool.tried", operation=name)
        return _call(call)


def try_local(
    principal: Principal,
    *,
    team_id: UUID,
    source: ToolSource,
    name: str,
    arguments: Mapping[str, Json],
) -> ToolResult:
    """Call a built-in tool or one of a plug-in. HTTP requests go through the guarded client, as in a run.

    A call of a plug-in is in the audit log, as it may change something elsewhere.
    """
    permissions.check_view_credentials(principal, team_id)
    accounts = TeamAccounts(team_id, lambda: principal, run_in_thread)
    local_tools = LocalTools(load_local_tools(), http=GuardedHttp(), accounts=accounts)

    async def call() -> ToolResult:
        (tool,) = await local_tools.find([ToolReference(source, name)])
        return await local_tools.call(tool, arguments, idempotency_key=f"try-{uuid7()}")

    with take_places(principal, team_id):
        if source == "plugin":
            _record_plugin(principal, team_id, name)
        return _call(call)


def _record_plugin(principal: Principal, team_id: UUID, name: str) -> None:
    with tenant([team_id]):
        audit.record(
            team_id=team_id,
            actor=principal.actor,
            actor_kind=principal.kind,
            action="tool.tried",
            subject=f"tool:{name}",
            detail={"operation": name},
        )


def _call(call: Callable[[], Coroutine[object, object, ToolResult]]) -> ToolResult:
    """Make the call without a connection, whatever it takes. A failure is a result, too."""
    try:
        with without_connection():
            return async_to_sync(call)()
    except ToolFailed as fault:
        return ToolResult(str(fault), is_error=True)
    except ToolAsks as asked:
        sentence = _("The server asks a person before it answers. A run shows this question:")
        return ToolResult(f"{sentence}\n\n{asked.form['content']}")


def try_workflow(principal: Principal, *, workflow: Workflow, arguments: Mapping[str, Json]) -> Run:
    """Start a run of the workflow with the arguments of a tool call, for the person who tries it.

    Raises InputRejected with the arguments that do not fit.
    """
    permissions.check_run(principal, workflow)
    inputs, query = check_call(_load_published(workflow), arguments)
    return start_run(principal, workflow=workflow, inputs=inputs, query=query, version="published")


def _load_published(workflow: Workflow) -> Document:
    with tenant([workflow.team_id]):
        version = workflow.published_version
        return from_json(version.snapshot.document if version else {})

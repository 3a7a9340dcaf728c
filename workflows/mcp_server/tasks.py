"""The extension "tasks" of MCP: a run that takes longer than a call is fetched, answered and stopped by its id.

Every task is a run. Clients that don't know the extension ask ``get_run_result`` instead.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from accounts.errors import NotFound
from workflows import selectors
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.questions import can_ask, store_answers
from workflows.mcp_server.run_results import describe_task
from workflows.models import Run
from workflows.services.runs.runs import cancel_run


Json = Any  # JSON
Context = ServerRequestContext[Any]

EXTENSION: Final = "io.modelcontextprotocol/tasks"


class TaskParams(types.RequestParams):
    """The task that a request is about."""

    task_id: str


class UpdateParams(TaskParams):
    """Answers to the questions of a task, by their ids."""

    input_responses: types.InputResponses


def can_poll(capabilities: types.ClientCapabilities | None) -> bool:
    """Return whether a client knows tasks."""
    return EXTENSION in ((capabilities.extensions if capabilities else None) or {})


def add_task_handlers(server: Server[Any], caller: Caller) -> None:
    """Let the server answer ``tasks/get``, ``tasks/update`` and ``tasks/cancel``."""

    async def get(context: Context, params: TaskParams) -> dict[str, Json]:
        asks = can_ask(context.session.client_capabilities)
        return await caller.run(_get, caller, params.task_id, asks)

    async def update(_context: Context, params: UpdateParams) -> dict[str, Json]:
        return await caller.run(_update, caller, params)

    async def cancel(_context: Context, params: TaskParams) -> dict[str, Json]:
        return await caller.run(_cancel, caller, params.task_id)

    server.add_request_handler("tasks/get", TaskParams, _for_declaring(get))
    server.add_request_handler("tasks/update", UpdateParams, _for_declaring(update))
    server.add_request_handler("tasks/cancel", TaskParams, _for_declaring(cancel))


def _for_declaring(
    handle: Callable[[Context, Any], Awaitable[dict[str, Json]]],
) -> Callable[[Context, Any], Awaitable[dict[str, Json]]]:
    """Return the handler for clients that declare the extension; others are told that they have to."""

    async def check(context: Context, params: Any) -> dict[str, Json]:
        if not can_poll(context.session.client_capabilities):
            needed: Json = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            message = "Missing required client capability"
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)
        return await handle(context, params)

    return check


def _get(caller: Caller, task_id: str, asks: bool) -> dict[str, Json]:
    return describe_task(caller, _find(caller, task_id), can_ask=asks)


def _update(caller: Caller, params: UpdateParams) -> dict[str, Json]:
    run = _find(caller, params.task_id)
    _after, problems = store_answers(caller, run, params.input_responses)
    if problems:
        raise MCPError(types.INVALID_PARAMS, "; ".join(problems.values()))
    return {}


def _cancel(caller: Caller, task_id: str) -> dict[str, Json]:
    cancel_run(caller.principal, _find(caller, task_id))
    return {}


def _find(caller: Caller, task_id: str) -> Run:
    try:
        return selectors.find_run(caller.principal, UUID(task_id))
    except (ValueError, NotFound):
        raise MCPError(types.INVALID_PARAMS, _("There is no such task.")) from None

"""Published workflows as tools. A run that takes longer than a call may last goes on, and is asked for later."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from mcp import types

from workflows import selectors
from workflows.engine.runtime.events import NodeStateChange
from workflows.engine.sub_workflows.form import QUERY
from workflows.execution.events.reader import RUN_FINISHED, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.ports.workflow_tools import describe_workflow
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.progress import Progress
from workflows.mcp_server.tools import ServedTool, build_error, build_result, build_schema
from workflows.models import Run, Workflow
from workflows.models.run import Channel, RunStatus
from workflows.services.publishing import list_published_workflows
from workflows.services.runs.runs import start_run
from workflows.services.runs.waiting import waits_for_a_person
from workflows.services.runs.waits import answer_with_message


Json = Any  # JSON

MAX_SECONDS: Final = 300.0  # of a call that starts a run; the run goes on
MAX_RESULT_SECONDS: Final = 60.0  # of a call that asks for the result of a run
REPORT_SECONDS: Final = 10.0  # between two reports of a call in which nothing happens
CONVERSATION: Final = "conversation_id"
RESULT_TOOL: Final = "get_run_result"
_CONVERSATION_SCHEMA: Final = {
    "type": "string",
    "description": "Continues the conversation of an earlier call, whose result names it. Leave it out to begin a new one.",
}


def list_workflow_tools(caller: Caller) -> list[ServedTool]:
    """Return a tool for each published workflow that the caller may run, and one for the results of runs."""
    if not caller.allows("workflows:read", "runs:write", "runs:read"):
        return []
    workflows = list_published_workflows(caller.principal, caller.team_id, "name", "id")
    tools = [_build_tool(workflow) for workflow in workflows]
    return [*tools, _RESULTS] if tools else []


def _build_tool(workflow: Workflow) -> ServedTool:
    spec = describe_workflow(workflow)
    schema = dict(spec.parameters)
    if workflow.is_chat:
        properties = {**schema["properties"], CONVERSATION: _CONVERSATION_SCHEMA}
        schema = {**schema, "properties": properties}
    tool = types.Tool(
        name=spec.name,
        title=workflow.name,
        description=spec.description,
        inputSchema=schema,
        annotations=types.ToolAnnotations(title=workflow.name, openWorldHint=True),
    )

    async def call(
        caller: Caller, arguments: Mapping[str, Json], progress: Progress
    ) -> types.CallToolResult:
        run, after = await caller.run(_start, caller, workflow.pk, arguments)
        return await _wait_and_tell(caller, run, after, progress, MAX_SECONDS)

    return ServedTool(tool, call)


def _start(caller: Caller, workflow_id: UUID, arguments: Mapping[str, Json]) -> tuple[Run, int]:
    """Start a run, or answer the question that its conversation waits for. Return it with its last known event."""
    workflow = selectors.find_workflow(caller.principal, workflow_id, "run")
    values = dict(arguments)
    conversation = values.pop(CONVERSATION, None) if workflow.is_chat else None
    query = values.pop(QUERY, None) if workflow.is_chat else None
    if conversation is not None and query is not None:
        answered = answer_with_message(
            caller.principal,
            workflow=workflow,
            conversation=str(conversation),
            message=str(query),
            subject=caller.user,
        )
        if answered is not None:
            return answered, answered.last_seq
    run = start_run(
        caller.principal,
        workflow=workflow,
        subject=caller.user,
        version="published",
        inputs=values,
        query=None if query is None else str(query),
        conversation=None if conversation is None else str(conversation),
        channel=Channel.MCP,
    )
    return run, 0


async def _wait_and_tell(
    caller: Caller, run: Run, after: int, progress: Progress, seconds: float
) -> types.CallToolResult:
    try:
        async with asyncio.timeout(seconds):
            await _follow(run, after, progress)
    except TimeoutError:
        pass  # the result says that the run goes on
    return await caller.run(_tell, caller, run.pk)


async def _follow(run: Run, after: int, progress: Progress) -> None:
    """Report each node that begins, until the run has ended or waits for a person."""
    events = follow(get_run_feed(), run.team_id, run.pk, after, idle_seconds=REPORT_SECONDS)
    async for event in events:
        if event is None:
            await progress.report()
        elif event.name == RUN_FINISHED or waits_for_a_person(event):
            return
        elif event.name == NodeStateChange.name and event.data.get("status") == "running":
            await progress.report(event.data.get("title") or event.data.get("node"))


def _tell(caller: Caller, run_id: UUID) -> types.CallToolResult:
    """Return the result of a run as it is now."""
    run = selectors.find_run(caller.principal, run_id)
    summary: dict[str, Json] = {"run_id": str(run.pk), "status": run.status}
    if run.conversation is not None:
        summary[CONVERSATION] = run.conversation.key
    if run.status in (RunStatus.FAILED, RunStatus.STOPPED):
        return build_error(run.error or str(run.status_text), **summary)
    if not run.has_ended:
        return build_result({**summary, "message": _explain_open(caller, run)})
    outputs = run.outputs or {}
    answer = outputs.get("answer")
    is_only_answer = isinstance(answer, str) and run.workflow.is_chat
    return build_result({**summary, "outputs": outputs}, answer if is_only_answer else None)


def _explain_open(caller: Caller, run: Run) -> str:
    if run.status == RunStatus.PAUSED:
        address = f"{caller.base_url}{reverse('workflows:run', args=[run.pk])}"
        return _("The run waits for a person, who answers at %(address)s.") % {"address": address}
    return _("The run goes on. Ask for its result with %(tool)s.") % {"tool": RESULT_TOOL}


async def _call_results(
    caller: Caller, arguments: Mapping[str, Json], progress: Progress
) -> types.CallToolResult:
    try:
        run_id = UUID(str(arguments.get("run_id")))
    except ValueError:
        return build_error("run_id: must be the run_id of an earlier result.")
    run = await caller.run(selectors.find_run, caller.principal, run_id)
    if run.has_ended:
        return await caller.run(_tell, caller, run_id)
    return await _wait_and_tell(caller, run, run.last_seq, progress, MAX_RESULT_SECONDS)


_RESULTS: Final = ServedTool(
    types.Tool(
        name=RESULT_TOOL,
        title="Result of a run",
        description="Waits for the result of a run that an earlier call left open, by its run_id.",
        inputSchema=build_schema(
            ("run_id",), run_id={"type": "string", "description": "From an earlier result"}
        ),
        annotations=types.ToolAnnotations(readOnlyHint=True),
    ),
    _call_results,
)

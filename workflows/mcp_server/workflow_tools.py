"""Published workflows as tools. A run that takes longer than a call may last goes on, and is asked for later."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from mcp import types

from accounts.errors import NotFound
from workflows import selectors
from workflows.engine.runtime.events import NodeStateChange
from workflows.engine.sub_workflows.form import QUERY
from workflows.execution.events.reader import RUN_FINISHED, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.ports.workflow_tools import (
    describe_workflow,
    get_tool_name,
    match_tool_name,
)
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.progress import Progress
from workflows.mcp_server.questions import store_answers
from workflows.mcp_server.run_results import CONVERSATION, RESULT_TOOL, tell
from workflows.mcp_server.tools import (
    Call,
    Result,
    ServedTool,
    build_error,
    build_schema,
    mark_replayed,
)
from workflows.models import Run, Workflow
from workflows.models.run import Channel, RunStatus
from workflows.services import idempotency
from workflows.services.idempotency import StoredAnswer
from workflows.services.publishing import list_published_workflows
from workflows.services.runs.runs import start_run
from workflows.services.runs.waiting import waits_for_a_person
from workflows.services.runs.waits import answer_with_message


Json = Any  # JSON

_SCOPES: Final = ("workflows:read", "runs:write", "runs:read")
_ORDER: Final = ("name", "id")
MAX_SECONDS: Final = 300.0  # of a call that starts a run; the run goes on
TASK_SECONDS: Final = 5.0  # after which a client that knows tasks gets one
MAX_RESULT_SECONDS: Final = 60.0  # of a call that asks for the result of a run
REPORT_SECONDS: Final = 10.0  # between two reports of a call in which nothing happens
_CONVERSATION_SCHEMA: Final = {
    "type": "string",
    "description": "Continues the conversation of an earlier call, whose result names it. Leave it out to begin a new one.",
}


@dataclass(frozen=True, slots=True)
class _Start:
    """The run of a call, and its last known event. ``is_replayed``: an earlier call with the same key has started it."""

    run: Run
    after: int
    is_replayed: bool = False


def list_workflow_tools(caller: Caller) -> list[ServedTool]:
    """Return a tool for each published workflow that the caller may run, and one for the results of runs."""
    if not caller.allows(*_SCOPES):
        return []
    workflows = list_published_workflows(caller.principal, caller.team_id, *_ORDER)
    tools = [_build_tool(workflow) for workflow in workflows]
    return [*tools, _RESULTS] if tools else []


def find_workflow_tool(caller: Caller, name: str) -> ServedTool | None:
    """Return one tool of ``list_workflow_tools`` by its name, without the other workflows."""
    if not caller.allows(*_SCOPES):
        return None
    workflows = list_published_workflows(
        caller.principal,
        caller.team_id,
        *_ORDER,
        condition=match_tool_name(name),
        with_documents=False,
    )
    for workflow in workflows:
        if get_tool_name(workflow) == name:
            return _build_tool(workflow)
    return _RESULTS if name == RESULT_TOOL else None


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
        input_schema=schema,
        annotations=types.ToolAnnotations(title=workflow.name, open_world_hint=True),
    )

    async def run_workflow(call: Call) -> Result:
        if call.state:
            run = await call.caller.run(_find_asking, call, workflow.pk)
            return await _answer_and_tell(call, run, MAX_SECONDS)
        start = await call.caller.run(_start_once, call.caller, workflow.pk, call.arguments)
        result = await _wait_and_tell(call, start.run, start.after, MAX_SECONDS)
        return mark_replayed(result) if start.is_replayed else result

    return ServedTool(tool, run_workflow)


def _find_asking(call: Call, workflow_id: UUID) -> Run:
    """Return the run of this workflow that had asked the client. Raises NotFound for any other one."""
    try:
        run = selectors.find_run(call.caller.principal, UUID(call.state))
    except ValueError:
        raise NotFound from None
    if run.workflow_id != workflow_id:
        raise NotFound
    return run


def _start_once(caller: Caller, workflow_id: UUID, arguments: Mapping[str, Json]) -> _Start:
    """Start the run of a call. The same call with the same ``Idempotency-Key`` gets the run that it had started."""
    if caller.idempotency_key is None:
        return _start(caller, workflow_id, arguments)
    claimed = idempotency.claim_key(
        caller.principal,
        caller.team_id,
        key=idempotency.check_key(caller.idempotency_key),
        digest=_compute_digest(caller, workflow_id, arguments),
    )
    if isinstance(claimed, StoredAnswer):
        note = json.loads(claimed.body)
        run = selectors.find_run(caller.principal, UUID(note["run"]))
        return _Start(run, note["after"], is_replayed=True)
    start = _start(caller, workflow_id, arguments)
    body = json.dumps({"run": str(start.run.pk), "after": start.after})
    idempotency.store_answer(claimed, status=202, body=body, object_id=start.run.pk)
    return start


def _compute_digest(caller: Caller, workflow_id: UUID, arguments: Mapping[str, Json]) -> str:
    """Return the digest of a call, without the number that each message of a client has."""
    call = ["tools/call", str(workflow_id), caller.user, arguments]
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()


def _start(caller: Caller, workflow_id: UUID, arguments: Mapping[str, Json]) -> _Start:
    """Start a run, or answer the question that its conversation waits for."""
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
            return _Start(answered, answered.last_seq)
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
    return _Start(run, 0)


async def _wait_and_tell(call: Call, run: Run, after: int, seconds: float) -> Result:
    """Wait until the run has ended or asks a person. A client that knows tasks waits shortly, and fetches the rest."""
    try:
        async with asyncio.timeout(min(seconds, TASK_SECONDS) if call.can_poll else seconds):
            await _follow(run, after, call.progress)
    except TimeoutError:
        pass  # the result says that the run goes on
    return await call.caller.run(tell, call, run.pk)


async def _answer_and_tell(call: Call, run: Run, seconds: float) -> Result:
    """Store the answers of the person in front of the client, and wait for what the run makes of them."""
    after, problems = await call.caller.run(store_answers, call.caller, run, call.answers)
    if problems:
        return await call.caller.run(tell, call, run.pk, problems)
    if after is None and run.status == RunStatus.PAUSED:
        # The person declined, and isn't asked again by this call; without any answer the client only forgot the question.
        return await call.caller.run(partial(tell, call, run.pk, asks=not call.answers))
    after = run.last_seq if after is None else after
    return await _wait_and_tell(call, run, after, seconds)


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


async def _call_results(call: Call) -> Result:
    try:
        run_id = UUID(str(call.arguments.get("run_id")))
    except ValueError:
        return build_error("run_id: must be the run_id of an earlier result.")
    run = await call.caller.run(selectors.find_run, call.caller.principal, run_id)
    if run.has_ended or (run.status == RunStatus.PAUSED and call.can_ask and not call.answers):
        return await call.caller.run(tell, call, run_id)
    if call.answers:
        return await _answer_and_tell(call, run, MAX_RESULT_SECONDS)
    return await _wait_and_tell(call, run, run.last_seq, MAX_RESULT_SECONDS)


_RESULTS: Final = ServedTool(
    types.Tool(
        name=RESULT_TOOL,
        title="Result of a run",
        description="Waits for the result of a run that an earlier call left open, by its run_id.",
        input_schema=build_schema(
            ("run_id",), run_id={"type": "string", "description": "From an earlier result"}
        ),
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    _call_results,
)

"""Tells a client how a run stands: its outputs, a question for the person in front of the client, or that it goes on."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from mcp import types

from workflows import selectors
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.questions import Problems, list_questions
from workflows.mcp_server.tools import Call, Result, build_error, build_result
from workflows.models import Run
from workflows.models.run import RunStatus


Json = Any  # JSON

CONVERSATION: Final = "conversation_id"
RESULT_TOOL: Final = "get_run_result"
POLL_MS: Final = 2000  # between two questions of a client about a task


def tell(
    call: Call, run_id: UUID, problems: Problems | None = None, *, asks: bool = True
) -> Result:
    """Return the result of a run as it is now. Without ``asks``, its questions are left to whoever sees the run."""
    run = selectors.find_run(call.caller.principal, run_id)
    if run.has_ended:
        return build_outcome(run)
    can_ask = call.can_ask and asks
    questions = list_questions(call.caller, run, problems) if can_ask else {}
    if questions:
        return types.InputRequiredResult(input_requests=questions, request_state=str(run.pk))
    if call.can_poll:
        return {"resultType": "task", **describe_task(call.caller, run, can_ask=can_ask)}
    return build_result({**_summarize(run), "message": _explain_open(call.caller, run)})


def build_outcome(run: Run) -> types.CallToolResult:
    """Return the result of a run that has ended."""
    summary = _summarize(run)
    if run.status in (RunStatus.FAILED, RunStatus.STOPPED):
        return build_error(run.error or str(run.status_text), **summary)
    outputs = run.outputs or {}
    answer = outputs.get("answer")
    is_only_answer = isinstance(answer, str) and run.workflow.is_chat
    return build_result({**summary, "outputs": outputs}, answer if is_only_answer else None)


def describe_task(caller: Caller, run: Run, *, can_ask: bool) -> dict[str, Json]:
    """Return a run as a task. Its questions are shown to clients that can ask a person."""
    changed_at = run.finished_at or run.started_at or run.created_at
    task: dict[str, Json] = {
        "taskId": str(run.pk),
        "status": "working",
        "createdAt": run.created_at.isoformat(),
        "lastUpdatedAt": changed_at.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": POLL_MS,
    }
    if run.status == RunStatus.STOPPED:
        return {**task, "status": "cancelled"}
    if run.has_ended:
        return {**task, "status": "completed", "result": _dump(build_outcome(run))}
    if run.status != RunStatus.PAUSED:
        return task
    questions = list_questions(caller, run) if can_ask else {}
    if questions:
        requests = {key: _dump(question) for key, question in questions.items()}
        return {**task, "status": "input_required", "inputRequests": requests}
    return {**task, "statusMessage": _explain_open(caller, run)}


def _summarize(run: Run) -> dict[str, Json]:
    summary: dict[str, Json] = {"run_id": str(run.pk), "status": run.status}
    if run.conversation is not None:
        summary[CONVERSATION] = run.conversation.key
    return summary


def _explain_open(caller: Caller, run: Run) -> str:
    if run.status == RunStatus.PAUSED:
        address = f"{caller.base_url}{reverse('workflows:run', args=[run.pk])}"
        return _("The run waits for a person, who answers at %(address)s.") % {"address": address}
    return _("The run goes on. Ask for its result with %(tool)s.") % {"tool": RESULT_TOOL}


def _dump(model: types.CallToolResult | types.InputRequest) -> Mapping[str, Json]:
    dumped: Mapping[str, Json] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped

"""Runs as the API's answers: only what is named here leaves the house."""

from accounts.access import Principal
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.models import Run, Step
from workflows.models.run import RunStatus
from workflows.services.runs import run_access


def run_out(row: Run) -> dict[str, object]:
    version, conversation = row.version, row.conversation
    return {
        "id": row.pk,
        "workflow_id": row.workflow_id,
        "version": version.number if version else None,
        "conversation_id": conversation.key if conversation else None,
        "user": row.subject,
        "status": row.status,
        "inputs": row.inputs,
        "outputs": row.outputs,
        "error": row.error,
        "error_node": row.error_node,
        "prompt_tokens": row.prompt_tokens,
        "completion_tokens": row.completion_tokens,
        "attempt": row.attempt,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "elapsed": row.elapsed,
        "debug": _asked(row.debug),
        "paused_at": paused_at(row),
        "pinned": sorted(row.mocks or ()),
        "events_url": f"/api/v1/runs/{row.pk}/events",
    }


def detail_out(principal: Principal, row: Run) -> dict[str, object]:
    steps = [step_out(step, row) for step in selectors.steps_of(principal, row)]
    return {**run_out(row), "steps": steps, **_memories(principal, row)}


def step_out(row: Step, run: Run) -> dict[str, object]:
    names = (
        "rounds",
        "kind",
        "title",
        "status",
        "handle",
        "inputs",
        "outputs",
        "error",
        "error_type",
        "tries",
        "started_at",
        "elapsed",
        "prompt_tokens",
        "completion_tokens",
        "reused_from",
        "edited_by",
        "edited_at",
    )
    pinned = is_pinned(run, row)
    return {"node": row.node_key, "pinned": pinned, **{n: getattr(row, n) for n in names}}


def step_detail_out(principal: Principal, run: Run, row: Step) -> dict[str, object]:
    of_run = _memories(principal, run).items()
    of_step = {name: [one for one in said if one["node"] == row.node_key] for name, said in of_run}
    return {**step_out(row, run), **of_step}


def is_pinned(run: Run, row: Step) -> bool:
    mocks = run.mocks or {}
    return row.node_key in mocks or f"type:{row.kind}" in mocks


def paused_at(run: Run) -> list[str]:
    """The nodes a run stands still before."""
    return (run.pause or {}).get("nodes", []) if run.status == RunStatus.PAUSED else []


def _asked(debug: Json) -> Json:
    """What was asked for; where the conversation stood is the run's own business."""
    if debug is None:
        return None
    return {name: value for name, value in debug.items() if name not in ("turn", "variables")}


def _memories(principal: Principal, run: Run) -> dict[str, list[Json]]:
    """What memory told the run and what it wrote. Who reads of an outside person's is in the trail.

    Of one step as well: what another recalled may stand in its prompt.
    """
    events = list(selectors.events_of(principal, run, *_SHOWN_AS).values_list("name", "data"))
    run_access.record_api_access(principal, run, run_access.list_shown_namespaces(events))
    return {
        shown_as: [data for name, data in events if name == said]
        for said, shown_as in _SHOWN_AS.items()
    }


_SHOWN_AS = {MemoryRecalled.name: "memories_recalled", MemoryWritten.name: "memories_written"}

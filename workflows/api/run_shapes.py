"""Runs as the API's answers: only what is named here leaves the house."""

from accounts.access import Principal
from workflows import selectors
from workflows.engine.document import Json
from workflows.models import Run, Step


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
        "events_url": f"/api/v1/runs/{row.pk}/events",
    }


def detail_out(principal: Principal, row: Run) -> dict[str, object]:
    return {
        **run_out(row),
        "steps": [step_out(step) for step in selectors.steps_of(principal, row)],
        "memories_recalled": _said(principal, row, "memory_recalled"),
        "memories_written": _said(principal, row, "memory_written"),
    }


def step_out(row: Step) -> dict[str, object]:
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
    )
    return {"node": row.node_key, **{name: getattr(row, name) for name in names}}


def _said(principal: Principal, row: Run, name: str) -> list[Json]:
    events = selectors.events_of(principal, row, name)
    return list(events.values_list("data", flat=True))

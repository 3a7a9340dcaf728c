"""Runs as the API's answers: only what is named here leaves the house."""

from workflows.engine.document import Json
from workflows.models import Run, RunEvent, Step


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


def detail_out(row: Run) -> dict[str, object]:
    steps = Step.objects.unscoped().filter(run=row).order_by("id")
    return {
        **run_out(row),
        "steps": [step_out(step) for step in steps],
        "memories_recalled": _said(row, "memory_recalled"),
        "memories_written": _said(row, "memory_written"),
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


def _said(row: Run, name: str) -> list[Json]:
    events = RunEvent.objects.unscoped().filter(run=row, name=name).order_by("seq")
    return list(events.values_list("data", flat=True))

"""Serialize runs and steps for the API's responses, which contain only the fields named here."""

from accounts.access import Principal
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.models import Run, Step
from workflows.models.run import RunStatus
from workflows.services.models.answering import MODEL_KINDS, read_answering_model
from workflows.services.runs import run_access


_MEMORY_KEYS = {MemoryRecalled.name: "memories_recalled", MemoryWritten.name: "memories_written"}
_STEP_FIELDS = (
    *("rounds", "kind", "title", "status", "handle", "inputs", "outputs", "error", "error_type", "tries"),
    *("started_at", "elapsed", "prompt_tokens", "completion_tokens", "reused_from", "edited_by", "edited_at"),
)  # fmt: skip


def serialize_run(run: Run) -> dict[str, object]:
    """Serialize a run without its steps and memories."""
    version, conversation = run.version, run.conversation
    return {
        "id": run.pk,
        "workflow_id": run.workflow_id,
        "parent_id": run.parent_id,
        "version": version.number if version else None,
        "conversation_id": conversation.key if conversation else None,
        "user": run.subject,
        "status": run.status,
        "inputs": run.inputs,
        "outputs": run.outputs,
        "error": run.error,
        "error_node": run.error_node,
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "cost": run.cost,
        "attempt": run.attempt,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "elapsed": run.elapsed,
        "debug": _serialize_debug_options(run.debug),
        "paused_at": list_paused_nodes(run),
        "pinned": sorted(run.mocks or ()),
        "events_url": f"/api/v1/runs/{run.pk}/events",
    }


def serialize_run_detail(principal: Principal, run: Run) -> dict[str, object]:
    """Serialize a run with its steps and memories; reading an external user's memories is audited."""
    steps = [serialize_step(run, step) for step in selectors.list_steps(principal, run)]
    return {**serialize_run(run), "steps": steps, **_serialize_memories_and_audit(principal, run)}


def serialize_step(run: Run, step: Step) -> dict[str, object]:
    return {
        "node": step.node_key,
        "pinned": is_pinned(run, step),
        **{field: getattr(step, field) for field in _STEP_FIELDS},
        "model": read_answering_model(step.inputs) if step.kind in MODEL_KINDS else None,
        "is_cut": step.kind in MODEL_KINDS and step.outputs.get("finish_reason") == "length",
    }


def serialize_step_detail(principal: Principal, run: Run, step: Step) -> dict[str, object]:
    """Serialize a step with its memories; reading an external user's memories is audited."""
    run_memories = _serialize_memories_and_audit(principal, run).items()
    step_memories = {
        name: [memory for memory in memories if memory["node"] == step.node_key]
        for name, memories in run_memories
    }
    return {**serialize_step(run, step), **step_memories}


def is_pinned(run: Run, step: Step) -> bool:
    """Return whether the step's outputs were given for its node or its kind, so that the node didn't run."""
    mocks = run.mocks or {}
    return step.node_key in mocks or f"type:{step.kind}" in mocks


def list_paused_nodes(run: Run) -> list[str]:
    """Return the nodes that a paused run waits at; none if the run isn't paused."""
    return (run.pause or {}).get("nodes", []) if run.status == RunStatus.PAUSED else []


def _serialize_debug_options(debug: Json) -> Json:
    """Return the requested options, without the internal state of the conversation."""
    if debug is None:
        return None
    return {name: value for name, value in debug.items() if name not in ("turn", "variables")}


def _serialize_memories_and_audit(principal: Principal, run: Run) -> dict[str, list[Json]]:
    """Serialize the memories that the run recalled and wrote; record the access to an external user's in the audit log.

    The response for a single step records it too, because a prompt may contain memories that another step recalled.
    """
    events = list(selectors.list_events(principal, run, *_MEMORY_KEYS).values_list("name", "data"))
    run_access.record_api_access(principal, run, run_access.list_shown_namespaces(events))
    return {
        field: [data for name, data in events if name == event_name]
        for event_name, field in _MEMORY_KEYS.items()
    }

"""Serialize runs and steps for the API's responses, which contain only the fields named here."""

from typing import Final

from django.http import HttpResponse

from accounts.access import Principal
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import (
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryRecalled,
    MemoryWritten,
)
from workflows.execution.ports.client_calls import ClientCall
from workflows.models import Run, Step
from workflows.models.run import RunStatus
from workflows.services.models.answering import ASKING_KINDS, MODEL_KINDS, read_answering_model
from workflows.services.runs import run_access
from workflows.services.runs.citations import build_answer_metadata


RETRY_AFTER: Final = 2  # seconds after which a client looks again for the end of a run
PAUSED_RETRY_AFTER: Final = 30  # of a run that waits for a person or a time
_MEMORY_KEYS = {
    MemoryRecalled.name: "memories_recalled",
    MemoryWritten.name: "memories_written",
    MemoryForgotten.name: "memories_forgotten",
    MemoryForgetAsked.name: "memories_to_choose",
}
_STEP_FIELDS = (
    *("rounds", "kind", "title", "status", "handle", "outputs", "error", "error_type", "tries"),
    *("started_at", "elapsed", "waited", "prompt_tokens", "completion_tokens", "reused_from", "edited_by", "edited_at"),
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
        "channel": run.channel,
        "status": run.status,
        "query": run.system.get("query"),
        "inputs": run.inputs,
        "outputs": run.outputs,
        "error": run.error,
        "error_node": run.error_node,
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "cost": run.cost,
        "attempt": run.attempt_number,
        "request_id": run.request_id,
        "trace_id": run.trace_id,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "elapsed": run.elapsed,
        "debug": _serialize_debug_options(run.debug),
        "paused_at": list_paused_nodes(run),
        "pinned": sorted(run.mocks or ()),
        "url": build_run_url(run),
        "events_url": f"{build_run_url(run)}/events",
        "waits_url": f"{build_run_url(run)}/waits",
    }


def build_run_url(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}"


def set_progress_headers(response: HttpResponse, run: Run) -> None:
    """Say in a 202 where to look for the end of the run, and after how many seconds to look again."""
    response["Location"] = build_run_url(run)
    is_paused = run.status == RunStatus.PAUSED
    response["Retry-After"] = str(PAUSED_RETRY_AFTER if is_paused else RETRY_AFTER)


def serialize_run_detail(principal: Principal, run: Run) -> dict[str, object]:
    """Serialize a run with its steps and memories; reading an external user's memories is audited."""
    steps = [serialize_step(run, step) for step in selectors.list_steps(principal, run)]
    return {
        **serialize_run(run),
        "metadata": build_answer_metadata(principal, run),
        "steps": steps,
        "repeated_calls": run.repeated_calls,
        **_serialize_memories_and_audit(principal, run),
    }


def serialize_step(run: Run, step: Step) -> dict[str, object]:
    return {
        "node": step.node_key,
        "pinned": is_pinned(run, step),
        **{field: getattr(step, field) for field in _STEP_FIELDS},
        "inputs": step.shown_inputs,
        "model": read_answering_model(step.inputs) if step.kind in ASKING_KINDS else None,
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

    What the run left out was neither.

    The response for a single step records it too, because a prompt may contain memories that another step recalled.
    """
    left_out = ClientCall.from_json(run.client_call).list_left_out_scopes()
    rows = selectors.list_events(principal, run, *_MEMORY_KEYS).values_list("name", "data")
    events = [(name, data) for name, data in rows if data.get("scope") not in left_out]
    run_access.record_api_access(principal, run, run_access.list_shown_namespaces(events))
    return {
        field: [data for name, data in events if name == event_name]
        for event_name, field in _MEMORY_KEYS.items()
    }

"""Build the API's responses for runs; only the fields named here are sent."""

from accounts.access import Principal
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import MemoryRecalled, MemoryWritten
from workflows.models import Run, Step
from workflows.models.run import RunStatus
from workflows.services.runs import run_access


def build_run(row: Run) -> dict[str, object]:
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
        "debug": _build_debug_options(row.debug),
        "paused_at": list_paused_nodes(row),
        "pinned": sorted(row.mocks or ()),
        "events_url": f"/api/v1/runs/{row.pk}/events",
    }


def build_run_detail(principal: Principal, row: Run) -> dict[str, object]:
    steps = [build_step(step, row) for step in selectors.steps_of(principal, row)]
    return {**build_run(row), "steps": steps, **_build_memories(principal, row)}


def build_step(row: Step, run: Run) -> dict[str, object]:
    fields = (
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
    return {
        "node": row.node_key,
        "pinned": pinned,
        **{field: getattr(row, field) for field in fields},
    }


def build_step_detail(principal: Principal, run: Run, row: Step) -> dict[str, object]:
    run_memories = _build_memories(principal, run).items()
    step_memories = {
        name: [memory for memory in memories if memory["node"] == row.node_key]
        for name, memories in run_memories
    }
    return {**build_step(row, run), **step_memories}


def is_pinned(run: Run, row: Step) -> bool:
    mocks = run.mocks or {}
    return row.node_key in mocks or f"type:{row.kind}" in mocks


def list_paused_nodes(run: Run) -> list[str]:
    """Return the nodes that a paused run waits at."""
    return (run.pause or {}).get("nodes", []) if run.status == RunStatus.PAUSED else []


def _build_debug_options(debug: Json) -> Json:
    """Return the requested options, without the internal state of the conversation."""
    if debug is None:
        return None
    return {name: value for name, value in debug.items() if name not in ("turn", "variables")}


def _build_memories(principal: Principal, run: Run) -> dict[str, list[Json]]:
    """Return what the run recalled and wrote; reading an external user's memories is recorded in the audit log.

    Single steps need the same record, because their prompts may contain what another step recalled.
    """
    events = list(selectors.events_of(principal, run, *_MEMORY_KEYS).values_list("name", "data"))
    run_access.record_api_access(principal, run, run_access.list_shown_namespaces(events))
    return {
        key: [data for name, data in events if name == event_name]
        for event_name, key in _MEMORY_KEYS.items()
    }


_MEMORY_KEYS = {MemoryRecalled.name: "memories_recalled", MemoryWritten.name: "memories_written"}

"""Routes for debugging: resume runs, read and edit steps, pin outputs, apply the memory changes of dry runs."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Pages
from workflows import memory_app, selectors
from workflows.api.request_context import find_run, find_workflow
from workflows.api.run_responses import serialize_run, serialize_step, serialize_step_detail
from workflows.idempotent_requests import accept_idempotency_key
from workflows.models import DryRunChange, Pin, StepPart
from workflows.schemas.runs import (
    MemoryChangeOut,
    MemoryChangesIn,
    MemoryDecisionOut,
    OutputsIn,
    PinIn,
    PinOut,
    ResumeIn,
    RunMetadataOut,
    RunOut,
    StepDetailOut,
    StepOut,
    StepPartOut,
)
from workflows.services.debugging import pauses, pins, sandbox_memory
from workflows.services.runs import run_access


router = Router(auth=api_auth(), tags=["debugging"])


@router.post("/runs/{uuid:run_id}/resume", response=RunOut, summary="Continue a paused run")
@accept_idempotency_key
def resume_run(request: HttpRequest, run_id: UUID, body: ResumeIn) -> dict[str, object]:
    """Resume a paused run: ``continue`` to the next breakpoint, ``step`` one node, or ``stop``.

    The response is 409 if the run isn't paused.
    """
    principal, run = find_run(request, run_id)
    return serialize_run(
        pauses.resume_run(principal, run, mode=body.mode, breakpoints=body.breakpoints)
    )


@router.get(
    "/runs/{uuid:run_id}/steps/{str:node}/parts",
    response=list[StepPartOut],
    summary="List the calls of an agent",
)
@paginate(Pages)
def list_step_parts(
    request: HttpRequest, run_id: UUID, node: str, rounds: str = ""
) -> list[StepPart]:
    """Return the finished calls of an agent in their order: ``N.model`` is the model's, ``N.tool.M`` are the tools'.

    An agent with to-dos has ``plan``, ``todo.T.S.model``, ``todo.T.S.action.M``, notes as ``todo.T.S.note``, and
    ``answer.model``; ``todo.T.begin.todos`` and ``todo.T.end.todos`` are the state of its to-dos.
    The step may still be running. Inside a container, ``rounds`` selects the round, such as ``0.2``.
    """
    principal, run = find_run(request, run_id)
    parts = list(selectors.list_parts(principal, run, node, rounds))
    events = selectors.list_events(principal, run, *run_access.MEMORY_EVENTS)
    namespaces = run_access.list_shown_namespaces((event.name, event.data) for event in events)
    run_access.record_api_access(principal, run, namespaces if parts else ())
    return parts


@router.get("/runs/{uuid:run_id}/steps/{path:node}", response=StepDetailOut, summary="Get a step")
def read_step(request: HttpRequest, run_id: UUID, node: str, rounds: str = "") -> dict[str, object]:
    """Return a step with inputs, outputs, prompt messages and memories.

    Inside a container, ``rounds`` selects the round, such as ``0.2``; the default is the newest one.
    """
    principal, run = find_run(request, run_id)
    return serialize_step_detail(principal, run, selectors.find_step(principal, run, node, rounds))


@router.patch(
    "/runs/{uuid:run_id}/steps/{path:node}",
    response=StepOut,
    summary="Edit the outputs of a finished step",
)
def edit_step(request: HttpRequest, run_id: UUID, node: str, body: OutputsIn) -> dict[str, object]:
    """Edit the outputs of a finished step for the rest of a paused run; the step records who edited it.

    The response is 409 if the run isn't paused.
    """
    principal, run = find_run(request, run_id)
    return serialize_step(run, pauses.edit_step(principal, run, node=node, outputs=body.outputs))


@router.get(
    "/runs/{uuid:run_id}/memory",
    response=list[MemoryChangeOut],
    summary="List memory changes of a dry run",
)
@paginate(Pages)
def list_memory_changes(request: HttpRequest, run_id: UUID) -> list[DryRunChange]:
    """Return the memory changes that a run with ``memory: sandbox`` would have made, in order."""
    principal, run = find_run(request, run_id)
    changes = list(selectors.list_memory_changes(principal, run))
    run_access.record_api_access(principal, run, {change.namespace for change in changes})
    return changes


@router.get(
    "/runs/{uuid:run_id}/metadata",
    response=RunMetadataOut,
    summary="Get the goal, the to-dos and the notes of a run",
)
def read_run_metadata(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Return what a run is about. It is kept until ``expires_at``, three days after its last change, and its notes until the run ends, at most 30 minutes.

    Afterwards, and for a run without memory, everything but the id is empty.
    """
    _principal, run = find_run(request, run_id)
    metadata = memory_app.get_run_metadata(run.team_id, run.pk) if memory_app.is_on() else None
    if metadata is None:
        return {"id": str(run.pk)}
    return {
        "id": metadata.run_id,
        "goal": metadata.goal,
        "todos": [todo.to_json() for todo in metadata.todos],
        "notes": [note.to_json() for note in metadata.notes],
        "stream_name": metadata.stream_name,
        "expires_at": metadata.expires_at,
    }


@router.post(
    "/runs/{uuid:run_id}/memory/keep",
    response=MemoryDecisionOut,
    summary="Keep memory changes of a dry run",
)
def keep_memory(request: HttpRequest, run_id: UUID, body: MemoryChangesIn) -> dict[str, object]:
    """Apply memory changes of a dry run. Refused changes stay undecided; the response gives the reasons."""
    principal, run = find_run(request, run_id)
    decision = sandbox_memory.keep_memories(principal, run, numbers=body.numbers)
    return {"done": decision.count, "refused": decision.refusals}


@router.post(
    "/runs/{uuid:run_id}/memory/drop",
    response=MemoryDecisionOut,
    summary="Discard memory changes of a dry run",
)
def drop_memory(request: HttpRequest, run_id: UUID, body: MemoryChangesIn) -> dict[str, object]:
    """Discard memory changes of a dry run."""
    principal, run = find_run(request, run_id)
    decision = sandbox_memory.drop_memories(principal, run, numbers=body.numbers)
    return {"done": decision.count, "refused": decision.refusals}


@router.get(
    "/workflows/{uuid:workflow_id}/pins", response=list[PinOut], summary="List pinned outputs"
)
@paginate(Pages)
def list_pins(request: HttpRequest, workflow_id: UUID) -> QuerySet[Pin]:
    """Return the workflow's pinned outputs."""
    principal, workflow = find_workflow(request, workflow_id)
    return selectors.list_pins(principal, workflow)


@router.put(
    "/workflows/{uuid:workflow_id}/pins/{path:node}",
    response=PinOut,
    summary="Pin a node's outputs",
)
def pin_node(request: HttpRequest, workflow_id: UUID, node: str, body: PinIn) -> Pin:
    """Pin a node's outputs: runs with ``debug.pins`` use them instead of running the node.

    Fails with InvalidValue for an output that doesn't have its declared type.
    """
    principal, workflow = find_workflow(request, workflow_id)
    return pins.pin_node(
        principal,
        workflow=workflow,
        node=node,
        outputs=body.outputs,
        handle=body.handle,
        run_id=body.run,
    )


@router.delete(
    "/workflows/{uuid:workflow_id}/pins/{path:node}",
    response={204: None},
    summary="Unpin a node's outputs",
)
def unpin_node(request: HttpRequest, workflow_id: UUID, node: str) -> Status[None]:
    """Remove a node's pinned outputs."""
    principal, workflow = find_workflow(request, workflow_id)
    pins.unpin_node(principal, workflow=workflow, node=node)
    return Status(204, None)

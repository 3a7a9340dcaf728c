"""``/api/v1``: look into runs. Resume them, read and change their steps, pin outputs, decide about tried-out memory."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status

from accounts.http.auth import api_auth
from accounts.principals import get_principal
from workflows import selectors
from workflows.api.run_responses import run_out, step_detail_out, step_out
from workflows.models import Pin, WouldBe
from workflows.schemas.runs import (
    ChosenIn,
    DecidedOut,
    OutputsIn,
    PinIn,
    PinOut,
    ResumeIn,
    RunOut,
    StepDetailOut,
    StepOut,
    WouldBeOut,
)
from workflows.services.debugging import pauses, pins, sandbox_memory
from workflows.services.runs import run_access


router = Router(auth=api_auth(), tags=["debugging"])


@router.post("/runs/{uuid:run_id}/resume", response=RunOut, summary="Continue a paused run")
def resume_run(request: HttpRequest, run_id: UUID, body: ResumeIn) -> dict[str, object]:
    """``continue`` to the next breakpoint, ``step`` one node, or ``stop``. 409 for a run that isn't paused."""
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    return run_out(pauses.resume_run(principal, run, mode=body.mode, breakpoints=body.breakpoints))


@router.get("/runs/{uuid:run_id}/steps/{path:node}", response=StepDetailOut, summary="Get a step")
def read_step(request: HttpRequest, run_id: UUID, node: str, rounds: str = "") -> dict[str, object]:
    """Inputs, outputs, prompt messages, memories. ``rounds``: which one, as ``0.2``, inside a container."""
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    return step_detail_out(principal, run, selectors.step_for(principal, run, node, rounds))


@router.patch(
    "/runs/{uuid:run_id}/steps/{path:node}",
    response=StepOut,
    summary="Edit the outputs of a finished step",
)
def edit_step(request: HttpRequest, run_id: UUID, node: str, body: OutputsIn) -> dict[str, object]:
    """While the run is paused, for the rest of it. The step says who changed it."""
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    return step_out(pauses.edit_step(principal, run, node=node, outputs=body.outputs), run)


@router.get(
    "/runs/{uuid:run_id}/memory",
    response=list[WouldBeOut],
    summary="List memory changes of a dry run",
)
def list_would_be(request: HttpRequest, run_id: UUID) -> list[dict[str, object]]:
    """What a run with ``memory: sandbox`` would have remembered or forgotten, in order."""
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    rows = list(selectors.would_be_of(principal, run))
    run_access.record_api_access(principal, run, {row.namespace for row in rows})
    return [would_be_out(row) for row in rows]


@router.post(
    "/runs/{uuid:run_id}/memory/keep",
    response=DecidedOut,
    summary="Keep memory changes of a dry run",
)
def keep_memory(request: HttpRequest, run_id: UUID, body: ChosenIn) -> dict[str, object]:
    """Through memory's own door, as the run itself. What it refuses stays undecided and says why."""
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    decided = sandbox_memory.keep_memories(principal, run, numbers=body.numbers)
    return {"done": decided.count, "refused": decided.refused}


@router.post(
    "/runs/{uuid:run_id}/memory/drop",
    response=DecidedOut,
    summary="Discard memory changes of a dry run",
)
def drop_memory(request: HttpRequest, run_id: UUID, body: ChosenIn) -> dict[str, object]:
    principal = get_principal(request)
    run = selectors.run_for(principal, run_id)
    decided = sandbox_memory.drop_memories(principal, run, numbers=body.numbers)
    return {"done": decided.count, "refused": decided.refused}


@router.get(
    "/workflows/{uuid:workflow_id}/pins", response=list[PinOut], summary="List pinned outputs"
)
def list_pins(request: HttpRequest, workflow_id: UUID) -> list[dict[str, object]]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    return [pin_out(pin) for pin in selectors.pins_of(principal, workflow)]


@router.put(
    "/workflows/{uuid:workflow_id}/pins/{path:node}",
    response=PinOut,
    summary="Pin a node's outputs",
)
def pin_node(request: HttpRequest, workflow_id: UUID, node: str, body: PinIn) -> dict[str, object]:
    """Runs with ``debug.pins`` take them instead of running the node."""
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    made = pins.pin_node(
        principal, workflow=workflow, node=node, outputs=body.outputs, handle=body.handle
    )
    return pin_out(made)


@router.delete(
    "/workflows/{uuid:workflow_id}/pins/{path:node}",
    response={204: None},
    summary="Unpin a node's outputs",
)
def unpin_node(request: HttpRequest, workflow_id: UUID, node: str) -> Status[None]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id)
    pins.unpin_node(principal, workflow=workflow, node=node)
    return Status(204, None)


def pin_out(pin: Pin) -> dict[str, object]:
    return {
        "node": pin.node_key,
        "outputs": pin.outputs,
        "handle": pin.handle,
        "pinned_at": pin.pinned_at,
    }


def would_be_out(row: WouldBe) -> dict[str, object]:
    return {
        "number": row.number,
        "node": row.node_key,
        "operation": row.operation,
        "namespace": row.namespace,
        "key": row.key,
        "entry": row.entry,
        "before": row.before,
        "fate": row.fate,
    }

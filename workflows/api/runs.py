"""``/api/v1``: start runs, read them, follow them, stop them."""

import asyncio
from typing import TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from workflows import selectors, sse
from workflows.api.run_responses import detail_out, run_out
from workflows.execution.events.reader import RUN_FINISHED, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.models import Run
from workflows.schemas.runs import (
    ComparisonOut,
    DebugIn,
    RunDetailOut,
    RunOut,
    RunPageOut,
    RunsQuery,
    StartIn,
)
from workflows.services.debugging.compare import compare_steps, compare_values
from workflows.services.debugging.options import RunOptions, select_part
from workflows.services.debugging.start import start_run_with_options
from workflows.services.runs import runs
from workflows.services.runs.memory_streams import MemoryStream


router = Router(auth=api_auth(), tags=["runs"])

T = TypeVar("T")


@router.post(
    "/workflows/{uuid:workflow_id}/runs",
    response={200: RunDetailOut, 202: RunOut},
    summary="Start a run",
)
async def start_run(
    request: HttpRequest, workflow_id: UUID, body: StartIn
) -> Status[dict[str, object]]:
    """``blocking`` answers 200 with the finished run, or 202 when it takes longer than you would wait."""
    principal = get_principal(request)
    run = await sync_to_async(_start)(principal, workflow_id, body)
    if body.response_mode == "async":
        return Status(202, run_out(run))
    ended = await _ended(run, body.wait_seconds)
    if not ended:
        return Status(202, run_out(run))
    return Status(200, await sync_to_async(_detail)(principal, run.pk))


@router.get("/runs", response=RunPageOut, summary="List runs")
def list_runs(
    request: HttpRequest,
    asked: Query[RunsQuery],
) -> dict[str, object]:
    """Runs you started, that are for you, or of a key you made; newest first."""
    principal, limit, offset = get_principal(request), asked.limit, asked.offset
    found = asked.narrowed_to().of_rows(selectors.runs_for(principal))
    if asked.workflow is not None:
        found = found.filter(workflow=selectors.workflow_for(principal, asked.workflow))
    rows = found.select_related("version", "conversation")[offset : offset + limit]
    return {"items": [run_out(row) for row in rows], "count": found.count()}


@router.get("/runs/{uuid:run_id}", response=RunDetailOut, summary="Get a run with its steps")
def read_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    principal = get_principal(request)
    return detail_out(principal, selectors.run_for(principal, run_id))


@router.get("/runs/{uuid:run_id}/events", summary="Stream the events of a run (server-sent events)")
async def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Every event from the first on, live to the end; ``Last-Event-ID`` goes on after that one.

    Events: run_started, node_state_change, text_chunk, memory_recalled, memory_written,
    memory_retrieval_error, run_paused, run_resumed, step_edited, run_finished. ``text_chunk`` has no id; put its text at ``offset``
    (UTF-16 units) and drop what stood there, and a reconnect or a recovered run reads right.
    """
    principal = get_principal(request)
    return sse.stream_of(request, principal, await sync_to_async(sse.find_run)(principal, run_id))


@router.post("/runs/{uuid:run_id}/cancel", response=RunOut, summary="Stop a run")
def cancel_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """At once when nobody drives it yet, within a second otherwise; an ended run stays as it ended."""
    principal = get_principal(request)
    return run_out(runs.cancel_run(principal, selectors.run_for(principal, run_id)))


def _start(principal: Principal, workflow_id: UUID, body: StartIn) -> Run:
    with sse.connections_given_back(), tenant(principal.team_ids):
        workflow = selectors.workflow_for(principal, workflow_id, "run")
        merged = [selectors.workflow_for(principal, one, "run") for one in body.merge]
        return start_run_with_options(
            principal,
            options_of(body.debug),
            workflow=workflow,
            inputs=body.inputs,
            query=body.query,
            conversation=body.conversation_id,
            subject=body.user,
            stream=MemoryStream(body.group_id, tuple(merged)),
            version=body.version,
            mocks=body.mocks,
            offline=body.offline,
        )


def options_of(asked: DebugIn | None) -> RunOptions | None:
    if asked is None:
        return None
    return RunOptions(
        part=select_part(only=asked.only, until=asked.until, start_from=asked.start_from),
        reuse=asked.reuse,
        breakpoints=tuple(asked.breakpoints),
        step=asked.step,
        memory=asked.memory,
        pins=asked.pins,
        values=asked.values,
    )


def _detail(principal: Principal, run_id: UUID) -> dict[str, object]:
    with sse.connections_given_back(), tenant(principal.team_ids):
        return detail_out(principal, selectors.run_for(principal, run_id))


async def _ended(run: Run, seconds: float) -> bool:
    """Wait for the end; whoever gives up waiting does not stop the run."""
    try:
        async with asyncio.timeout(seconds):
            async for said in follow(get_run_feed(), run.team_id, run.pk, 0, patience=seconds):
                if said is not None and said.name == RUN_FINISHED:
                    return True
    except TimeoutError:
        return False
    return True


@router.get(
    "/runs/{uuid:run_id}/compare/{uuid:other_id}",
    response=ComparisonOut,
    summary="Compare two runs",
)
def compare_runs(request: HttpRequest, run_id: UUID, other_id: UUID) -> dict[str, object]:
    """Both must be yours to see. ``lines`` are a line-by-line comparison: - first, + second."""
    principal = get_principal(request)
    first, second = selectors.run_for(principal, run_id), selectors.run_for(principal, other_id)
    pairs = compare_steps(
        selectors.steps_of(principal, first), selectors.steps_of(principal, second)
    )
    return {
        "inputs": compare_values("inputs", first.inputs, second.inputs),
        "outputs": compare_values("outputs", first.outputs or {}, second.outputs or {}),
        "nodes": [
            {
                "node": pair.node,
                "rounds": list(pair.rounds),
                "verdict": pair.verdict.value,
                "slower_by": pair.slower_by,
                "differences": pair.differences,
            }
            for pair in pairs
        ],
    }

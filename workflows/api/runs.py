"""Routes of ``/api/v1/runs``: start, list, read, stream, compare and cancel runs."""

import asyncio
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from workflows import selectors, sse
from workflows.api.run_responses import serialize_run, serialize_run_detail
from workflows.engine.runtime.events import RunPaused
from workflows.execution.events.reader import RUN_FINISHED, StreamEvent, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.models import Run
from workflows.run_filters import sort_runs
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
from workflows.services.runs.waits import answer_with_message


router = Router(auth=api_auth(), tags=["runs"])


@router.post(
    "/workflows/{uuid:workflow_id}/runs",
    response={200: RunDetailOut, 202: RunOut},
    summary="Start a run",
)
async def start_run(
    request: HttpRequest, workflow_id: UUID, body: StartIn
) -> Status[dict[str, object]]:
    """Start a run of a workflow that you may run.

    With ``blocking`` the response is 200 with the finished run, or 202 if the run takes longer
    than ``wait_seconds`` or pauses for an answer. If a run of the conversation waits for a text, the ``query`` is its
    answer, and that run is returned. Fails with InputRejected with the fields that don't fit.
    """
    principal = get_principal(request)
    run = await sync_to_async(_start_run)(principal, workflow_id, body)
    if body.response_mode == "async":
        return Status(202, serialize_run(run))
    ended = await _wait_until_ended(run, body.wait_seconds)
    if not ended:
        return Status(202, await sync_to_async(_load_run)(principal, run.pk))
    return Status(200, await sync_to_async(_load_detail)(principal, run.pk))


@router.get("/runs", response=RunPageOut, summary="List runs")
def list_runs(request: HttpRequest, filters: Query[RunsQuery]) -> dict[str, object]:
    """Return the runs that you started, that are for you, or that a key of yours started; newest first."""
    principal, limit, offset = get_principal(request), filters.limit, filters.offset
    matching_runs = filters.build_filter().apply(selectors.list_runs(principal))
    if filters.workflow is not None:
        matching_runs = matching_runs.filter(
            workflow=selectors.find_workflow(principal, filters.workflow)
        )
    if filters.sort:
        matching_runs = sort_runs(matching_runs, filters.sort)
    page_runs = matching_runs.select_related("version", "conversation")[offset : offset + limit]
    return {"items": [serialize_run(run) for run in page_runs], "count": matching_runs.count()}


@router.get("/runs/{uuid:run_id}", response=RunDetailOut, summary="Get a run with its steps")
def read_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Return a run with its steps and its memories."""
    principal = get_principal(request)
    return serialize_run_detail(principal, selectors.find_run(principal, run_id))


@router.get("/runs/{uuid:run_id}/events", summary="Stream the events of a run (server-sent events)")
async def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Stream every event of a run until it ends; ``Last-Event-ID`` continues after that event.

    Events: run_started, node_state_change, text_chunk, memory_recalled, memory_written, memory_retrieval_error,
    agent_log, human_input_required, run_paused, run_resumed, step_edited, run_finished. A ``text_chunk`` has no id: replace the text from its
    ``offset`` on (in UTF-16 units) by its text, so that a reconnect or a recovered run shows the same text.
    """
    principal = get_principal(request)
    return sse.build_response(
        request, principal, await sync_to_async(sse.find_run)(principal, run_id)
    )


@router.post("/runs/{uuid:run_id}/cancel", response=RunOut, summary="Stop a run")
def cancel_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Cancel a run: at once if it is queued or paused, otherwise within a second. An ended run stays as it is."""
    principal = get_principal(request)
    return serialize_run(runs.cancel_run(principal, selectors.find_run(principal, run_id)))


@router.get(
    "/runs/{uuid:run_id}/compare/{uuid:other_id}",
    response=ComparisonOut,
    summary="Compare two runs",
)
def compare_runs(request: HttpRequest, run_id: UUID, other_id: UUID) -> dict[str, object]:
    """Compare two runs that you may see. In ``lines``, - marks the first run and + the second."""
    principal = get_principal(request)
    first, second = selectors.find_run(principal, run_id), selectors.find_run(principal, other_id)
    return {
        "inputs": compare_values("inputs", first.inputs, second.inputs),
        "outputs": compare_values("outputs", first.outputs or {}, second.outputs or {}),
        "nodes": compare_steps(
            selectors.list_steps(principal, first), selectors.list_steps(principal, second)
        ),
    }


def _start_run(principal: Principal, workflow_id: UUID, body: StartIn) -> Run:
    with sse.close_connections(), tenant(principal.team_ids):
        workflow = selectors.find_workflow(principal, workflow_id, "run")
        answered_run = answer_with_message(
            principal,
            workflow=workflow,
            conversation=body.conversation_id,
            message=body.query,
            subject=body.user,
        )
        if answered_run is not None:
            return answered_run
        merged = [selectors.find_workflow(principal, merged_id, "run") for merged_id in body.merge]
        return start_run_with_options(
            principal,
            build_options(body.debug),
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


def build_options(debug: DebugIn | None) -> RunOptions | None:
    """Convert the options of a debug run; None stands for a normal run."""
    if debug is None:
        return None
    return RunOptions(
        part=select_part(only=debug.only, until=debug.until, start_from=debug.start_from),
        reuse=debug.reuse,
        breakpoints=tuple(debug.breakpoints),
        step=debug.step,
        memory=debug.memory,
        pins=debug.pins,
        values=debug.values,
    )


def _load_run(principal: Principal, run_id: UUID) -> dict[str, object]:
    with sse.close_connections(), tenant(principal.team_ids):
        return serialize_run(selectors.find_run(principal, run_id))


def _load_detail(principal: Principal, run_id: UUID) -> dict[str, object]:
    with sse.close_connections(), tenant(principal.team_ids):
        return serialize_run_detail(principal, selectors.find_run(principal, run_id))


async def _wait_until_ended(run: Run, seconds: float) -> bool:
    """Return whether the run ended within the time; a longer run isn't stopped, and one that waits for a person is not awaited.

    An answered run had paused before, so only its later events count.
    """
    try:
        async with asyncio.timeout(seconds):
            events = follow(get_run_feed(), run.team_id, run.pk, run.last_seq, idle_seconds=seconds)
            async for event in events:
                if event is not None and event.name == RUN_FINISHED:
                    return True
                if event is not None and _waits_for_a_person(event):
                    return False
    except TimeoutError:
        return False
    return True


def _waits_for_a_person(event: StreamEvent) -> bool:
    return event.name == RunPaused.name and event.data["reason"] != "time"

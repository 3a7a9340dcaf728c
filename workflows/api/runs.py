"""Routes of ``/api/v1/runs``: start, list, read, stream, compare and cancel runs."""

import json
from collections.abc import Sequence
from functools import partial
from typing import TypeAlias
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.http.middleware import opens_own_tenant
from accounts.http.throttles import count_together
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from config.http.event_streams import OpenedStream, StreamRequest, opens_event_stream
from config.http.page_threads import await_in_loop
from config.http.pages import Listing, Pages
from workflows import permissions, selectors, sse
from workflows.api.request_context import check_version
from workflows.api.run_responses import (
    serialize_run,
    serialize_run_detail,
    set_progress_headers,
)
from workflows.execution.usage.counting import load_cost
from workflows.idempotent_requests import (
    REPLAYED,
    accept_idempotency_key,
    find_first_answer,
    store_first_answer,
)
from workflows.models import Run
from workflows.run_filters import read_runs, sort_runs
from workflows.schemas.runs import (
    ComparisonOut,
    DebugIn,
    RunDetailOut,
    RunOut,
    RunsQuery,
    StartIn,
)
from workflows.services.debugging.compare import compare_steps, compare_values
from workflows.services.debugging.options import RunOptions, select_part
from workflows.services.debugging.start import start_run_with_options
from workflows.services.runs import deletion, parked, runs
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.waiting import wait_until_ended
from workflows.services.runs.waits import answer_with_message


RunAnswer: TypeAlias = Status[dict[str, object]] | HttpResponse

router = Router(auth=api_auth(), tags=["runs"])


def open_streams(requests: Sequence[StreamRequest]) -> list[OpenedStream | None]:
    return sse.open_run_streams(requests, throttle=count_together, with_metadata=True)


@router.post(
    "/workflows/{uuid:workflow_id}/runs",
    response={200: RunDetailOut, 202: RunOut},
    summary="Start a run",
)
@accept_idempotency_key
@opens_own_tenant
def start_run(
    request: HttpRequest, response: HttpResponse, workflow_id: UUID, body: StartIn
) -> RunAnswer:
    """Start a run of the published version of a workflow, or of its draft with ``"version": "draft"``.

    With ``blocking`` the response is 200 with the finished run, or 202 with its present state if the run takes longer
    than ``wait_seconds`` or pauses for an answer. A 202 says in ``Location`` where to look, and in ``Retry-After`` when.
    If a run of the conversation waits for a text, the ``query`` is its answer, and that run is returned. Fails with
    InputRejected with the fields that don't fit, and with NotPublished if there is no version to run.
    """
    principal = get_principal(request)
    started = _start_run_once(request, response, principal, workflow_id, body)
    if not isinstance(started, Run):
        return started
    if body.response_mode == "async":
        set_progress_headers(response, started)
        return Status(202, serialize_run(started))
    await_in_loop(wait_until_ended, started, body.wait_seconds)
    return _build_present_answer(principal, response, started.pk)


@router.get("/runs", response=list[RunOut], summary="List runs")
@paginate(Pages)
def list_runs(request: HttpRequest, filters: Query[RunsQuery]) -> Listing[Run]:
    """Return the runs that you started, that are for you, or that a key of yours started; newest first."""
    principal = get_principal(request)
    matching_runs = filters.build_filter().apply(selectors.list_runs(principal))
    if filters.workflow is not None:
        matching_runs = matching_runs.filter(
            workflow=selectors.find_workflow(principal, filters.workflow)
        )
    if filters.sort:
        matching_runs = sort_runs(matching_runs, filters.sort)
    matching_runs = matching_runs.select_related("version", "conversation")
    return Listing(partial(read_runs, matching_runs), lambda rows: list(map(serialize_run, rows)))


@router.get("/runs/{uuid:run_id}", response=RunDetailOut, summary="Get a run with its steps")
def read_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Return a run with its steps and its memories."""
    principal = get_principal(request)
    run = selectors.find_run(principal, run_id)
    load_cost(run)
    return serialize_run_detail(principal, run)


@router.get("/runs/{uuid:run_id}/events", summary="Stream the events of a run (server-sent events)")
@opens_event_stream(open_streams)
def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Stream every event of a run until it ends; ``Last-Event-ID`` continues after that event.

    Events: run_started, node_state_change, text_chunk, memory_recalled, memory_written, memory_retrieval_error,
    agent_log, human_input_required, run_paused, run_resumed, step_edited, run_finished. If the workflow shows sources with
    its answers, ``run_finished`` has them under ``metadata.retriever_resources``. A ``text_chunk`` has no id: replace the text from its
    ``offset`` on (in UTF-16 units) by its text, so that a reconnect or a recovered run shows the same text.
    """
    principal = get_principal(request)
    run = selectors.find_run(principal, run_id)
    return sse.build_response(request, principal, run, with_metadata=True)


@router.post("/runs/{uuid:run_id}/cancel", response=RunOut, summary="Stop a run")
def cancel_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Cancel a run: at once if it is queued or paused, otherwise within a second. An ended run stays as it is."""
    principal = get_principal(request)
    return serialize_run(runs.cancel_run(principal, selectors.find_run(principal, run_id)))


@router.post("/runs/{uuid:run_id}/continue", response=RunOut, summary="Continue a parked run")
@accept_idempotency_key
def continue_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Continue a run that was given up because several workers crashed during the same steps.

    Its finished steps are kept. The response is 409 for any other run, and for a sub-workflow's.
    """
    principal = get_principal(request)
    return serialize_run(parked.continue_run(principal, selectors.find_run(principal, run_id)))


@router.delete("/runs/{uuid:run_id}", response={204: None}, summary="Delete a run")
def delete_run(request: HttpRequest, run_id: UUID) -> Status[None]:
    """Delete a run that has ended, with its steps, its events and the runs that it started. Its memories stay.

    Fails with RunNotEnded while the run, or one that it started, is queued, running or paused.
    """
    principal = get_principal(request)
    deletion.delete_run(principal, selectors.find_run(principal, run_id))
    return Status(204, None)


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


def _start_run_once(
    request: HttpRequest,
    response: HttpResponse,
    principal: Principal,
    workflow_id: UUID,
    body: StartIn,
) -> Run | RunAnswer:
    """Start a run, or return the answer to the same request."""
    with sse.close_connections(), tenant(principal.team_ids):
        first_answer = find_first_answer(request)
        if first_answer is not None:
            return _repeat_answer(principal, response, first_answer, body)
        run = _start_run(principal, workflow_id, body)
        store_first_answer(request, RunOut, serialize_run(run))
    return run


def _repeat_answer(
    principal: Principal, response: HttpResponse, first_answer: HttpResponse, body: StartIn
) -> RunAnswer:
    """Return the first answer. Whoever waits for the end gets the present state if that came before the end."""
    if first_answer.status_code != 202:
        return first_answer
    run_id = UUID(json.loads(first_answer.content)["id"])
    run = Run.objects.visible_to(principal).filter(pk=run_id).first()
    if run is None:
        return first_answer
    if body.response_mode == "async":
        set_progress_headers(first_answer, run)
        return first_answer
    response[REPLAYED] = "true"
    return _build_present_answer(principal, response, run_id)


def _start_run(principal: Principal, workflow_id: UUID, body: StartIn) -> Run:
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
    if body.version == "draft" or body.mocks is not None or body.debug is not None:
        permissions.check_start_draft(principal, workflow)
    check_version(workflow, body.version)
    merged = [selectors.find_workflow(principal, merged_id, "run") for merged_id in body.merge]
    return start_run_with_options(
        principal,
        build_options(body.debug),
        workflow=workflow,
        inputs=body.inputs,
        refuse_unknown_inputs=True,
        query=body.query,
        files=[item if isinstance(item, str) else item.model_dump() for item in body.files],
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


def _build_present_answer(
    principal: Principal, response: HttpResponse, run_id: UUID
) -> Status[dict[str, object]]:
    """Return 200 with an ended run, and 202 with one that goes on or waits."""
    with sse.close_connections(), tenant(principal.team_ids):
        run = selectors.find_run(principal, run_id)
        if run.has_ended:
            return Status(200, serialize_run_detail(principal, run))
        set_progress_headers(response, run)
        return Status(202, serialize_run(run))

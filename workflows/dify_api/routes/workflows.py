"""Routes of workflows: run the published version or a pinned one, stop, read, list and follow runs."""

import json
from functools import partial

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router

from accounts.http.auth import KeyAuth
from accounts.http.middleware import opens_own_tenant
from config.http.event_streams import opens_event_stream
from workflows.dify_api.answers import build_run_data
from workflows.dify_api.apps import CHAT, WORKFLOW, App, open_app, read_user
from workflows.dify_api.bodies import EventsQuery, LogsQuery, RunBody, UserBody
from workflows.dify_api.calls import build_call
from workflows.dify_api.errors import NO_RUN, refuse_as_missing
from workflows.dify_api.logs import build_log
from workflows.dify_api.starting import MEMORY_EVENTS, answer_call, to_references
from workflows.dify_api.stopping import stop_task
from workflows.dify_api.streaming.frames import build_stream
from workflows.dify_api.trace_ids import read_trace_id
from workflows.engine.language.document import Json
from workflows.idempotent_requests import accept_streamed_idempotency_key
from workflows.models import Run, RunEvent
from workflows.models.run import Channel
from workflows.services.runs.runs import start_run


router = Router(auth=[KeyAuth()])


@router.get("/workflows/logs", summary="List runs")
def list_logs(request: HttpRequest, filters: Query[LogsQuery]) -> dict[str, Json]:
    """Return the runs that keys of this service account started, newest first."""
    return build_log(open_app(request, CHAT, WORKFLOW), filters)


@router.post("/workflows/run", summary="Run the workflow")
@accept_streamed_idempotency_key
@opens_own_tenant
def run_workflow(request: HttpRequest, body: RunBody) -> HttpResponseBase:
    return _answer(request, body, None)


@router.get("/workflows/run/{workflow_run_id}", summary="Get a run")
def read_run(request: HttpRequest, workflow_run_id: str) -> dict[str, Json]:
    """Return a run. ``inputs`` is a text of JSON, and ``outputs`` an object, as Dify has them."""
    app = open_app(request, CHAT, WORKFLOW)
    run = app.find_run(workflow_run_id)
    if run is None:
        app.record_refusal("run.view", "run", workflow_run_id)
        raise refuse_as_missing(NO_RUN)
    inputs = json.dumps(run.inputs, ensure_ascii=False)
    return {**build_run_data(app.principal, run), "inputs": inputs}


@router.post("/workflows/tasks/{task_id}/stop", summary="Stop a run")
def stop_run(request: HttpRequest, task_id: str, body: UserBody) -> dict[str, str]:
    return stop_task(open_app(request, WORKFLOW, verb="run"), task_id, body.user)


@router.post("/workflows/{task_id}/stop", summary="Stop a run (the path of older clients)")
def stop_run_of_older_client(request: HttpRequest, task_id: str, body: UserBody) -> dict[str, str]:
    return stop_run(request, task_id, body)


@router.post("/workflows/{workflow_id}/run", summary="Run a version of the workflow")
@accept_streamed_idempotency_key
@opens_own_tenant
def run_version(request: HttpRequest, workflow_id: str, body: RunBody) -> HttpResponseBase:
    """Run the version that an earlier answer names as ``workflow_id``."""
    return _answer(request, body, workflow_id)


@router.get("/workflow/{workflow_run_id}/events", summary="Follow a run")
@opens_event_stream()
def follow_run(
    request: HttpRequest, workflow_run_id: str, options: Query[EventsQuery]
) -> HttpResponseBase:
    """Stream the events of a run from now on, or with ``include_state_snapshot`` from its beginning.

    Of a run that has ended only its end is sent.
    """
    app = open_app(request, CHAT, WORKFLOW)
    subject = app.find_subject(options.user)
    run = app.find_run(workflow_run_id)
    if run is None or run.subject != subject.id:
        app.record_refusal("run.view", "run", workflow_run_id)
        raise refuse_as_missing(NO_RUN)
    call = build_call(
        app, run, app.mode, with_memory_events=request.headers.get(MEMORY_EVENTS, "") == "1"
    )
    after = _find_start(app, run, is_whole=options.include_state_snapshot)
    return build_stream(call, after=after, closes_on_pause=not options.continue_on_pause)


def _find_start(app: App, run: Run, *, is_whole: bool) -> int:
    """Return the number of the event after which a reader begins. The run's own number is old while a worker has it."""
    if is_whole and not run.has_ended:
        return 0
    events = RunEvent.objects.visible_to(app.principal).filter(run=run)
    last = events.order_by("-seq").values_list("seq", flat=True).first() or 0
    return max(last - 1, 0) if run.has_ended else last


def _answer(request: HttpRequest, body: RunBody, pinned: str | None) -> HttpResponseBase:
    return answer_call(
        request,
        partial(open_app, request, WORKFLOW, verb="run"),
        partial(
            _start_run, body=body, pinned=pinned, trace_id=read_trace_id(request, body.trace_id)
        ),
        WORKFLOW,
        is_streamed=body.is_streamed,
    )


def _start_run(app: App, *, body: RunBody, pinned: str | None, trace_id: str) -> Run:
    return start_run(
        app.principal,
        workflow=app.workflow,
        subject=read_user(body.user),
        version=app.version if pinned is None else app.find_version(pinned),
        inputs=body.inputs,
        files=to_references(body.files),
        channel=Channel.DIFY,
        trace_id=trace_id,
    )

"""Starts the run that a request asks for, once for each ``Idempotency-Key``, and answers as a whole or as a stream.

A repeated request with the key of an earlier one gets the answer of the earlier run: the stored one, or the same run is
waited for or followed from its beginning.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from accounts.principals import Principal
from accounts.tenancy import tenant
from config.http.page_threads import await_in_loop
from workflows import sse
from workflows.dify_api.answers import build_message_answer, build_workflow_answer
from workflows.dify_api.apps import WORKFLOW, App
from workflows.dify_api.bodies import FileBody
from workflows.dify_api.calls import Call, build_call
from workflows.dify_api.errors import NO_RUN, DifyError, refuse_as_missing
from workflows.dify_api.streaming.frames import build_stream
from workflows.engine.language.document import Json
from workflows.idempotent_requests import HEADER, REPLAYED, compute_digest
from workflows.models import Run
from workflows.services import idempotency
from workflows.services.idempotency import ClaimedKey, StoredAnswer
from workflows.services.runs.waiting import wait_until_ended


MEMORY_EVENTS: Final = "X-Memory-Events"
BLOCKING_SECONDS: Final = 600.0
_MADE: Final = 200
_BEGUN: Final = 202  # of a stored answer that names the run only

Start = Callable[[App], Run]


@dataclass(frozen=True, slots=True)
class StartedCall:
    """A call whose run is there, its claimed key, and the stream of the run's events if they are to be streamed.

    ``is_repeated``: an earlier request with the same key has started the run.
    """

    call: Call
    claimed: ClaimedKey | None = None
    stream: HttpResponseBase | None = None
    is_repeated: bool = False


def answer_call(
    request: HttpRequest, open_: Callable[[], App], start: Start, mode: str, *, is_streamed: bool
) -> HttpResponseBase:
    """Start a run and answer. ``open_`` finds the app and ``start`` starts the run, both in one transaction."""
    started_call = _begin(request, open_, start, mode, is_streamed)
    if isinstance(started_call, HttpResponse):
        return started_call
    response = started_call.stream
    if response is None:
        await_in_loop(wait_until_ended, started_call.call.run, BLOCKING_SECONDS)
        response = _answer(started_call)
    if started_call.is_repeated:
        response[REPLAYED] = "true"
    return response


def to_references(files: list[FileBody] | None) -> list[Json]:
    """Return the files of a request as references, which ``services.files.inputs`` looks up."""
    return [file.model_dump(exclude_none=True) for file in files or ()]


def _begin(
    request: HttpRequest, open_: Callable[[], App], start: Start, mode: str, is_streamed: bool
) -> StartedCall | HttpResponse:
    with sse.close_connections(), tenant(_get_team_ids(request)):
        app = open_()
        claimed = _claim(request, app)
        if isinstance(claimed, StoredAnswer):
            if claimed.status == _MADE and not is_streamed:
                return _replay(claimed)
            call = _build_call(request, app, _find_earlier_run(app, claimed), mode)
            stream = build_stream(call) if is_streamed else None
            return StartedCall(call, stream=stream, is_repeated=True)
        run = start(app)
        if claimed is not None:
            body = json.dumps({"workflow_run_id": str(run.pk)})
            idempotency.store_answer(claimed, status=_BEGUN, body=body, object_id=run.pk)
        call = _build_call(request, app, run, mode)
        stream = build_stream(call, after=run.last_seq) if is_streamed else None
        return StartedCall(call, claimed, stream)


def _get_team_ids(request: HttpRequest) -> frozenset[UUID]:
    principal: Principal = request.principal  # type: ignore[attr-defined]  # set by this application
    return principal.team_ids


def _build_call(request: HttpRequest, app: App, run: Run, mode: str) -> Call:
    return build_call(
        app, run, mode, with_memory_events=request.headers.get(MEMORY_EVENTS, "") == "1"
    )


def _claim(request: HttpRequest, app: App) -> ClaimedKey | StoredAnswer | None:
    key = request.headers.get(HEADER)
    if key is None:
        return None
    return idempotency.claim_key(
        app.principal,
        app.workflow.team_id,
        key=idempotency.check_key(key),
        digest=compute_digest(request),
    )


def _find_earlier_run(app: App, stored: StoredAnswer) -> Run:
    run = app.find_run(str(json.loads(stored.body).get("workflow_run_id") or ""))
    if run is None:
        raise refuse_as_missing(NO_RUN)
    return run


def _replay(stored: StoredAnswer) -> HttpResponse:
    return HttpResponse(
        stored.body, content_type="application/json; charset=utf-8", headers={REPLAYED: "true"}
    )


def _answer(started_call: StartedCall) -> HttpResponse:
    """Answer with the run as it is now. A workflow that still runs says so; a chat has no answer to give yet."""
    with sse.close_connections(), tenant([started_call.call.run.team_id]):
        runs = Run.objects.visible_to(started_call.call.principal).select_related(
            "workflow", "version"
        )
        run = runs.filter(pk=started_call.call.run.pk).first()
        if run is None:
            raise refuse_as_missing(NO_RUN)
        call = replace(started_call.call, run=run)
        if call.mode == WORKFLOW:
            answer = build_workflow_answer(call)
        elif run.has_ended or run.status == "paused":
            answer = build_message_answer(call)
        else:
            message = "The answer takes longer. It will be among the messages of the conversation."
            raise DifyError(504, "gateway_timeout", message)
        # The handle that stays after the task has ended; a repeated request finds the run by it.
        answer["workflow_run_id"] = str(run.pk)
        body = json.dumps(answer, default=str)
        if started_call.claimed is not None and run.has_ended:
            idempotency.store_answer(
                started_call.claimed, status=_MADE, body=body, object_id=run.pk
            )
    return JsonResponse(answer, json_dumps_params={"ensure_ascii": False, "default": str})

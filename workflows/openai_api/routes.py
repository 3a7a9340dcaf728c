"""Routes of ``/openai/v1``: list models, and complete a chat.

A client that leaves doesn't stop its run: what the run does and remembers stays whole, and with an ``Idempotency-Key`` the
same request gets its answer later.
"""

import asyncio
import json
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from ninja import Router

from accounts.http.auth import KeyAuth
from accounts.http.middleware import opens_own_tenant
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.tenancy import tenant
from config.http.event_streams import EventStream
from config.http.page_threads import await_in_loop
from workflows import selectors, sse
from workflows.idempotent_requests import (
    HEADER,
    REPLAYED,
    accept_streamed_idempotency_key,
    compute_digest,
)
from workflows.openai_api.answers import AnswerReader
from workflows.openai_api.completions import (
    CONTEXT_HEADERS,
    CONVERSATION_HEADER,
    StartedRun,
    start_completion,
)
from workflows.openai_api.errors import CompletionError
from workflows.openai_api.models import find_model, list_models, serialize_model
from workflows.openai_api.responses import build_completion, stream_chunks
from workflows.openai_api.schemas import CompletionIn
from workflows.services import idempotency
from workflows.services.idempotency import StoredAnswer


router = Router(auth=KeyAuth(), tags=["openai"])

WAIT_SECONDS: Final = 600.0  # for which OpenAI's clients wait, too


@router.get("/models", summary="List models")
def read_models(request: HttpRequest) -> dict[str, Any]:  # Any: JSON
    """Return the published workflows that the key may run, as models."""
    models = list_models(get_principal(request), get_current_team_id(request))
    return {"object": "list", "data": [serialize_model(workflow) for workflow in models]}


@router.get("/models/{path:model_id}", summary="Get a model")
def read_model(request: HttpRequest, model_id: str) -> dict[str, Any]:  # Any: JSON
    """Return one model. ``name@3`` is version 3 of the workflow, and ``name@note`` the newest version with this note."""
    model = find_model(get_principal(request), get_current_team_id(request), model_id)
    return serialize_model(model.workflow, model.id)


@router.post("/chat/completions", summary="Complete a chat")
@accept_streamed_idempotency_key
@opens_own_tenant
def complete_chat(request: HttpRequest, body: CompletionIn) -> HttpResponseBase:
    """Run the workflow that ``model`` names, and answer with its result, at once or as a stream.

    ``user`` is your own id of the person: without one, nobody's memory is read or written. The messages are the
    conversation, unless ``metadata.conversation_id`` names one that is stored here.
    """
    principal = get_principal(request)
    started, is_repeated = _start_once(request, principal, body)
    reader = AnswerReader(principal, started, partial(_build_link, request))
    response: HttpResponseBase
    if body.stream:
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        response = EventStream(stream_chunks(reader, with_usage=with_usage), reconnects=False)
    else:
        response = JsonResponse(await_in_loop(_wait_for_completion, reader))
    if started.conversation is not None:
        response[CONVERSATION_HEADER] = started.conversation
    if is_repeated:
        response[REPLAYED] = "true"
    return response


def _build_link(request: HttpRequest, token: str) -> str:
    path = reverse("workflows:answer", args=[token])
    public_url: str | None = settings.PUBLIC_URL
    return f"{public_url.rstrip('/')}{path}" if public_url else request.build_absolute_uri(path)


async def _wait_for_completion(reader: AnswerReader) -> dict[str, Any]:  # Any: JSON
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            return await build_completion(reader)
    except TimeoutError:
        message = _(
            "The run %(run)s takes longer than %(seconds)s seconds. It goes on; stream its answer instead."
        )
        values = {"run": reader.started.run.pk, "seconds": int(WAIT_SECONDS)}
        raise CompletionError(message % values, status=504, code="timeout") from None


def _start_once(
    request: HttpRequest, principal: Principal, body: CompletionIn
) -> tuple[StartedRun, bool]:
    """Start the run of a request. The same request with the same ``Idempotency-Key`` gets the run that it had started.

    Return it with whether it was started before.
    """
    with sse.close_connections(), tenant(principal.team_ids):
        team_id, claimed = get_current_team_id(request), None
        key = request.headers.get(HEADER)
        if key is not None:
            key, digest = idempotency.check_key(key), compute_digest(request, CONTEXT_HEADERS)
            claimed = idempotency.claim_key(principal, team_id, key=key, digest=digest)
        if isinstance(claimed, StoredAnswer):
            return _load_started(principal, claimed), True
        started = start_completion(principal, team_id, request, body)
        if claimed is not None:
            run_id = started.run.pk
            note = {
                "run": str(run_id),
                "model_id": started.model_id,
                "after": started.after,
                "conversation": started.conversation,
                "version": started.version,
                "streams": started.streams,
            }
            idempotency.store_answer(claimed, status=200, body=json.dumps(note), object_id=run_id)
    return started, False


def _load_started(principal: Principal, answer: StoredAnswer) -> StartedRun:
    note = json.loads(answer.body)
    run = selectors.find_run(principal, UUID(note.pop("run")))
    return StartedRun(run, **note)

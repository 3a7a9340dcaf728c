"""Routes of chats, and of apps that complete a text: send a message, and stop its task."""

from functools import partial

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Router

from accounts.http.auth import KeyAuth
from accounts.http.middleware import opens_own_tenant
from workflows.dify_api.apps import CHAT, COMPLETION, App, open_app, read_user
from workflows.dify_api.bodies import ChatBody, CompletionBody, UserBody
from workflows.dify_api.conversation_rows import leave_unnamed
from workflows.dify_api.starting import answer_call, to_references
from workflows.dify_api.stopping import stop_task
from workflows.dify_api.trace_ids import read_trace_id
from workflows.idempotent_requests import accept_streamed_idempotency_key
from workflows.models import Run
from workflows.models.run import Channel
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_with_message


router = Router(auth=[KeyAuth()])


@router.post("/chat-messages", summary="Send a message")
@accept_streamed_idempotency_key
@opens_own_tenant
def send_message(request: HttpRequest, body: ChatBody) -> HttpResponseBase:
    """Start a turn of a conversation, or answer what its last turn asked."""
    return answer_call(
        request,
        partial(open_app, request, CHAT, verb="run"),
        partial(_start_turn, body=body, trace_id=read_trace_id(request, body.trace_id)),
        CHAT,
        is_streamed=body.is_streamed,
    )


@router.post("/completion-messages", summary="Complete a text")
@accept_streamed_idempotency_key
@opens_own_tenant
def complete_text(request: HttpRequest, body: CompletionBody) -> HttpResponseBase:
    """Run a workflow whose outputs are one text, and answer with the text."""
    return answer_call(
        request,
        partial(open_app, request, COMPLETION, verb="run"),
        partial(_start_completion, body=body, trace_id=read_trace_id(request, body.trace_id)),
        COMPLETION,
        is_streamed=body.is_streamed,
    )


@router.post("/chat-messages/{task_id}/stop", summary="Stop a message")
def stop_message(request: HttpRequest, task_id: str, body: UserBody) -> dict[str, str]:
    return stop_task(open_app(request, CHAT, verb="run"), task_id, body.user)


@router.post("/completion-messages/{task_id}/stop", summary="Stop a completion")
def stop_completion(request: HttpRequest, task_id: str, body: UserBody) -> dict[str, str]:
    return stop_task(open_app(request, COMPLETION, verb="run"), task_id, body.user)


def _start_turn(app: App, *, body: ChatBody, trace_id: str) -> Run:
    user = read_user(body.user)
    subject = app.find_subject(user)
    key = (body.conversation_id or "").strip()
    if key:
        app.find_conversation(subject, key, "conversation.continue")
        answered = answer_with_message(
            app.principal,
            workflow=app.workflow,
            conversation=key,
            message=body.query,
            subject=user,
        )
        if answered is not None:
            return answered
    run = start_run(
        app.principal,
        workflow=app.workflow,
        subject=user,
        version=app.find_version(body.workflow_id) if body.workflow_id else app.version,
        inputs=body.inputs,
        query=body.query,
        files=to_references(body.files),
        conversation=key or None,
        channel=Channel.DIFY,
        trace_id=trace_id,
    )
    if not key and body.auto_generate_name is False:
        leave_unnamed(app.principal, run)
    return run


def _start_completion(app: App, *, body: CompletionBody, trace_id: str) -> Run:
    inputs = body.inputs if body.query is None else {"query": body.query, **body.inputs}
    return start_run(
        app.principal,
        workflow=app.workflow,
        subject=read_user(body.user),
        version=app.version,
        inputs=inputs,
        files=to_references(body.files),
        channel=Channel.DIFY,
        trace_id=trace_id,
    )

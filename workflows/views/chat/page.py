"""The chat page of a published workflow, without its graph."""

from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from workflows import memory_app, permissions, selectors
from workflows.engine.errors import InputRejected
from workflows.engine.language.document import Document
from workflows.errors import FileRefused
from workflows.forms import build_message_choice, read_files
from workflows.models import Conversation, Run, Workflow
from workflows.services.chat import conversations
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.runs.runs import cancel_run, start_run
from workflows.services.runs.waits import answer_with_message
from workflows.views.catalog.workflow_page import (
    GROUP_FIELD,
    build_group_context,
    find_last_run,
    get_opening,
    list_suggestions,
    load_published_document,
    read_memory_stream,
)
from workflows.views.chat.conversation_list import build_list_context, list_own_conversations
from workflows.views.chat.start_fields import (
    build_fields_context,
    read_start_inputs,
    render_rejection,
)
from workflows.views.chat.turns import build_turns, list_turns
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import (
    choose_status,
    find_run,
    find_workflow,
    is_htmx,
    parse_id_or_none,
    read_text,
)
from workflows.views.script_texts import translate_texts


@login_required
@require_safe
def page(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Show the chat with the requested conversation if it is the caller's own."""
    principal, workflow = _find_chat(request, workflow_id)
    document = load_published_document(workflow)
    conversation = (
        list_own_conversations(principal, workflow)
        .filter(key=read_text(request.GET, "conversation"))
        .first()
    )
    context = {
        "workflow": workflow,
        "upload_url": _get_upload_url(workflow),
        "words": translate_texts("common/file_picker.js"),
        "can_edit": permissions.may_edit(principal, workflow),
        "is_published": document is not None,
        "conversation": conversation,
        "turns": list_turns(principal, workflow, conversation) if conversation else [],
        "undoable": _find_archived_conversation(request, principal, workflow),
        **build_list_context(request, principal, workflow, conversation),
        **(_build_document_context(request, document) if document else {}),
        **(_build_fields(principal, workflow, conversation, document) if document else {}),
        **_build_memory_context(principal, workflow),
    }
    return render(request, "chat/page.html", context)


@login_required
@require_POST
def send_message(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Start a turn; a failed one is retried by sending the same message again."""
    principal, workflow = _find_chat(request, workflow_id)
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=reverse("workflows:chat", args=[workflow.pk]),
        send=partial(_send, request, principal, workflow),
    )


def _send(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> tuple[HttpResponse, Run | None]:
    """Start the turn, and return its run with the answer to the form, or without a run if the message was refused."""
    query = read_text(request.POST, "query")
    if not query:
        return HttpResponse(_("Enter a message first."), status=422), None
    document = load_published_document(workflow)
    answered_run = answer_with_message(
        principal,
        workflow=workflow,
        conversation=read_text(request.POST, "conversation"),
        message=query,
    )
    try:
        run = answered_run or start_run(
            principal,
            workflow=workflow,
            query=query,
            inputs=read_start_inputs(document, request.POST.dict()) if document else {},
            files=read_files(request.POST.get("files", "")),
            conversation=read_text(request.POST, "conversation") or None,
            version="published",
            stream=read_memory_stream(request.POST),
        )
    except InputRejected as rejected:
        if document is None or not is_htmx(request):
            raise
        upload_url = _get_upload_url(workflow)
        return render_rejection(request, workflow, document, rejected, upload_url), None
    except FileRefused as refused:
        return HttpResponse(str(refused), status=choose_status(refused)), None
    conversation = run.conversation
    if conversation is None:
        raise AssertionError("a chat's run belongs to a conversation")
    group = read_text(request.POST, GROUP_FIELD)
    parameters = {"conversation": conversation.key} | ({GROUP_FIELD: group} if group else {})
    url = f"{reverse('workflows:chat', args=[workflow.pk])}?{urlencode(parameters)}"
    if not is_htmx(request):
        return redirect(url), run
    (chat_turn,) = build_turns(principal, workflow, [run])
    context = {
        "turn": chat_turn,
        "workflow": workflow,
        "conversation": conversation,
        "group": group,
        "out_of_band": True,
        "turn_out_of_band": answered_run is not None,  # its turn is on the page already
        **build_list_context(request, principal, workflow, conversation),
    }
    templates = ("chat/_turn.html", "chat/_conversation_field.html", "chat/_conversations.html")
    response = HttpResponse("".join(render_to_string(name, context, request) for name in templates))
    response["HX-Replace-Url"] = url  # a reload opens this conversation
    return response, run


@login_required
@require_safe
def turn(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a turn in its current state: its answer, and the memories that it used and stored."""
    principal, run = find_run(request, run_id)
    if run.conversation is None or not run.workflow.is_chat:
        raise NotFound
    (chat_turn,) = build_turns(principal, run.workflow, [run])
    document = load_published_document(run.workflow)
    context = {
        "turn": chat_turn,
        "workflow": run.workflow,
        "conversation": run.conversation,
        "is_last": True,
        "offers_follow_ups": document is not None and offers_follow_ups(document.features),
    }
    return render(request, "chat/_turn.html", context)


@login_required
@require_POST
def stop(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = find_run(request, run_id)
    cancel_run(principal, run)
    if is_htmx(request):
        return HttpResponse(status=204)  # the stream reports the end
    return _redirect_to_chat(run.workflow, run.conversation)


@login_required
@require_POST
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, conversation = _find_conversation(request, conversation_id)
    conversations.rename(principal, conversation=conversation, name=read_text(request.POST, "name"))
    return _redirect_to_chat(conversation.workflow, conversation)


@login_required
@require_POST
def archive(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, conversation = _find_conversation(request, conversation_id)
    conversations.archive(principal, conversation=conversation)
    return redirect(
        f"{reverse('workflows:chat', args=[conversation.workflow_id])}?undo={conversation.pk}"
    )


@login_required
@require_POST
def restore(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, conversation = _find_conversation(request, conversation_id)
    conversations.unarchive(principal, conversation=conversation)
    return _redirect_to_chat(conversation.workflow, conversation)


def _find_chat(request: HttpRequest, workflow_id: UUID) -> tuple[Principal, Workflow]:
    principal, workflow = find_workflow(request, workflow_id, "run")
    if not workflow.is_chat:
        raise NotFound
    return principal, workflow


def _find_conversation(
    request: HttpRequest, conversation_id: UUID
) -> tuple[Principal, Conversation]:
    principal = get_principal(request)
    return principal, selectors.find_conversation(principal, conversation_id)


def _redirect_to_chat(workflow: Workflow, conversation: Conversation | None) -> HttpResponse:
    query = f"?{urlencode({'conversation': conversation.key})}" if conversation else ""
    return redirect(f"{reverse('workflows:chat', args=[workflow.pk])}{query}")


def _find_archived_conversation(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> Conversation | None:
    """Return the conversation that was just archived, so that the page offers to undo it."""
    conversation_id = parse_id_or_none(request.GET.get("undo"))
    archived = list_own_conversations(principal, workflow).filter(archived_at__isnull=False)
    return archived.filter(pk=conversation_id).first() if conversation_id else None


def _get_upload_url(workflow: Workflow) -> str:
    """Return the address for files of the published version, whose fields the page shows."""
    return f"{reverse('workflows:upload', args=[workflow.pk])}?version=published"


def _build_document_context(request: HttpRequest, document: Document) -> dict[str, Any]:
    return {
        "opening": get_opening(document).strip(),
        "suggestions": list_suggestions(document),
        "offers_follow_ups": offers_follow_ups(document.features),
        "file_choice": build_message_choice(document),
        **build_group_context(request.GET, document),
    }


def _build_fields(
    principal: Principal, workflow: Workflow, conversation: Conversation | None, document: Document
) -> dict[str, Any]:
    last_run = find_last_run(principal, workflow, conversation=conversation)
    inputs = last_run.inputs if last_run else {}
    return build_fields_context(document, inputs, is_new=conversation is None)


def _build_memory_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    if not memory_app.is_on():
        return {}
    return {"pause": memory_app.get_own_pause(memory_app.MemoryCaller(principal, workflow.team_id))}

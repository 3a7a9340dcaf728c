"""The chat page of a published workflow: for whoever talks to it, without its graph."""

from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from workflows import memory_app, permissions, selectors
from workflows.engine.language.document import Document
from workflows.models import Conversation, Message, Workflow
from workflows.models.documents import from_json
from workflows.services.chat import conversations
from workflows.services.runs.runs import cancel_run, resolve_subject, start_run
from workflows.views.catalog.workflow_page import GROUP, group_asked, stream_of
from workflows.views.chat.turns import turns_from, turns_of
from workflows.views.request_context import run_for, typed, workflow_for


LISTED: Final = 30
MOST_LISTED: Final = 300
SUGGESTED: Final = 4


@login_required
@require_safe
def page(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = _chat_for(request, workflow_id)
    document = _published(workflow)
    talk = _own_talks(principal, workflow).filter(key=typed(request.GET, "conversation")).first()
    context = {
        "workflow": workflow,
        "can_edit": permissions.may_edit(principal, workflow),
        "is_published": document is not None,
        "conversation": talk,
        "turns": turns_of(principal, workflow, talk) if talk else [],
        "undoable": _put_away_just_now(request, principal, workflow),
        **_listed(request, principal, workflow, talk),
        **_opening(document),
        **(group_asked(request.GET, document) if document else {}),
        **_memory(principal, workflow),
    }
    return render(request, "chat/page.html", context)


@login_required
@require_POST
def say(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """A turn; what failed is tried again by saying the same once more."""
    principal, workflow = _chat_for(request, workflow_id)
    query = typed(request.POST, "query")
    if not query:
        return HttpResponse(_("Enter a message first."), status=422)
    run = start_run(
        principal,
        workflow=workflow,
        query=query,
        conversation=typed(request.POST, "conversation") or None,
        version="published",
        stream=stream_of(request.POST),
    )
    talk = run.conversation
    if talk is None:
        raise AssertionError("a chat's run is of a conversation")
    group = typed(request.POST, GROUP)
    here = {"conversation": talk.key} | ({GROUP: group} if group else {})
    url = f"{reverse('workflows:chat', args=[workflow.pk])}?{urlencode(here)}"
    if not request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return redirect(url)
    (turn,) = turns_from(principal, workflow, [run])
    context = {
        "turn": turn,
        "workflow": workflow,
        "conversation": talk,
        "group": group,
        "out_of_band": True,
        **_listed(request, principal, workflow, talk),
    }
    parts = ("chat/_turn.html", "chat/_conversation_field.html", "chat/_conversations.html")
    response = HttpResponse("".join(render_to_string(part, context, request) for part in parts))
    response["HX-Replace-Url"] = url  # a reload comes back to this conversation
    return response


@login_required
@require_safe
def turn(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One turn as it is now: its answer, what it used and what it remembered."""
    principal, run = run_for(request, run_id)
    if run.conversation is None or not run.workflow.is_chat:
        raise NotFound
    (told,) = turns_from(principal, run.workflow, [run])
    context = {"turn": told, "workflow": run.workflow, "conversation": run.conversation}
    return render(request, "chat/_turn.html", context)


@login_required
@require_POST
def stop(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = run_for(request, run_id)
    cancel_run(principal, run)
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponse(status=204)  # the stream tells how it ended
    return _back_to(run.workflow, run.conversation)


@login_required
@require_POST
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, talk = _talk_for(request, conversation_id)
    conversations.rename(principal, conversation=talk, name=typed(request.POST, "name"))
    return _back_to(talk.workflow, talk)


@login_required
@require_POST
def put_away(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, talk = _talk_for(request, conversation_id)
    conversations.archive(principal, conversation=talk)
    return redirect(f"{reverse('workflows:chat', args=[talk.workflow_id])}?undo={talk.pk}")


@login_required
@require_POST
def bring_back(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    principal, talk = _talk_for(request, conversation_id)
    conversations.unarchive(principal, conversation=talk)
    return _back_to(talk.workflow, talk)


def _chat_for(request: HttpRequest, workflow_id: UUID) -> tuple[Principal, Workflow]:
    principal, workflow = workflow_for(request, workflow_id, "run")
    if not workflow.is_chat:
        raise NotFound
    return principal, workflow


def _talk_for(request: HttpRequest, conversation_id: UUID) -> tuple[Principal, Conversation]:
    principal = get_principal(request)
    return principal, selectors.conversation_for(principal, conversation_id)


def _back_to(workflow: Workflow, talk: Conversation | None) -> HttpResponse:
    asked = f"?{urlencode({'conversation': talk.key})}" if talk else ""
    return redirect(f"{reverse('workflows:chat', args=[workflow.pk])}{asked}")


def _own_talks(principal: Principal, workflow: Workflow) -> QuerySet[Conversation]:
    """One's own as oneself; those of test persons stay in the editor."""
    own = resolve_subject(principal, None).id
    return Conversation.objects.visible_to(principal).filter(workflow=workflow, subject=own)


def _listed(
    request: HttpRequest, principal: Principal, workflow: Workflow, current: Conversation | None
) -> dict[str, Any]:
    """Newest word first; a name is what it is called, or began with."""
    away = "away" in request.GET
    asked = request.GET.get("list", "")
    most = min(int(asked), MOST_LISTED) if asked.isdecimal() and len(asked) < 6 else LISTED
    first = Message.objects.visible_to(principal).filter(conversation=OuterRef("pk"))
    rows = (
        _own_talks(principal, workflow)
        .filter(archived_at__isnull=not away, dialogue_count__gt=0)
        .annotate(
            began=Subquery(first.order_by("number").values("query")[:1]),
            spoken_at=Coalesce(F("last_message_at"), F("created_at")),
        )
        .order_by("-spoken_at", "-id")
    )
    found = list(rows[: most + 1])
    return {
        "talks": found[:most],
        "more": most + LISTED if len(found) > most and most < MOST_LISTED else 0,
        "away": away,
        "current": current.pk if current else None,
    }


def _put_away_just_now(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> Conversation | None:
    try:
        asked = UUID(request.GET.get("undo", ""))
    except ValueError:
        return None
    return _own_talks(principal, workflow).filter(pk=asked, archived_at__isnull=False).first()


def _published(workflow: Workflow) -> Document | None:
    version = workflow.published_version
    return from_json(version.snapshot.document) if version else None


def _opening(document: Document | None) -> dict[str, Any]:
    features = document.features if document else {}
    words, asked = features.get("opening_statement"), features.get("suggested_questions")
    return {
        "opening": words.strip() if isinstance(words, str) else "",
        "suggestions": [str(one) for one in asked[:SUGGESTED]] if isinstance(asked, list) else [],
    }


def _memory(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    if not memory_app.is_on():
        return {}
    return {"pause": memory_app.get_own_pause(memory_app.MemoryCaller(principal, workflow.team_id))}

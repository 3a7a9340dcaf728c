"""The public page of a workflow: a chat, a form, or the question for its password."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from workflows import memory_app
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.execution.kinds import load_kinds
from workflows.forms import build_input_fields, build_message_choice
from workflows.models import Run
from workflows.services.chat.suggestions import offers_follow_ups
from workflows.services.public_pages import limits
from workflows.services.public_pages.visitors import enter_password, sign_ticket
from workflows.views.catalog.workflow_page import (
    build_group_context,
    get_opening,
    list_suggestions,
)
from workflows.views.chat.conversation_list import build_list_context, list_own_conversations
from workflows.views.chat.start_fields import build_fields_context
from workflows.views.chat.turns import list_turns
from workflows.views.public_pages.addresses import PublicChatUrls, build_base_context
from workflows.views.public_pages.earlier_results import list_earlier_results
from workflows.views.public_pages.visits import Visit, get_network, set_ticket
from workflows.views.request_context import read_text
from workflows.views.script_texts import translate_texts


MAX_PASSWORD = 200


def show_page(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the chat or the form, or ask for the password first."""
    context = build_base_context(visit)
    if visit.is_locked:
        return render(request, "public_pages/password.html", context)
    context |= {
        "remembers": _remembers_visitors(visit),
        "words": translate_texts("common/file_picker.js"),
    }
    if visit.workflow.is_chat:
        context |= _build_chat_context(request, visit)
        return render(request, "public_pages/chat.html", context)
    context |= {
        "fields": build_input_fields(visit.document),
        "start_url": PublicChatUrls(visit).get("start"),
        "earlier_results": list_earlier_results(
            visit.principal, visit.workflow, PublicChatUrls(visit)
        ),
        **_build_group(request, visit),
    }
    return render(request, "public_pages/form.html", context)


def unlock(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take the password. Too many wrong ones are refused for a while, without a look at them."""
    network = get_network(request)
    limits.check_password_attempts(visit.page, network)
    password = read_text(request.POST, "password")[:MAX_PASSWORD]
    visitor = enter_password(visit.page, visit.visitor, password)
    if visitor is None:
        limits.note_wrong_password(visit.page, network)
        context = {**build_base_context(visit), "error": _("This is not the password of the page.")}
        return render(request, "public_pages/password.html", context, status=422)
    if visit.is_embedded:
        trigger = json.dumps({"visitor-changed": sign_ticket(visit.page, visitor)})
        return HttpResponse(status=204, headers={"HX-Trigger": trigger})
    response = redirect(PublicChatUrls(visit).page)
    set_ticket(response, visit.page, visitor)
    return response


def _build_chat_context(request: HttpRequest, visit: Visit) -> dict[str, Any]:
    principal, workflow, document = visit.principal, visit.workflow, visit.document
    urls = PublicChatUrls(visit)
    rows = list_own_conversations(principal, workflow)
    conversation = rows.filter(key=read_text(request.GET, "conversation")).first()
    runs = Run.objects.visible_to(principal).filter(workflow=workflow, conversation=conversation)
    last_run = runs.order_by("-created_at", "-id").first() if conversation else None
    return {
        "conversation": conversation,
        # Whoever opens a new conversation wants to write; a bubble leaves the focus to the site around it.
        "has_focus": conversation is None and not visit.is_embedded,
        "turns": list_turns(principal, workflow, conversation, urls) if conversation else [],
        "opening": get_opening(document).strip(),
        "suggestions": list_suggestions(document),
        "offers_follow_ups": offers_follow_ups(document.features),
        "file_choice": build_message_choice(document),
        **_build_group(request, visit),
        **build_fields_context(
            document, last_run.inputs if last_run else {}, is_new=conversation is None
        ),
        **build_list_context(request, principal, workflow, conversation, urls),
    }


def _build_group(request: HttpRequest, visit: Visit) -> dict[str, Any]:
    """Return the group of a member. A visitor names none."""
    return build_group_context(request.GET, visit.document) if visit.is_member else {}


def _remembers_visitors(visit: Visit) -> bool:
    return memory_app.is_on() and "user" in list_memory_scopes(visit.document, load_kinds())

"""The conversations of a visitor, and what is remembered about them: rename, delete, forget."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from workflows import memory_app, selectors
from workflows.models import Conversation
from workflows.services.chat import conversations
from workflows.services.chat.deletion import delete_conversation
from workflows.services.public_pages import memories
from workflows.views.public_pages.addresses import PublicChatUrls, build_base_context
from workflows.views.public_pages.visits import Visit
from workflows.views.request_context import is_htmx, read_text
from workflows.views.value_text import format_entry


def rename(request: HttpRequest, visit: Visit, conversation_id: UUID) -> HttpResponse:
    conversation = _find_conversation(visit, conversation_id)
    name = read_text(request.POST, "name")
    conversations.rename(visit.principal, conversation=conversation, name=name)
    return _go_to(request, f"{PublicChatUrls(visit).page}?conversation={conversation.key}")


def delete(request: HttpRequest, visit: Visit, conversation_id: UUID) -> HttpResponse:
    """Delete the conversation with its messages and files. What is remembered about the visitor stays."""
    conversation = _find_conversation(visit, conversation_id)
    delete_conversation(visit.principal, conversation=conversation)
    return _go_to(request, PublicChatUrls(visit).page)


def show_memories(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the visitor what the page remembers about them."""
    _check_memory(visit)
    urls = PublicChatUrls(visit)
    rows = [
        (
            format_entry({"key": entry.key, "value": entry.value}, memory_app.format_value),
            entry.created_at,
            urls.get("forget", entry.id),
        )
        for entry in memories.list_memories(visit.principal, visit.workflow)
    ]
    context = {**build_base_context(visit), "rows": rows, "forget_all_url": urls.get("forget_all")}
    return render(request, "public_pages/memory.html", context)


def forget(request: HttpRequest, visit: Visit, entry_id: UUID) -> HttpResponse:
    """Forget one memory about the visitor, and say so in its place."""
    _check_memory(visit)
    memories.forget_memory(visit.principal, visit.workflow, entry_id)
    if not is_htmx(request):
        messages.success(request, _("Forgotten."))
        return redirect(PublicChatUrls(visit).memory)
    return render(request, "public_pages/_forgotten.html")


def forget_all(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Forget everything about the visitor."""
    _check_memory(visit)
    memories.forget_all(visit.principal, visit.workflow)
    return _go_to(request, PublicChatUrls(visit).memory)


def _check_memory(visit: Visit) -> None:
    """Raise Http404 without memory, and for a member, whose memory is that of all workflows and has a page of its own."""
    if not memory_app.is_on() or visit.is_member:
        raise Http404


def _find_conversation(visit: Visit, conversation_id: UUID) -> Conversation:
    conversation = selectors.find_conversation(visit.principal, conversation_id)
    if conversation.workflow_id != visit.workflow.pk:
        raise NotFound
    return conversation


def _go_to(request: HttpRequest, url: str) -> HttpResponse:
    """Lead the page to an address, within the frame of the bubble too."""
    if is_htmx(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return redirect(url)

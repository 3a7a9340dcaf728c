"""The list of a person's conversations beside a chat."""

from typing import Any, Final

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from accounts.principals import Principal
from workflows.models import Conversation, Message, Workflow
from workflows.services.runs.runs import resolve_subject
from workflows.views.chat.addresses import ChatUrls, MemberChatUrls


PAGE_SIZE: Final = 30
MAX_CONVERSATIONS: Final = 300


def list_own_conversations(principal: Principal, workflow: Workflow) -> QuerySet[Conversation]:
    """Return the caller's own conversations; those of test users are only shown in the editor."""
    subject = resolve_subject(principal, None).id
    return Conversation.objects.visible_to(principal).filter(workflow=workflow, subject=subject)


def build_list_context(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    current: Conversation | None,
    urls: ChatUrls | None = None,
) -> dict[str, Any]:
    """Build the list of conversations by their latest message; each is shown by its name or its first query."""
    urls = urls or MemberChatUrls(workflow.pk)
    is_archived = "away" in request.GET and not urls.is_public
    limit_text = request.GET.get("list", "")
    limit = (
        min(int(limit_text), MAX_CONVERSATIONS)
        if limit_text.isdecimal() and len(limit_text) < 6
        else PAGE_SIZE
    )
    messages = Message.objects.visible_to(principal).filter(conversation=OuterRef("pk"))
    matching_conversations = (
        list_own_conversations(principal, workflow)
        .filter(archived_at__isnull=not is_archived, dialogue_count__gt=0)
        .annotate(
            began=Subquery(messages.order_by("number").values("query")[:1]),
            spoken_at=Coalesce(F("last_message_at"), F("created_at")),
        )
        .order_by("-spoken_at", "-id")
    )
    page_conversations = list(matching_conversations[: limit + 1])
    has_more = len(page_conversations) > limit and limit < MAX_CONVERSATIONS
    for conversation in page_conversations:
        conversation.urls = urls.get_conversation(conversation)  # type: ignore[attr-defined]  # for the template
    return {
        "conversations": page_conversations[:limit],
        "urls": urls,
        "more": limit + PAGE_SIZE if has_more else 0,
        "is_archived": is_archived,
        "current": current.pk if current else None,
    }

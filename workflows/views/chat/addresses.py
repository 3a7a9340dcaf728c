"""The addresses of a chat's actions: those of the members' pages, or those of a public page.

The templates of a turn are the same on both pages, and print these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from django.urls import reverse

from workflows.models import Conversation


@dataclass(frozen=True, slots=True)
class TurnUrls:
    """The addresses of a turn."""

    turn: str
    stop: str
    events: str
    questions: str
    feedback: str
    say: str
    page: str
    forget: str  # what the person chooses, if several memories could be meant
    restore: str  # what was forgotten
    follow_ups: str  # what to ask next


@dataclass(frozen=True, slots=True)
class ConversationUrls:
    """The addresses with which a conversation is changed. Without an address, the action isn't offered."""

    rename: str
    archive: str = ""
    restore: str = ""
    delete: str = ""


class ChatUrls(Protocol):
    """Gives the addresses of one chat. ``is_public`` is true for visitors without an account."""

    @property
    def is_public(self) -> bool: ...
    @property
    def page(self) -> str: ...
    def get_turn(self, run_id: UUID) -> TurnUrls: ...
    def get_conversation(self, conversation: Conversation) -> ConversationUrls: ...
    def get_forget_url(self, entry: Mapping[str, Any]) -> str: ...  # Any: JSON


@dataclass(frozen=True, slots=True)
class MemberChatUrls:
    """The addresses of the chat of a workflow for members of its team."""

    workflow_id: UUID

    @property
    def is_public(self) -> bool:
        return False

    @property
    def page(self) -> str:
        return reverse("workflows:chat", args=[self.workflow_id])

    def get_turn(self, run_id: UUID) -> TurnUrls:
        return TurnUrls(
            turn=reverse("workflows:chat_turn", args=[run_id]),
            stop=reverse("workflows:chat_stop", args=[run_id]),
            events=reverse("workflows:run_events", args=[run_id]),
            questions=reverse("workflows:run_waits", args=[run_id]),
            feedback=reverse("workflows:run_feedback", args=[run_id]),
            say=reverse("workflows:chat_say", args=[self.workflow_id]),
            page=self.page,
            forget=reverse("workflows:chat_forget", args=[run_id]),
            restore=reverse("workflows:chat_remember_again", args=[run_id]),
            follow_ups=reverse("workflows:chat_follow_ups", args=[run_id]),
        )

    def get_conversation(self, conversation: Conversation) -> ConversationUrls:
        pk = conversation.pk
        return ConversationUrls(
            rename=reverse("workflows:chat_rename", args=[pk]),
            archive=reverse("workflows:chat_put_away", args=[pk]),
            restore=reverse("workflows:chat_bring_back", args=[pk]),
        )

    def get_forget_url(self, entry: Mapping[str, Any]) -> str:  # Any: JSON
        return ""  # members forget it on the line of its own

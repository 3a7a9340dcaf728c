"""The addresses of a public page's actions, for the templates that it shares with the members' chat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse

from workflows.models import Conversation
from workflows.services.public_pages.visitors import sign_stream
from workflows.views.chat.addresses import ConversationUrls, TurnUrls
from workflows.views.public_pages.visits import Visit
from workflows.views.request_context import parse_id_or_none


@dataclass(frozen=True, slots=True)
class PublicChatUrls:
    """The addresses of a public page, for one visitor."""

    visit: Visit

    @property
    def is_public(self) -> bool:
        return True

    @property
    def page(self) -> str:
        return self.get("embed" if self.visit.is_embedded else "page")

    @property
    def memory(self) -> str:
        """Return the address of what is remembered about the visitor, or of a member's own page of it."""
        if self.visit.is_member:
            return reverse("memory:about")
        return f"{self.page}?view=memory" if self.visit.is_embedded else self.get("memory")

    def get(self, name: str, *args: object) -> str:
        return reverse(f"workflows:public_{name}", args=[self.visit.page.token, *args])

    def get_events(self, run_id: UUID) -> str:
        """Return the address of a run's events. From within another site, it names the visitor itself, for a while."""
        url = self.get("events", run_id)
        if not self.visit.is_embedded:
            return url
        return f"{url}?visit={sign_stream(self.visit.page, self.visit.visitor, run_id)}"

    def get_turn(self, run_id: UUID) -> TurnUrls:
        return TurnUrls(
            turn=self.get("turn", run_id),
            stop=self.get("stop", run_id),
            events=self.get_events(run_id),
            questions=self.get("waits", run_id),
            feedback=self.get("feedback", run_id),
            say=self.get("say"),
            page=self.page,
            forget=self.get("forget_chosen", run_id),
            restore=self.get("remember_again", run_id),
            follow_ups=self.get("follow_ups", run_id),
        )

    def get_conversation(self, conversation: Conversation) -> ConversationUrls:
        return ConversationUrls(
            rename=self.get("rename", conversation.pk), delete=self.get("delete", conversation.pk)
        )

    def get_forget_url(self, entry: Mapping[str, Any]) -> str:  # Any: JSON
        entry_id = None if self.visit.is_member else parse_id_or_none(entry.get("id"))
        return self.get("forget", entry_id) if entry_id else ""


def build_base_context(visit: Visit) -> dict[str, Any]:
    """Return the variables of the layout of public pages."""
    urls = PublicChatUrls(visit)
    return {
        "layout": "public_pages/_frame.html" if visit.is_embedded else "public_pages/layout.html",
        "workflow": visit.workflow,
        "icon": "" if visit.workflow.icon.isascii() else visit.workflow.icon,
        "urls": urls,
        "is_embedded": visit.is_embedded,
        "password_url": urls.get("password"),
        "say_url": urls.get("say"),
        "upload_url": urls.get("upload"),
    }

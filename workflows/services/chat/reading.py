"""Conversations as their own program or person reads them: which there are, their turns, and what was thought of them."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, QuerySet

from accounts.access import Principal, check
from workflows.models import Conversation, Feedback, Message


def list_own_conversations(principal: Principal, team_id: UUID) -> QuerySet[Conversation]:
    """Return the conversations that are the principal's own, in all workflows that it may see; the latest message first."""
    check(principal, "run.view", team_id)
    rows = Conversation.objects.visible_to(principal).filter(team_id=team_id)
    return rows.order_by(F("last_message_at").desc(nulls_last=True), "-id")


def list_turns(
    principal: Principal, conversation: Conversation, *, before: int | None = None
) -> QuerySet[Message]:
    """Return the turns of a conversation before a number, the newest first."""
    rows = Message.objects.visible_to(principal).filter(conversation=conversation)
    return (rows if before is None else rows.filter(number__lt=before)).order_by("-number")


def load_own_ratings(
    principal: Principal, run_ids: Iterable[UUID | None]
) -> dict[UUID | None, int]:
    """Return the ratings that the principal gave to these runs, by the run's id."""
    rows = Feedback.objects.visible_to(principal).filter(
        run_id__in=[run_id for run_id in run_ids if run_id], actor=principal.actor
    )
    return dict(rows.values_list("run_id", "rating"))

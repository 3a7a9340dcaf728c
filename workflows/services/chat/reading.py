"""Conversations as their own program or person reads them: which there are, their turns, and what was thought of them."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from accounts.access import Principal, check
from accounts.errors import NotFound
from accounts.services import list_own_actors
from config.ids import normalize_identifier
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import Conversation, Feedback, Message


def list_own_conversations(principal: Principal, team_id: UUID) -> QuerySet[Conversation]:
    """Return the conversations that are the principal's own, in all workflows that it may see; the latest message first."""
    check(principal, "run.view", team_id)
    rows = Conversation.objects.visible_to(principal).filter(team_id=team_id)
    return rows.order_by(F("last_message_at").desc(nulls_last=True), "-id")


def find_conversation_by_key(
    principal: Principal, team_id: UUID, key: str, workflow_id: UUID | None = None
) -> Conversation:
    """Return the conversation with the id that runs and the API use.

    Raises NotFound if there is none, and InvalidValue if several workflows have one and none is named.
    """
    rows = Conversation.objects.visible_to(principal).select_related("workflow", "api_key")
    matches = rows.filter(team_id=team_id, key=normalize_identifier(key))
    if workflow_id is not None:
        matches = matches.filter(workflow=workflow_id)
    conversations = list(matches.order_by("id")[:2])
    if not conversations:
        raise NotFound
    if len(conversations) > 1:
        message = _("Several workflows have a conversation with this id. Name the workflow.")
        raise InvalidValue(message, field="workflow")
    permissions.check_view_conversation(principal, conversations[0])
    return conversations[0]


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
        run_id__in=[run_id for run_id in run_ids if run_id],
        actor__in=list_own_actors(principal),
    )
    return dict(rows.values_list("run_id", "rating"))

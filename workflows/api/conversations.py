"""Routes of ``/api/v1/conversations`` and ``/api/v1/messages``: list, name and delete conversations, and read their turns."""

from collections.abc import Mapping, Sequence

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.pages import KeysetListing, Pages, Rows
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.errors import InvalidValue, NotPublished
from workflows.models import Conversation, Message, Workflow
from workflows.models.documents import read_document
from workflows.schemas.conversations import (
    ConversationIn,
    ConversationListQuery,
    ConversationOut,
    ConversationQuery,
    MessageListQuery,
    MessageOut,
    SuggestionsOut,
    SuggestionsQuery,
)
from workflows.services.chat import conversations, reading, suggestions
from workflows.services.chat.deletion import delete_conversation as delete
from workflows.services.chat.follow_ups import suggest_follow_ups


router = Router(auth=api_auth(), tags=["conversations"])


@router.get("/conversations", response=list[ConversationOut], summary="List conversations")
@paginate(Pages)
def list_conversations(
    request: HttpRequest, filters: Query[ConversationListQuery]
) -> QuerySet[Conversation]:
    """Return your conversations: for a key, those that the keys of its service account began. The latest message comes first."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = reading.list_own_conversations(principal, team_id).filter(
        archived_at__isnull=not filters.archived
    )
    if filters.workflow is not None:
        workflow = selectors.find_workflow(principal, filters.workflow)
        rows = rows.filter(workflow=workflow)
    if filters.user is not None:
        rows = rows.filter(subject=filters.user)
    return rows


@router.get("/messages", response=list[MessageOut], summary="List the turns of a conversation")
@paginate(Pages)
def list_messages(request: HttpRequest, query: Query[MessageListQuery]) -> KeysetListing[Message]:
    """Return the turns of a conversation of yours, each with its message and its answer.

    The first page has the newest turns, the next one those before; each page is in the order in which they were sent.
    """
    principal = get_principal(request)
    conversation = reading.find_conversation_by_key(
        principal, get_current_team_id(request), query.conversation_id, query.workflow
    )

    def read(before: int | None, limit: int) -> Rows[Message]:
        return Rows(list(reading.list_turns(principal, conversation, before=before)[:limit]))

    def serialize(turns: Sequence[Message]) -> list[object]:
        ratings = reading.load_own_ratings(principal, [turn.run_id for turn in turns])
        return [_serialize_turn(turn, ratings.get(turn.run_id)) for turn in reversed(turns)]

    return KeysetListing(read, lambda turn: turn.number, serialize)


@router.get(
    "/suggested-questions", response=SuggestionsOut, summary="Suggest questions to ask a chat"
)
def suggest_questions(request: HttpRequest, query: Query[SuggestionsQuery]) -> dict[str, object]:
    """Return the opening of a published ``workflow``, or what to ask next in a conversation of yours.

    In a conversation, a model makes them of its last turns; where there is none, they are questions of the workflow that
    nobody has asked there yet. They are none if the workflow suggests none after its answers. Fails with NotPublished for
    a workflow that isn't published.
    """
    principal = get_principal(request)
    if query.conversation_id is None:
        if query.workflow is None:
            raise InvalidValue(_("Name a workflow or a conversation_id."), field="workflow")
        workflow = selectors.find_workflow(principal, query.workflow)
        return _describe_opening(_load_features(workflow))
    conversation = reading.find_conversation_by_key(
        principal, get_current_team_id(request), query.conversation_id, query.workflow
    )
    features = _load_features(conversation.workflow)
    message = reading.list_turns(principal, conversation).select_related("run").first()
    if message is None:
        return _describe_opening(features)
    message.conversation = conversation
    questions = suggest_follow_ups(principal, features, message)
    return {"opening_statement": "", "questions": questions}


@router.patch(
    "/conversations/{path:conversation_id}", response=ConversationOut, summary="Name a conversation"
)
def rename_conversation(
    request: HttpRequest,
    conversation_id: str,
    body: ConversationIn,
    query: Query[ConversationQuery],
) -> Conversation:
    """Name a conversation by the ``conversation_id`` of its runs. Fails with NotFound if it isn't yours."""
    principal = get_principal(request)
    conversation = reading.find_conversation_by_key(
        principal, get_current_team_id(request), conversation_id, query.workflow
    )
    return conversations.rename(principal, conversation=conversation, name=body.name)


@router.delete(
    "/conversations/{path:conversation_id}", response={204: None}, summary="Delete a conversation"
)
def delete_conversation(
    request: HttpRequest, conversation_id: str, query: Query[ConversationQuery]
) -> Status[None]:
    """Delete a conversation with its turns, feedback, variables, ended runs and its own memory.

    What was remembered of its person stays, and so does memory that it shares with a conversation of yours in another
    workflow. Fails with NotFound if it isn't yours.
    """
    principal = get_principal(request)
    conversation = reading.find_conversation_by_key(
        principal, get_current_team_id(request), conversation_id, query.workflow
    )
    delete(principal, conversation=conversation)
    return Status(204, None)


def _load_features(workflow: Workflow) -> Mapping[str, Json]:
    version = workflow.published_version
    if version is None:
        raise NotPublished
    return read_document(version.snapshot).features


def _describe_opening(features: Mapping[str, Json]) -> dict[str, object]:
    return {
        "opening_statement": str(features.get("opening_statement") or ""),
        "questions": suggestions.read_questions(features),
    }


def _serialize_turn(turn: Message, rating: int | None) -> dict[str, object]:
    return {
        "number": turn.number,
        "run_id": turn.run_id,
        "query": turn.query,
        "answer": turn.answer,
        "created_at": turn.created_at,
        "rating": rating,
    }

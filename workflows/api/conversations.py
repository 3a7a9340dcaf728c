"""The route of ``/api/v1/conversations`` that names a conversation."""

from django.http import HttpRequest
from ninja import Router

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Conversation
from workflows.schemas.runs import ConversationIn, ConversationOut
from workflows.services.chat import conversations


router = Router(auth=api_auth(), tags=["runs"])


@router.patch(
    "/conversations/{path:conversation_id}", response=ConversationOut, summary="Name a conversation"
)
def rename_conversation(
    request: HttpRequest, conversation_id: str, body: ConversationIn
) -> Conversation:
    """Name a conversation by the ``conversation_id`` of its runs. Fails with NotFound if it isn't yours."""
    principal = get_principal(request)
    conversation = selectors.find_conversation_by_key(
        principal, get_current_team_id(request), conversation_id
    )
    return conversations.rename(principal, conversation=conversation, name=body.name)

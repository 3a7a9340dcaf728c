"""Routes of a person's conversations: list, rename, delete, and their variables."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from accounts.http.auth import KeyAuth
from workflows.dify_api import conversation_rows
from workflows.dify_api.apps import CHAT, open_app
from workflows.dify_api.bodies import (
    ConversationsQuery,
    RenameBody,
    UserBody,
    VariableBody,
    VariablesQuery,
)
from workflows.dify_api.errors import refuse_parameter
from workflows.engine.language.document import Json
from workflows.services.chat import conversations
from workflows.services.chat.deletion import delete_conversation


router = Router(auth=[KeyAuth()])


@router.get("/conversations", summary="List conversations")
def list_conversations(request: HttpRequest, query: Query[ConversationsQuery]) -> dict[str, Json]:
    app = open_app(request, CHAT)
    return conversation_rows.list_page(app, app.find_subject(query.user), query)


@router.delete("/conversations/{conversation_id}", summary="Delete a conversation")
def remove_conversation(request: HttpRequest, conversation_id: str, body: UserBody) -> HttpResponse:
    """Delete a conversation with its messages, feedback, variables, runs and its own memory."""
    app = open_app(request, CHAT)
    subject = app.find_subject(body.user)
    conversation = app.find_conversation(subject, conversation_id, "conversation.delete")
    delete_conversation(app.principal, conversation=conversation)
    return HttpResponse(status=204)


@router.post("/conversations/{conversation_id}/name", summary="Rename a conversation")
def rename_conversation(
    request: HttpRequest, conversation_id: str, body: RenameBody
) -> dict[str, Json]:
    """Name a conversation, or with ``auto_generate`` after its first message."""
    app = open_app(request, CHAT)
    subject = app.find_subject(body.user)
    conversation = app.find_conversation(subject, conversation_id, "conversation.rename")
    name = (body.name or "").strip()
    if body.auto_generate:
        name = conversation_rows.generate_name(app, conversation)
    elif not name:
        raise refuse_parameter("name is required when auto_generate is false", "name")
    conversations.rename(app.principal, conversation=conversation, name=name)
    described: dict[str, Json] = conversation_rows.describe(app, conversation)
    return described


@router.get("/conversations/{conversation_id}/variables", summary="List conversation variables")
def list_variables(
    request: HttpRequest, conversation_id: str, query: Query[VariablesQuery]
) -> dict[str, Json]:
    app = open_app(request, CHAT)
    subject = app.find_subject(query.user)
    conversation = app.find_conversation(subject, conversation_id, "conversation.variables")
    return conversation_rows.list_variable_page(app, conversation, query)


@router.put(
    "/conversations/{conversation_id}/variables/{variable_id}",
    summary="Change a conversation variable",
)
def change_variable(
    request: HttpRequest, conversation_id: str, variable_id: str, body: VariableBody
) -> dict[str, Json]:
    """Store a value, which must have the type of the variable."""
    app = open_app(request, CHAT)
    subject = app.find_subject(body.user)
    conversation = app.find_conversation(subject, conversation_id, "conversation.variables")
    changed: dict[str, Json] = conversation_rows.change_variable(
        app, conversation, variable_id, body.value
    )
    return changed

"""Routes of messages: list, rate, and what to ask next."""

from django.http import HttpRequest
from ninja import Query, Router

from accounts.http.auth import KeyAuth
from workflows.dify_api import message_rows
from workflows.dify_api.apps import CHAT, open_app
from workflows.dify_api.bodies import FeedbackBody, FeedbacksQuery, MessagesQuery, UserQuery
from workflows.engine.language.document import Json


router = Router(auth=[KeyAuth()])


@router.get("/messages", summary="List messages")
def list_messages(request: HttpRequest, query: Query[MessagesQuery]) -> dict[str, Json]:
    app = open_app(request, CHAT)
    subject = app.find_subject(query.user)
    conversation = app.find_conversation(subject, query.conversation_id, "conversation.view")
    return message_rows.list_page(app, conversation, query)


@router.post("/messages/{message_id}/feedbacks", summary="Rate a message")
def rate_message(request: HttpRequest, message_id: str, body: FeedbackBody) -> dict[str, str]:
    """Like or dislike an answer, with a text. ``rating`` null takes it back."""
    app = open_app(request)
    subject = app.find_subject(body.user)
    turn = message_rows.find_turn(app, subject, message_id, "message.feedback")
    message_rows.rate(app, subject, turn, body)
    return {"result": "success"}


@router.get("/messages/{message_id}/suggested", summary="Suggest questions")
def suggest_questions(
    request: HttpRequest, message_id: str, query: Query[UserQuery]
) -> dict[str, Json]:
    app = open_app(request, CHAT)
    subject = app.find_subject(query.user)
    turn = message_rows.find_turn(app, subject, message_id, "message.suggested")
    return {"result": "success", "data": message_rows.suggest(app, turn)}


@router.get("/app/feedbacks", summary="List feedback")
def list_feedback(request: HttpRequest, query: Query[FeedbacksQuery]) -> dict[str, Json]:
    return message_rows.list_feedback(open_app(request), query)

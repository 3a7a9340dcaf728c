"""Bodies of the API of conversations and their messages."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example
from workflows.models.reports.feedback import Rating


class ConversationIn(Body):
    model_config = with_example(name="Moving to Bern")

    name: Annotated[str, Field(min_length=1, max_length=255, pattern=r"\S")]


class ConversationListQuery(Body):
    """Filters of the list of conversations. ``user``: your own id of a person. ``archived``: the archived ones instead."""

    workflow: UUID | None = None
    user: Annotated[str, Field(max_length=80)] | None = None
    archived: bool = False


class ConversationOut(Schema):
    conversation_id: str = Field(validation_alias="key")
    workflow_id: UUID
    user: str = Field(validation_alias="subject")
    name: str
    turns: int = Field(validation_alias="dialogue_count")
    created_at: datetime
    last_message_at: datetime | None


class ConversationQuery(Body):
    """The workflow of a conversation, which is needed only if conversations of several workflows have its id."""

    workflow: UUID | None = None


class MessageListQuery(ConversationQuery):
    conversation_id: Annotated[str, Field(min_length=1, max_length=255)]


class MessageOut(Schema):
    """A turn: a message and its answer. ``rating`` is the feedback of the key or person that asks."""

    number: int
    run_id: UUID | None = Field(description="Null once the run has been deleted.")
    query: str
    answer: str
    created_at: datetime
    rating: Rating | None


class SuggestionsQuery(Body):
    """A workflow, whose opening is returned, or a conversation; both where several workflows have its id."""

    workflow: UUID | None = None
    conversation_id: Annotated[str, Field(min_length=1, max_length=255)] | None = None


class SuggestionsOut(Schema):
    opening_statement: str = Field(description="Empty once the conversation has begun.")
    questions: list[str]

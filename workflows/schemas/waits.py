"""Request and response schemas of what runs wait for."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from config.http.openapi import Body, with_example


class AnswerIn(Body):
    """An answer: a value for each field, and the id of the button. A form with one button need not name it."""

    model_config = with_example(values={"name": "Ana"}, action="approve")

    values: dict[str, Any] = Field(default_factory=dict)
    action: Annotated[str, Field(max_length=255)] = ""


class WaitOut(Schema):
    """An answer or a time that a run waits for. ``link`` leads to a page on which anybody who has it may answer, without an account."""

    id: UUID
    run_id: UUID
    node: str
    rounds: list[int]
    part: str
    type: Literal["form", "question", "approval", "uncertain", "delay"]
    status: Literal["open", "answered", "timed-out", "closed"]
    content: str
    inputs: list[dict[str, Any]]
    actions: list[dict[str, Any]]
    tool: str
    arguments: Any
    called_at: datetime | None = Field(description="Of an uncertain step: when its call was made.")
    idempotency_key: str = Field(description="Of an uncertain step: the key that its call had.")
    created_at: datetime
    due_at: datetime | None
    answered_at: datetime | None
    answered_by: str
    answered_by_name: str
    answerers: list[str] = Field(
        description="Who may answer: runner, link, user:ID, group:ID, role:NAME or email:ADDRESS. "
        "Without any: the run's own people, and whoever has the link."
    )
    can_answer: bool = Field(description="Whether the question is open, and asks you.")
    action: str
    values: dict[str, Any] | None
    link: str | None

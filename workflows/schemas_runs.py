"""Bodies and answers of the runs API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from workflows.engine.records import RunStatus


Inputs = dict[str, Any]  # JSON, checked against the start node's form


class StartIn(Schema):
    """``user`` names the person the run is for, by your own id for them."""

    model_config = ConfigDict(extra="forbid")

    inputs: Inputs = Field(default_factory=dict)
    query: Annotated[str, Field(max_length=200_000)] | None = None
    conversation_id: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    version: Literal["published", "draft"] | None = None
    mocks: dict[str, dict[str, Any]] | None = None
    offline: bool = False
    response_mode: Literal["async", "blocking"] = "async"
    wait_seconds: Annotated[float, Field(gt=0, le=300)] = 60.0


class RunOut(Schema):
    id: UUID
    workflow_id: UUID
    version: int | None
    conversation_id: str | None
    user: str
    status: RunStatus
    inputs: Inputs
    outputs: dict[str, Any] | None
    error: str
    error_node: str
    prompt_tokens: int
    completion_tokens: int
    attempt: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed: float | None
    events_url: str


class StepOut(Schema):
    node: str
    rounds: list[int]
    kind: str
    title: str
    status: str
    handle: str | None
    inputs: Any
    outputs: Any
    error: str
    error_type: str
    tries: int
    started_at: float
    elapsed: float
    prompt_tokens: int
    completion_tokens: int


class RunDetailOut(RunOut):
    steps: list[StepOut]
    memories_recalled: list[dict[str, Any]]
    memories_written: list[dict[str, Any]]


class RunPageOut(Schema):
    items: list[RunOut]
    count: int


class ConversationIn(Schema):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=255, pattern=r"\S")]


class ConversationOut(Schema):
    conversation_id: str
    workflow_id: UUID
    user: str
    name: str
    turns: int
    created_at: datetime
    last_message_at: datetime | None

"""Bodies and answers of the runs API."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from config.http.openapi import Limit, Offset
from workflows.engine.runtime.step_records import RunStatus
from workflows.run_filters import RunFilter


Inputs = dict[str, Any]  # JSON, checked against the start node's form


Sought = Annotated[str, Field(max_length=255)]
NodeId = Annotated[str, Field(min_length=1, max_length=255)]


class DebugIn(Schema):
    """Look into a run. At most one of ``only``, ``until`` and ``from`` may be given.

    ``reuse``: the run whose results are kept. ``values``: what a node alone reads and nothing has run
    for, by node and output. ``memory: sandbox`` tries memory out without changing it.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    only: Annotated[list[NodeId], Field(max_length=100)] = []
    until: Annotated[list[NodeId], Field(max_length=100)] = []
    start_from: Annotated[list[NodeId], Field(max_length=100, alias="from")] = []
    reuse: UUID | None = None
    breakpoints: Annotated[list[NodeId], Field(max_length=500)] = []
    step: bool = False
    memory: Literal["real", "sandbox"] = "real"
    pins: bool = False
    values: dict[NodeId, dict[str, Any]] = Field(default_factory=dict)


class StartIn(Schema):
    """``user`` names the person the run is for, by your own id for them.

    ``group_id`` says whose the workflow's own memory is. ``merge``: workflows that share a memory with
    this one in this run, which none of them sees alone.
    """

    model_config = ConfigDict(extra="forbid")

    inputs: Inputs = Field(default_factory=dict)
    query: Annotated[str, Field(max_length=200_000)] | None = None
    conversation_id: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    user: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    group_id: Annotated[str, Field(min_length=1, max_length=80)] | None = None
    merge: Annotated[list[UUID], Field(max_length=8)] = []
    version: Literal["published", "draft"] | None = None
    mocks: dict[str, dict[str, Any]] | None = None
    offline: bool = False
    debug: DebugIn | None = None
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
    debug: dict[str, Any] | None
    paused_at: list[str]
    pinned: list[str]
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
    reused_from: UUID | None
    edited_by: str
    edited_at: datetime | None
    pinned: bool


class RunDetailOut(RunOut):
    steps: list[StepOut]
    memories_recalled: list[dict[str, Any]]
    memories_written: list[dict[str, Any]]


class RunsQuery(Schema):
    """``user`` is whom they are for, by your own id for them or their account's; ``text`` is in what went in; ``node``
    has been reached, by its id; ``since`` and ``until`` are days, both among them."""

    workflow: UUID | None = None
    status: RunStatus | None = None
    user: Sought = ""
    text: Sought = ""
    node: Sought = ""
    since: date | None = None
    until: date | None = None
    offset: Offset = 0
    limit: Limit = 50

    def narrowed_to(self) -> RunFilter:
        return RunFilter(
            status=self.status.value if self.status else "",
            user=self.user,
            said=self.text,
            node=self.node,
            since=self.since,
            until=self.until,
        )


class RunPageOut(Schema):
    items: list[RunOut]
    count: int


class StepDetailOut(StepOut):
    """``inputs`` of a model's step hold its prompt, message by message."""

    memories_recalled: list[dict[str, Any]]
    memories_written: list[dict[str, Any]]


class ResumeIn(Schema):
    """``breakpoints``, where given, are those of the rest of the run."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["continue", "step", "stop"]
    breakpoints: Annotated[list[NodeId], Field(max_length=500)] | None = None


class OutputsIn(Schema):
    model_config = ConfigDict(extra="forbid")

    outputs: dict[str, Any]


class PinIn(OutputsIn):
    """``handle``: the way a branch takes."""

    handle: Annotated[str, Field(max_length=255)] | None = None


class PinOut(Schema):
    node: str
    outputs: dict[str, Any]
    handle: str | None
    pinned_at: datetime


class WouldBeOut(Schema):
    """``operation``: store | forget. ``fate``: open | kept | dropped."""

    number: int
    node: str
    operation: str
    namespace: str
    key: str
    entry: dict[str, Any] | None
    before: dict[str, Any] | None
    fate: str


class ChosenIn(Schema):
    """Numbers of would-be changes; none: all that are undecided."""

    model_config = ConfigDict(extra="forbid")

    numbers: Annotated[list[int], Field(max_length=10_000)] | None = None


class DecidedOut(Schema):
    done: int
    refused: dict[int, str]


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


class LineOut(Schema):
    sign: str
    text: str


class DifferenceOut(Schema):
    side: str
    name: str
    lines: list[LineOut]


class NodeComparisonOut(Schema):
    node: str
    rounds: list[int]
    verdict: Literal["same", "different", "only-first", "only-second"]
    slower_by: float | None
    differences: list[DifferenceOut]


class ComparisonOut(Schema):
    inputs: list[DifferenceOut]
    outputs: list[DifferenceOut]
    nodes: list[NodeComparisonOut]


class TaskIn(Schema):
    """``user`` names the person it is for. ``workflow`` does it; without one the team's for tasks."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=255)]
    description: Annotated[str, Field(max_length=100_000)] = ""
    workflow: UUID | None = None
    user: Annotated[str, Field(min_length=1, max_length=80)] | None = None


class LearntOut(Schema):
    """What became of the run's curation; ``problem`` says why nothing was learnt."""

    status: str
    problem: str
    counts: dict[str, int]


class TaskOut(Schema):
    """``status`` is ``created`` before it is executed, then its run's."""

    id: UUID
    title: str
    description: str
    status: str
    workflow: UUID | None
    run: UUID | None
    user: str
    outputs: dict[str, Any] | None
    error: str
    learnt: LearntOut | None
    created_at: datetime


class TaskPageOut(Schema):
    items: list[TaskOut]
    count: int

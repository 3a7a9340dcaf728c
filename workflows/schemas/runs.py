"""Request and response schemas of the runs API."""

from dataclasses import replace
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from config.http.openapi import Body, with_example
from workflows.engine.runtime.step_records import RunStatus
from workflows.run_filters import RunFilter


Inputs = dict[str, Any]  # JSON, checked against the start node's form
FilterText = Annotated[str, Field(max_length=255)]
NodeId = Annotated[str, Field(min_length=1, max_length=255)]


class DebugIn(Body):
    """Options of a debug run. At most one of ``only``, ``until`` and ``from`` may be given.

    ``reuse``: the run whose results are reused. ``values``: outputs that the part reads but no run has produced,
    by node and output. ``memory: sandbox`` previews memory changes without applying them.
    """

    model_config = ConfigDict(populate_by_name=True)

    only: Annotated[list[NodeId], Field(max_length=100)] = []
    until: Annotated[list[NodeId], Field(max_length=100)] = []
    start_from: Annotated[list[NodeId], Field(max_length=100, alias="from")] = []
    reuse: UUID | None = None
    breakpoints: Annotated[list[NodeId], Field(max_length=500)] = []
    step: bool = False
    memory: Literal["real", "sandbox"] = "real"
    pins: bool = False
    values: dict[NodeId, dict[str, Any]] = Field(default_factory=dict)


class FileIn(Body):
    """A file of a message: an uploaded one by its id, or an address on the web.

    Values of start fields for files have the same form; there the id alone is enough, too.
    """

    type: Annotated[str, Field(max_length=20)] = ""
    transfer_method: Literal["local_file", "remote_url"] = "local_file"
    upload_file_id: UUID | None = None
    url: Annotated[str, Field(max_length=2_000)] | None = None


class StartIn(Body):
    """A run to start. ``user`` is your own id of the person that the run is for.

    ``inputs`` are named as the fields of the start node; other names are refused. ``version``: the published
    version runs unless ``draft`` is asked for.

    ``group_id`` selects the group whose workflow memory is used. ``merge``: workflows whose
    shared memory this run uses; a run of one of them alone doesn't see it.
    """

    model_config = with_example(query="I live in Bern.", user="ana", response_mode="blocking")

    inputs: Inputs = Field(default_factory=dict)
    query: Annotated[str, Field(max_length=200_000)] | None = None
    files: Annotated[list[FileIn | str], Field(max_length=50)] = []
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
    parent_id: UUID | None = Field(description="The run that started this one as a sub-workflow.")
    version: int | None
    conversation_id: str | None
    user: str
    channel: str = Field(description="How it was started: page, api, openai, dify, mcp and so on.")
    status: RunStatus
    query: str | None = Field(description="The message of a chat.")
    inputs: Inputs
    outputs: dict[str, Any] | None
    error: str
    error_node: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(
        description="In USD, within a minute of the end; null without a price."
    )
    attempt: int = Field(
        description="1, and one more for each worker that was lost; waiting and going on is no attempt."
    )
    request_id: str = Field(description="The X-Request-ID of the request that started the run.")
    trace_id: str = Field(
        description="The id that the caller's own tracing gave with a call in Dify's form; empty without one."
    )
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    elapsed: float | None
    debug: dict[str, Any] | None
    paused_at: list[str]
    pinned: list[str]
    url: str = Field(description="The path of this run, to look again until ``status`` is final.")
    events_url: str = Field(description="The path of its events, as they come.")
    waits_url: str = Field(
        description="The path of the questions that a paused run waits for, and of their answers."
    )


class FailedModelOut(Schema):
    """A model that was asked first, and why it gave no answer."""

    name: str
    error: str


class AnsweringModelOut(Schema):
    """The model that answered. ``requested`` is the one that the document names, if it is another."""

    provider: str
    name: str
    requested: str
    version: str = Field(description="The exact model that the endpoint named in its answer.")
    is_offline: bool
    failed: list[FailedModelOut] = Field(
        description="The models that failed before, so that this one was asked as their fallback."
    )


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
    elapsed: float = Field(description="In seconds, without ``waited``.")
    waited: float = Field(
        description="Seconds for which it waited for a place to run code or a template."
    )
    prompt_tokens: int
    completion_tokens: int
    model: AnsweringModelOut | None = Field(description="Of a step that asked a model.")
    is_cut: bool = Field(description="Whether the answer reached its length limit.")
    reused_from: UUID | None
    edited_by: str
    edited_at: datetime | None
    pinned: bool


class StepPartOut(Schema):
    """A finished call of an agent: of its model, or of a tool."""

    node: str = Field(alias="node_key")
    rounds: list[int]
    part: str
    kind: str
    status: str
    inputs: Any
    outputs: Any
    started_at: float
    elapsed: float
    prompt_tokens: int
    completion_tokens: int


class CitationOut(Schema):
    """A knowledge page that the answer rests on, with the passage as the run read it.

    Of a page that was forgotten or erased since, or that the reader may not know of, only ``position`` is left.
    """

    position: int
    is_available: bool
    dataset_id: str | None = Field(description="The namespace of the knowledge base.")
    dataset_name: str | None
    document_id: str | None = Field(description="The ID of the page in its knowledge base.")
    document_name: str | None
    segment_id: str | None = Field(description="The ID of the page's entry in memory.")
    score: float | None
    content: str | None


class AnswerMetadataOut(Schema):
    retriever_resources: list[CitationOut] = Field(
        description="Empty unless the workflow shows sources with its answers."
    )


class RunDetailOut(RunOut):
    metadata: AnswerMetadataOut
    steps: list[StepOut]
    memories_recalled: list[dict[str, Any]]
    memories_written: list[dict[str, Any]]
    memories_forgotten: list[dict[str, Any]] = Field(
        description="What was forgotten. ``POST /memory/entries/{id}/restore`` undoes it."
    )
    memories_to_choose: list[dict[str, Any]] = Field(
        description="Wishes to forget something that could mean several ``entries``: nothing was forgotten yet."
    )
    repeated_calls: int = Field(
        description="Calls of steps that were made again after a worker was lost."
    )


class TeamRunsQuery(Schema):
    """Filters of the list of a team's runs, which can't be filtered by what it doesn't show."""

    workflow: UUID | None = None
    status: RunStatus | Literal["uncertain"] | None = Field(
        default=None, description="``uncertain``: paused, because the outcome of a step is unknown."
    )
    since: date | None = None
    until: date | None = None
    min_seconds: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    min_tokens: Annotated[int | None, Field(gt=0, le=10**15)] = None
    min_cost: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    feedback: Literal["", "up", "down", "any"] = ""
    sort: Literal["", "duration", "tokens", "cost"] = ""

    def build_filter(self) -> RunFilter:
        return RunFilter(
            status=str(self.status or ""),
            since=self.since,
            until=self.until,
            min_seconds=self.min_seconds,
            min_tokens=self.min_tokens,
            min_cost=self.min_cost,
            feedback=self.feedback,
        )


class RunsQuery(TeamRunsQuery):
    """Filters of the list of runs.

    ``workflow``: its id; a key needs ``workflows:read`` for it. ``user``: the id of the person that the run is for, either yours or the account's. ``text``: a text in the inputs.
    ``node``: the id of a node that ran. ``since`` and ``until``: days, both included. ``children``: also runs that other
    runs started as sub-workflows. ``parent``: only those of this run. ``sort``: a column whose highest value is first;
    by default the newest run is first. ``text`` and ``node`` are searched in the newest 20,000 runs that match the other
    filters, all others in all runs.
    """

    user: FilterText = ""
    text: FilterText = ""
    node: FilterText = ""
    children: bool = False
    parent: UUID | None = None

    def build_filter(self) -> RunFilter:
        return replace(
            super().build_filter(),
            user=self.user,
            text=self.text,
            node=self.node,
            children=self.children,
            parent=self.parent,
        )


class TeamRunOut(Schema):
    """A run of a team-mate, without its inputs, outputs, errors and person."""

    id: UUID
    workflow_id: UUID
    workflow: str
    api_key: str | None
    status: RunStatus
    created_at: datetime
    finished_at: datetime | None
    elapsed: float | None
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    liked: int
    disliked: int


class FeedbackIn(Body):
    """``rating``: 1 for a good answer, -1 for a bad one. Without a ``text``, an earlier one stays."""

    model_config = with_example(rating=1, text="Exactly what I needed.")

    rating: Literal[1, -1]
    text: Annotated[str, Field(max_length=4_000)] | None = None


class FeedbackOut(Schema):
    run_id: UUID
    author: str = Field(validation_alias="actor")
    rating: int
    text: str
    created_at: datetime
    updated_at: datetime


class StepDetailOut(StepOut):
    """A step; the ``inputs`` of a model's step contain its prompt, message by message."""

    memories_recalled: list[dict[str, Any]]
    memories_written: list[dict[str, Any]]


class ResumeIn(Body):
    """The way to resume a run; ``breakpoints`` replace the breakpoints for the rest of the run."""

    model_config = with_example(mode="continue")

    mode: Literal["continue", "step", "stop"]
    breakpoints: Annotated[list[NodeId], Field(max_length=500)] | None = None


class OutputsIn(Body):
    model_config = with_example(outputs={"text": "Hello"})

    outputs: dict[str, Any]


class PinIn(OutputsIn):
    """The outputs to pin. ``handle``: the branch that the node takes. ``run``: the run that the outputs are from, with
    whose person the pin is erased.
    """

    model_config = with_example(outputs={"text": "Hello"})

    handle: Annotated[str, Field(max_length=255)] | None = None
    run: UUID | None = None


class PinOut(Schema):
    node: str = Field(validation_alias="node_key")
    outputs: dict[str, Any]
    handle: str | None
    pinned_at: datetime


class RunMetadataOut(Schema):
    """``todos`` have id, content and status; ``notes`` have content, source, time and temporary, newest first."""

    id: str
    goal: str = ""
    todos: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    stream_name: str = ""
    expires_at: datetime | None = None


class MemoryChangeOut(Schema):
    """A memory change of a dry run. ``operation``: store | forget. ``fate``: open | kept | dropped."""

    number: int
    node: str = Field(validation_alias="node_key")
    operation: str
    namespace: str
    key: str
    entry: dict[str, Any] | None
    before: dict[str, Any] | None
    fate: str


class MemoryChangesIn(Body):
    """The numbers of memory changes; without ``numbers``, all undecided changes are selected."""

    model_config = with_example(numbers=[1, 2])

    numbers: Annotated[list[int], Field(max_length=10_000)] | None = None


class MemoryDecisionOut(Schema):
    done: int
    refused: dict[int, str]


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


class TaskIn(Body):
    """A task. ``user`` names the person it is for; without a ``workflow`` the team's task workflow runs it."""

    model_config = with_example(title="Opening hours", description="When are we open?")

    title: Annotated[str, Field(min_length=1, max_length=255)]
    description: Annotated[str, Field(max_length=100_000)] = ""
    workflow: UUID | None = None
    user: Annotated[str, Field(min_length=1, max_length=80)] | None = None


class LearningOut(Schema):
    """The result of the run's curation; ``problem`` says why nothing was learned."""

    status: str
    problem: str
    counts: dict[str, int]


class TaskOut(Schema):
    """A task; its ``status`` is ``created`` before it is executed, then its run's status."""

    id: UUID
    title: str
    description: str
    status: str
    workflow: UUID | None
    run: UUID | None
    user: str
    outputs: dict[str, Any] | None
    error: str
    learnt: LearningOut | None
    created_at: datetime

"""The protocols of the services that the engine uses.

The in-process runner has plain implementations, the durable execution those of
``workflows.execution.ports.adapters``. The engine never imports either.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, runtime_checkable

from workflows.engine.earlier_turns import HistoryPort
from workflows.engine.fallback_model import FallbackModel
from workflows.engine.files.ports import DocumentPort, FilePort
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.step_records import StepKey, StepRecord
from workflows.engine.runtime.waits import OpenWait
from workflows.engine.tool_calls import SecretPort, ToolCall, ToolPort, ToolSpec


Role = Literal["system", "user", "assistant", "tool"]
# The tasks of requests that only a language model can answer: the facts in its ``subject``, the knowledge base to search
# of several, and the conditions on metadata that a question states.
FACTS_TASK: Final = "facts"
CHOICE_TASK: Final = "choose_knowledge_base"
CONDITIONS_TASK: Final = "metadata_conditions"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a message: a URL, or a data URL with the content."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"
    name: str = ""  # of a stored file


@dataclass(frozen=True, slots=True)
class Message:
    """A message to or from a model. ``tool_calls`` are the assistant's, ``tool_call_id`` is a tool's answer to one."""

    role: Role
    text: str
    images: tuple[ImagePart, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call, or of all model calls in a run, and their cost in USD if the price is known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """The step of a run that makes a request: its provenance, and the idempotency key of its effect.

    ``part`` is the name of the call among those of the step, if it makes several.
    """

    run_id: str
    node_id: str
    idempotency_key: str
    part: str = ""


@runtime_checkable
class MemoryHit(Protocol):
    """One recalled entry; ``memory.core.records.MemoryEntry`` has this shape."""

    @property
    def id(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> Json: ...
    @property
    def metadata(self) -> Mapping[str, Json]: ...
    @property
    def score(self) -> float | None: ...


class MemoryPort(Protocol):
    """The memory that nodes use. They name a scope, and never a namespace.

    ``identity`` holds the run's system variables (conversation_id, user_id, app_id, workflow_id, group_id, run_id). A
    server builds the namespace from its stored data about the run and ignores ``identity``, which only the in-process
    runner uses. The methods raise the errors of the memory package, such as the error for a missing system variable.
    """

    async def recall(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        key: str | None = None,
        query_text: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 -- the word of the nodes
        top_k: int | None = None,
        injected: bool = False,  # the hits are added to a prompt automatically (enhanced_memory)
        group_id: str | None = None,  # the workflow's memory of another group than the run's
        recency_days: float | None = None,  # half-life by which newer entries rank higher
        min_score: float | None = None,  # a search leaves out entries with a lower score
        valid_at: datetime
        | None = None,  # leaves out what didn't hold then; None: what doesn't now
        include_former: bool
        | None = None,  # whether what doesn't hold is found, too; None: if the query asks about the past
        without_lessons: bool = False,  # leaves out what runs learned from their tasks
    ) -> Sequence[MemoryHit]: ...

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryHit: ...

    async def delete(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: Origin,
        key: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 -- the word of the nodes
    ) -> int: ...


@runtime_checkable
class RunScopedMemory(Protocol):
    """A memory that keeps some data for one run only. ``end_run`` deletes them when the run has ended, and never raises."""

    async def end_run(self, run_id: str) -> None: ...


@runtime_checkable
class MemorySource(Protocol):
    """A memory provider that can be passed to the in-process runner. ``port`` returns the memory port for its runs."""

    def port(self) -> MemoryPort: ...


@dataclass(frozen=True, slots=True)
class Reminder:
    """Memories of an application's earlier runs, and the query that found them."""

    scope: str
    query: str
    hits: Sequence[MemoryHit]


class ReminderPort(Protocol):
    """Searches for memories before a chat model is called, if the node did not recall any. It never raises."""

    async def remind(
        self, messages: Sequence[Message], origin: Origin, *, without_lessons: bool = False
    ) -> Reminder | None: ...


@dataclass(frozen=True, slots=True)
class ModelRequest:
    provider: str
    model: str
    messages: tuple[Message, ...]
    origin: Origin
    mode: Literal["chat", "completion"] = "chat"
    params: Mapping[str, Json] = field(default_factory=dict)
    json_schema: Mapping[str, Json] | None = None
    # The memories in the prompt, which the offline provider cites.
    memories: tuple[MemoryHit, ...] = ()
    # The text that the task is about, if the messages have other texts, too; the offline provider reads only this one.
    subject: str | None = None
    task: str = ""  # what is to be done with the subject, if its schema alone does not say it
    tools: tuple[ToolSpec, ...] = ()
    # Whether the model may, must or must not call a tool.
    tool_choice: Literal["auto", "required", "none"] = "auto"
    fallback: FallbackModel | None = None  # None: the team's, if it has one


@dataclass(frozen=True, slots=True)
class FailedModel:
    """A model that was asked first, and why it gave no answer."""

    provider: str
    model: str
    error: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """The provider and the model that answered a request, which may not be those that the document names."""

    provider: str
    model: str
    # The exact model that the endpoint names in its answer, if it is another name.
    version: str = ""
    # The models that failed before a fallback model was asked.
    failed: tuple[FailedModel, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """A piece of a streamed answer. The last piece has ``finish_reason``, ``usage``, ``tool_calls`` and ``label``.

    ``label`` tells people about the answer, for example that no model wrote it. It is no part of the text, which a
    program may read; whoever shows the text to people adds it at the end.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    label: str = ""
    source: ModelSource | None = None


class ModelPort(Protocol):
    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream one answer. Raises ``engine.errors.ModelFailed``, which says whether a retry may help."""


@runtime_checkable
class OfflinePort(Protocol):
    """A model port that may answer without a language model."""

    async def is_offline(self, request: ModelRequest) -> bool:
        """Return whether no language model would answer the request, and no script that stands in for one."""


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """Documents whose relevance to a query a model is to score, and how many of the best ones are needed."""

    provider: str
    model: str
    query: str
    documents: tuple[str, ...]
    top_n: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class RerankResult:
    """The scores of documents by their index, best first."""

    scores: tuple[tuple[int, float], ...]
    usage: Usage | None = None
    source: ModelSource | None = None


@runtime_checkable
class RerankPort(Protocol):
    """A model port whose providers may have models that score documents."""

    async def rerank(self, request: RerankRequest) -> RerankResult:
        """Raises ``engine.errors.RerankUnavailable`` if the model is not connected, and ModelFailed if it fails."""


class TemplatePort(Protocol):
    """Renders Jinja2 outside this process, because a template is code. The variables are JSON.

    Jinja2 prints lists and objects as Python does; with ``prints_json`` they are printed as JSON, as in prompts.
    """

    async def render(
        self, template: str, inputs: Mapping[str, Json], *, prints_json: bool = False
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class CodeRequest:
    language: str
    source: str
    inputs: Mapping[str, Json]
    timeout_seconds: float = 10.0
    calling: Literal["keywords", "inputs"] = "keywords"  # main(a=…, b=…) or main({"a": …, "b": …})
    # To the HTTP requests that the code sends, in their order.
    responses: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class CodeResult:
    """The result of untrusted code: ``value`` is any JSON.

    With a ``call`` there is no value: the code needs the response to this HTTP request, and is to be run again with it.
    """

    value: Json
    stdout: str = ""
    call: Mapping[str, Json] | None = None


class CodePort(Protocol):
    async def run(self, request: CodeRequest) -> CodeResult: ...


@dataclass(frozen=True, slots=True)
class HttpFile:
    """A part of a form that is a file, with its content."""

    field: str
    name: str
    content: bytes
    mime_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request with at most one of ``content``, ``json_value`` and ``form``. ``files`` are sent with ``form``."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    params: Sequence[tuple[str, str]] | None = None
    content: bytes | None = None
    timeout_seconds: float = 30.0
    json_value: Json = None
    has_json: bool = False  # null is JSON, too
    form: Sequence[tuple[str, str]] | None = None
    files: Sequence[HttpFile] = ()
    multipart: bool = False
    connect_seconds: float = 10.0
    idle_seconds: float | None = None
    verify_tls: bool = True
    max_text_bytes: int = 1024 * 1024
    max_binary_bytes: int = 10 * 1024 * 1024
    # Idempotency key, sent with requests that change data.
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class HttpResponse:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    url: str = ""  # the URL after redirects
    # Of a fake server: the request that it received.
    recorded_request: Mapping[str, Json] | None = None


class HttpPort(Protocol):
    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and follow redirects. Raises ``engine.errors.HttpFailed``."""


@dataclass(frozen=True, slots=True)
class SubRunResult:
    """The result of a child run that has ended. ``status`` is one of the ends of ``RunStatus``."""

    run_id: str
    status: str
    outputs: Mapping[str, Json] = field(default_factory=dict)
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    # The outputs may contain untrusted content, such as text from the web.
    is_untrusted: bool = False
    memories: tuple[str, ...] = ()  # the words of memories in the outputs


class SubWorkflowPort(Protocol):
    """Runs published workflows as children of a run, with the rights of the person that the run is for."""

    async def run(
        self,
        reference: str,
        inputs: Mapping[str, Json],
        *,
        idempotency_key: str,
        is_untrusted: bool = False,
        is_chosen: bool = False,
        memories: Collection[str] = (),
        version: str = "",
    ) -> SubRunResult:
        """Run a workflow to its end. ``reference`` is its slug or its id.

        The first call with an idempotency key starts the child, and a later attempt at the calling run gets the same
        child; further calls within one attempt, which are retries, start new ones. The inputs may contain untrusted content
        (``is_untrusted``), which may have decided that the workflow runs (``is_chosen``), and these words of ``memories``.
        A child that a person allowed is only started in the ``version`` of then.

        Raises SubWorkflowUnavailable, NestingNotAllowed or InputRejected if no child can be started, and StepWaiting if
        the child is paused: the calling run then pauses, too, until the child has ended.
        """

    async def has_begun(self, idempotency_key: str) -> bool:
        """Return whether the next call with this key gets a child that an earlier attempt has started."""


@dataclass(frozen=True, slots=True)
class RoundsRequest:
    """The rounds of a container at the top level that other workers are to run."""

    node_id: str
    count: int
    limit: int  # of rounds that run at a time
    stops_at_failure: bool
    conversation: Mapping[str, Json]  # the variables with which the rounds begin


class RoundsRecorder(Protocol):
    """Records the steps of rounds that ran elsewhere, with their events, as steps of the run."""

    def is_recorded(self, step: StepKey) -> bool: ...

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None: ...

    def add_event(self, event: Event) -> None: ...


class RoundsPort(Protocol):
    """Runs rounds of a container on all workers."""

    async def run_rounds(self, request: RoundsRequest, recorder: RoundsRecorder) -> int | None:
        """Have all rounds run, and record their steps. Return the index of the failed round that ends the container.

        A later attempt at the run goes on with the same rounds. Raises StepWaiting while rounds are paused and no
        others are left.
        """


class ClockPort(Protocol):
    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class IdPort(Protocol):
    def new(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a run. A node that needs a missing port fails with an error that names the port."""

    clock: ClockPort
    ids: IdPort
    model: ModelPort | None = None
    memory: MemoryPort | None = None
    templates: TemplatePort | None = None
    code: CodePort | None = None
    http: HttpPort | None = None
    files: FilePort | None = None
    documents: DocumentPort | None = None
    history: HistoryPort | None = None
    secrets: SecretPort | None = None
    reminder: ReminderPort | None = None
    tools: ToolPort | None = None
    sub_workflows: SubWorkflowPort | None = None
    rounds: RoundsPort | None = None  # None: a run executes all of its rounds itself


class Journal(Protocol):
    """Records the steps and events of a run: in a list, or in database rows that only the current attempt can write."""

    async def intend(self, step: StepKey) -> None:
        """Record that a step with an effect begins."""

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        """Store a step with its events, at the latest before the next step with an effect begins."""

    def add_event(self, event: Event) -> None:
        """Publish an event and store it, without waiting for the end of its step."""

    async def open_wait(self, open_wait: OpenWait) -> str:
        """Store what a step waits for, so that it can be answered while the rest of the run goes on.

        Return the id of the wait, or "" if an earlier attempt stored it.
        """

    def publish(self, event: Event) -> None:
        """Publish an event without storing it, such as a piece of text."""

    async def flush(self) -> None: ...

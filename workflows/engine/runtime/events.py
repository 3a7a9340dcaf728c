"""The events of a run. Clients receive them under their ``name``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from workflows.engine.language.document import Json


@dataclass(frozen=True, slots=True)
class Event:
    name: ClassVar[str] = "event"


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    name: ClassVar[str] = "run_started"
    inputs: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeStateChange(Event):
    """``status``: running | completed | failed | skipped | retrying | paused | stopped."""

    name: ClassVar[str] = "node_state_change"
    node: str
    status: str
    kind: str = ""
    title: str = ""
    rounds: tuple[int, ...] = ()
    at: float = 0.0  # unix seconds
    elapsed: float | None = None  # seconds, once it ended, without ``waited``
    size: int | None = None  # bytes of the outputs as JSON, once it completed (None: not counted)
    attempt: int = 1
    handle: str | None = None
    error: str | None = None
    error_type: str | None = None
    reused: bool = False  # the reused result of an earlier run
    tokens: int | None = None  # of model calls
    items: int | None = None  # number of items in the first list among the outputs
    # Characters of the output that is made for a prompt, if the kind has one.
    context_length: int | None = None
    # Of a paused node that waits: approval | answer | time | child, and when the wait ends by itself (unix seconds).
    waits_for: str | None = None
    due_at: float | None = None
    # Of a step that asked a model: "provider/model" as it was asked, and whether the answer reached its length limit.
    model: str | None = None
    is_cut: bool = False
    waited: float | None = None  # seconds for which the step waited for a place in a pool


@dataclass(frozen=True, slots=True)
class StepPartChange(Event):
    """A call inside a step began or ended. ``status``: running | completed | failed | paused."""

    name: ClassVar[str] = "agent_log"
    node: str
    part: str  # unique in the step
    kind: str  # such as "agent-model" and "agent-tool"
    status: str
    title: str = ""  # such as the name of the tool
    rounds: tuple[int, ...] = ()
    at: float = 0.0  # unix seconds
    elapsed: float | None = None  # seconds, once it ended
    tokens: int | None = None  # of a model call
    error: str | None = None

    def end(
        self,
        status: str,
        at: float,
        *,
        elapsed: float | None = None,
        tokens: int | None = None,
        error: str | None = None,
    ) -> "StepPartChange":
        return replace(self, status=status, at=at, elapsed=elapsed, tokens=tokens, error=error)


@dataclass(frozen=True, slots=True)
class InputRequired(Event):
    """A step waits for a person. ``wait`` is the id under which it is answered, ``form`` is what the person is shown.

    It is published once, when the wait begins; ``due_at`` is when it ends without an answer.
    """

    name: ClassVar[str] = "human_input_required"
    node: str
    wait: str
    form: Mapping[str, Json]
    part: str = ""
    rounds: tuple[int, ...] = ()
    due_at: float | None = None  # unix seconds
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ContainerEvent(Event):
    """An event of the container ``node``. ``rounds`` are the current rounds of the containers around it."""

    node: str
    title: str = ""
    rounds: tuple[int, ...] = ()
    total: int | None = None  # the maximum number of rounds, if known
    at: float = 0.0  # unix seconds


@dataclass(frozen=True, slots=True)
class IterationStarted(ContainerEvent):
    name: ClassVar[str] = "iteration_started"


@dataclass(frozen=True, slots=True)
class LoopStarted(ContainerEvent):
    name: ClassVar[str] = "loop_started"


@dataclass(frozen=True, slots=True)
class RoundEvent(ContainerEvent):
    index: int = 0  # of the round that begins, from 0


@dataclass(frozen=True, slots=True)
class IterationNext(RoundEvent):
    name: ClassVar[str] = "iteration_next"


@dataclass(frozen=True, slots=True)
class LoopNext(RoundEvent):
    name: ClassVar[str] = "loop_next"


@dataclass(frozen=True, slots=True)
class ContainerEnded(ContainerEvent):
    count: int = 0  # started rounds
    failed: int = 0  # failed rounds
    elapsed: float = 0.0  # seconds
    error: str | None = None


@dataclass(frozen=True, slots=True)
class IterationCompleted(ContainerEnded):
    name: ClassVar[str] = "iteration_completed"


@dataclass(frozen=True, slots=True)
class LoopCompleted(ContainerEnded):
    name: ClassVar[str] = "loop_completed"


@dataclass(frozen=True, slots=True)
class RoundEvents:
    """The events of one kind of container."""

    started: type[ContainerEvent]
    next: type[RoundEvent]
    ended: type[ContainerEnded]


ITERATION_EVENTS: Final = RoundEvents(IterationStarted, IterationNext, IterationCompleted)
LOOP_EVENTS: Final = RoundEvents(LoopStarted, LoopNext, LoopCompleted)


@dataclass(frozen=True, slots=True)
class TextChunk(Event):
    """A piece of text for the user, in the order of the answer's template. It is published but never stored."""

    name: ClassVar[str] = "text_chunk"
    node: str  # the response node whose template it belongs to
    text: str
    source: str | None = None  # the node that streamed it, when it isn't template text


@dataclass(frozen=True, slots=True)
class MemoryRecalled(Event):
    name: ClassVar[str] = "memory_recalled"
    node: str
    scope: str
    namespace: str
    query: str | None
    entries: Sequence[Mapping[str, Json]]  # id, key, value, score
    injected: bool = False  # reached a prompt through enhanced_memory
    # The reason why memory returned nothing: "paused", if the user paused it.
    withheld: str | None = None
    # What was considered besides and left out: id, score and reason (irrelevant or former), and nothing that it says.
    left_out: Sequence[Mapping[str, Json]] = ()
    # How many of the entries, the last ones, were only added as the most recent.
    recent_count: int = 0
    # What was searched for besides the query: key, filter, top_k.
    sought: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryWritten(Event):
    name: ClassVar[str] = "memory_written"
    node: str
    scope: str
    namespace: str
    entry: Mapping[str, Json]  # id, key, value
    replaced: Sequence[Mapping[str, Json]] = ()  # the entries that no longer hold because of it


@dataclass(frozen=True, slots=True)
class MemoryEnded(Event):
    """Entries no longer hold, and nothing took their place."""

    name: ClassVar[str] = "memory_ended"
    node: str
    scope: str
    entries: Sequence[Mapping[str, Json]]  # id, key, value


@dataclass(frozen=True, slots=True)
class MemoryKeptOut(Event):
    """The content filter rejected or quarantined a value. ``entry`` is the id of the quarantined entry, if any."""

    name: ClassVar[str] = "memory_kept_out"
    node: str
    scope: str
    key: str
    reasons: Sequence[str]  # codes of the content filter
    entry: str = ""


@dataclass(frozen=True, slots=True)
class MemoryForgotten(Event):
    """``count`` entries were soft-deleted: those under ``key``, those that match ``filter``, or ``entries``.

    With none of them, a person asked to forget something that memory doesn't have.
    """

    name: ClassVar[str] = "memory_forgotten"
    node: str
    scope: str
    count: int
    key: str | None = None
    filter: Mapping[str, Json] | None = None
    entries: Sequence[Mapping[str, Json]] = ()  # id, key, value, where a person asked for it


@dataclass(frozen=True, slots=True)
class MemoryForgetAsked(Event):
    """A person asked to forget something, and several entries could be meant. None was forgotten: the person chooses."""

    name: ClassVar[str] = "memory_forget_asked"
    node: str
    scope: str
    entries: Sequence[Mapping[str, Json]]  # id, key, value


@dataclass(frozen=True, slots=True)
class MemoryRetrievalError(Event):
    """Memory failed, and the run continues without it."""

    name: ClassVar[str] = "memory_retrieval_error"
    node: str
    message: str


@dataclass(frozen=True, slots=True)
class RunPaused(Event):
    """The run paused. ``reason``: breakpoint | step | input | time.

    At a breakpoint or after a step it continues when a user resumes it, otherwise with an answer or at a time.
    """

    name: ClassVar[str] = "run_paused"
    nodes: Sequence[str]  # the nodes that would start next, or that wait
    reason: str
    at: float = 0.0
    until: float | None = None  # unix seconds at which the run continues by itself


@dataclass(frozen=True, slots=True)
class RunResumed(Event):
    """A user resumed the run, or answered what it waited for. ``mode``: continue | step | answer."""

    name: ClassVar[str] = "run_resumed"
    mode: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class StepEdited(Event):
    """A user replaced the outputs of a finished node while the run was paused."""

    name: ClassVar[str] = "step_edited"
    node: str
    by: str  # the user who replaced them
    size: int | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    name: ClassVar[str] = "run_finished"
    status: str
    outputs: Mapping[str, Json] = field(default_factory=dict)
    error: str | None = None
    error_node: str | None = None
    elapsed: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0

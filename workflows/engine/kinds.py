"""The contract of node kinds, which the engine, the validator, the forms and the drawings read.

A kind is one file in ``nodes/``; plug-ins provide more of them. Kinds keep no state: ``prepare`` returns what is
computed once per version, and the context has what belongs to one step.
"""

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from workflows.engine.appearance import Appearance, Data

# Plug-ins import these three from here.
from workflows.engine.configuration import Field as Field
from workflows.engine.configuration import NodeConfig as NodeConfig
from workflows.engine.configuration import Widget as Widget
from workflows.engine.initial_values import Surroundings
from workflows.engine.language.config_errors import build_config_problems
from workflows.engine.language.content_marks.shown_memories import MAX_TEXT
from workflows.engine.language.document import Json, Mode, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Segment
from workflows.engine.language.values import ValueType, infer_type
from workflows.engine.language.variables import SYSTEM, VariablePool
from workflows.engine.ports import Origin, Ports, Usage
from workflows.engine.runtime.events import ITERATION_EVENTS, Event, RoundEvents
from workflows.engine.runtime.rounds import Rounds
from workflows.engine.runtime.step_parts import StepParts
from workflows.engine.runtime.step_records import StepError, Write
from workflows.engine.runtime.waits import Answer, StepWaiting, Wait
from workflows.engine.texts import gettext_noop as gettext_noop  # for the modules of kinds


# The input of a step that lists the keys of untrusted memories. Authors cannot use the name, since references cannot
# contain the character and ``record_inputs`` drops it.
UNTRUSTED_KEYS: Final = "#from_outside"
# The former name of that input in older steps, and the kinds of those steps.
_LEGACY_UNTRUSTED_KEYS: Final = "from_outside"
_LEGACY_KINDS: Final = frozenset(
    {"conversation-memory", "knowledge-retrieval", "llm", "memory-recall", "memory-retrieval"}
)
# The input of a step with the texts of memories that it was shown. Authors cannot use its name either.
SHOWN_MEMORIES: Final = "#memories"


class Execution(StrEnum):
    """The role of a node in the execution of a run."""

    ROOT = "root"  # a run begins here
    ENTRY = "entry"  # a round of a container begins here
    BRANCH = "branch"  # chooses one of its handles
    CONTAINER = "container"  # contains nodes
    RESPONSE = "response"  # sends text to the user
    PLAIN = "plain"


class TypeRule(StrEnum):
    """The rule by which an output's type follows from a variable's."""

    ELEMENT = "element"  # one of the list's items
    GATHERED = "gathered"  # a list of values of the variable's type
    JOINED = "joined"  # as gathered, but lists are joined into one list of their items


@dataclass(frozen=True, slots=True)
class DerivedType:
    selector: Selector
    rule: TypeRule


@dataclass(frozen=True, slots=True)
class Output:
    """Describes one output. ``derived_type`` replaces ``type`` if the type depends on the document."""

    name: str
    type: str = "any"
    help: str = ""
    derived_type: DerivedType | None = None
    example: Json = None  # of a typical value


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result of a step. A branch kind sets ``handle`` to the handle that the run takes; None is the default one."""

    outputs: Mapping[str, Json] = field(default_factory=dict)
    handle: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)  # if ``record_inputs`` was not called
    writes: tuple[Write, ...] = ()
    usage: Usage | None = None
    events: tuple[Event, ...] = ()
    # What the step left undone, although it succeeded: its run is then partially succeeded.
    shortfall: StepError | None = None


def has_untrusted_input(kind: str, inputs: Mapping[str, Json]) -> bool:
    """Return whether a step with these inputs was given untrusted content from memory."""
    return UNTRUSTED_KEYS in inputs or (kind in _LEGACY_KINDS and _LEGACY_UNTRUSTED_KEYS in inputs)


@dataclass(slots=True)
class NodeContext:
    """The part of a run that one step can access: its variables, its ports and what it records."""

    node_id: str
    run_id: str
    pool: VariablePool
    ports: Ports
    run_inputs: Mapping[str, Json]
    types: Mapping[Selector, ValueType]  # of variables that were declared with one
    rounds: tuple[int, ...] = ()
    emit_chunk: Callable[[str, str], None] | None = None
    body: Rounds | None = None  # containers only
    recorded_inputs: dict[str, Json] = field(default_factory=dict)  # see ``record_inputs``
    recorded_events: list[Event] = field(default_factory=list)  # see ``record_events``
    # See ``workflows.engine.language.content_marks.untrusted``. It grows while the step runs, as other steps end.
    untrusted: Set[str] = frozenset()
    # Variables with text of memories, as ``ContentFlow.recalled`` has them.
    recalled: frozenset[str] = frozenset()
    # The texts of memories that earlier steps were shown, and the words of such memories that earlier turns handed on.
    shown_memories: Collection[str] = ()
    # The first names of variables with what the person wrote: the start node, and ``sys``.
    own_sources: frozenset[str] = frozenset()
    parts: StepParts | None = None  # of kinds with ``has_parts``
    answers: Mapping[str, Answer] = field(default_factory=dict)  # to earlier waits, by part

    def record_inputs(self, inputs: Mapping[str, Json]) -> None:
        """Record the step's inputs as soon as they are known, so that a failed step has them, too."""
        marks: dict[str, Json] = {
            name: self.recorded_inputs[name]
            for name in (UNTRUSTED_KEYS, SHOWN_MEMORIES)
            if name in self.recorded_inputs
        }
        self.recorded_inputs.clear()
        self.recorded_inputs.update(inputs)
        for name in (UNTRUSTED_KEYS, SHOWN_MEMORIES):
            self.recorded_inputs.pop(name, None)
        self.recorded_inputs.update(marks)

    def record_events(self, events: Iterable[Event]) -> None:
        """Record what a try of the step did before its end, such as a recall, so that a failed step tells of it, too."""
        self.recorded_events[:] = events

    def record_untrusted_keys(self, keys: Sequence[str]) -> None:
        """Record the keys of untrusted memories that this step was given."""
        self._add_to_mark(UNTRUSTED_KEYS, keys)

    @property
    def recorded_memories(self) -> Sequence[str]:
        """Return the texts of memories that this step was shown so far."""
        texts: Sequence[str] = self.recorded_inputs.get(SHOWN_MEMORIES, ())
        return texts

    def record_memories(self, texts: Iterable[str]) -> None:
        """Record the texts of memories that this step was shown, to recognize them in what the run does with its outputs."""
        self._add_to_mark(SHOWN_MEMORIES, [text[:MAX_TEXT] for text in texts if text])

    def _add_to_mark(self, name: str, items: Sequence[str]) -> None:
        if items:
            recorded = self.recorded_inputs.get(name, ())
            self.recorded_inputs[name] = [*dict.fromkeys([*recorded, *items])]

    def wait_for(self, wait: Wait, part: str = "") -> Answer:
        """Return the answer to a wait. As long as there is none, this raises StepWaiting, which pauses the run."""
        if part not in self.answers:
            raise StepWaiting(wait, part)
        return self.answers[part]

    def stream(self, output: str, text: str) -> None:
        """Stream a piece of an output before the output is complete, so that answers can show it to users."""
        if self.emit_chunk is not None:
            self.emit_chunk(output, text)

    def resolve_type(self, selector: Selector, value: Json) -> ValueType:
        return self.types.get(selector) or infer_type(value)

    @property
    def origin(self) -> Origin:
        rounds = ".".join(map(str, self.rounds))
        return Origin(self.run_id, self.node_id, f"{self.run_id}:{self.node_id}:{rounds}")

    @property
    def answers_chat(self) -> bool:
        """Return whether the step works on a message of a chat and is no agent's: its prompts get no lessons of tasks."""
        return self.parts is None and bool(self.pool.get(("sys", "query")))

    @property
    def identity(self) -> Mapping[str, Json]:
        """Return the run's system variables, for ports that have no better source."""
        return {**self.pool.get_values(SYSTEM), "run_id": self.run_id}


ConfigT = TypeVar("ConfigT", bound=BaseModel)
PreparedT = TypeVar("PreparedT")


class NodeKind(Appearance, Generic[ConfigT, PreparedT]):
    """The contract for kinds: set the class variables, then override ``run`` and other methods as needed.

    ``run`` may be a plain method (which is assumed to be pure and fast) or a coroutine; either returns a NodeResult
    or raises. Any exception fails the node; an ``EngineFault`` has a message for users and says whether a retry may
    help. ``has_effect`` makes the journal record the step before it begins, and store its result before the
    next step with an effect begins.
    """

    title: ClassVar[str]
    description: ClassVar[str] = ""
    group: ClassVar[str] = "logic"  # of the palette
    mode: ClassVar[Mode | None] = None  # the only mode in which the palette offers it
    palette_order: ClassVar[int] = 100  # in its group, lowest first
    config_model: ClassVar[type[BaseModel]] = NodeConfig
    execution: ClassVar[Execution] = Execution.PLAIN
    has_effect: ClassVar[bool] = False
    # Its steps call services outside, so their authors choose what happens if the outcome of a call is unknown
    # (``failure_policy.RetrySafety``).
    calls_outside: ClassVar[bool] = False
    # A step consists of several calls, which are recorded one by one (``NodeContext.parts``).
    has_parts: ClassVar[bool] = False
    # The default retry settings of its nodes; without them its nodes are never retried.
    retry: ClassVar[Retry | None] = None
    needs_memory: ClassVar[bool] = False
    # The memory scope of its nodes that do not name one.
    default_scope: ClassVar[str] = ""
    # The settings for the data leak check; ``start.text`` is a question.
    leak_check_settings: ClassVar[Sequence[Mapping[str, Json]]] = ()
    # The preview of memory next to its form: of recalled entries, of their text, or of entries to forget.
    memory_preview: ClassVar[Literal["", "recall", "history", "forget"]] = ""
    streams: ClassVar[frozenset[str]] = frozenset()
    # Its outputs are untrusted, such as text from the web; memory may require a review of them.
    has_untrusted_outputs: ClassVar[bool] = False
    # Whether a step was given untrusted content is only known when it runs, and its inputs say so
    # (``NodeContext.record_untrusted_keys``). Its outputs are not untrusted before that.
    records_untrusted_content: ClassVar[bool] = False
    # Outputs with the text of memories as it was stored, which prompts quote in a system message.
    recalled_outputs: ClassVar[tuple[str, ...]] = ()
    # Its outputs have the text of its inputs, without a model between them.
    passes_text_on: ClassVar[bool] = False
    # The output that is made for a prompt; its end event has the length.
    context_output: ClassVar[str] = ""
    # Its outputs are the outputs of the run, or of the round if it is inside a container.
    provides_results: ClassVar[bool] = False
    # A round in which it ran is the last one.
    ends_rounds: ClassVar[bool] = False
    # The kinds of containers to which it is restricted; empty means that it may be anywhere.
    allowed_containers: ClassVar[frozenset[str]] = frozenset()
    # Its step waits for a person, so the rounds of a container around it stay with the run that the person is shown.
    waits_for_people: ClassVar[bool] = False
    # Containers: the events of their rounds.
    round_events: ClassVar[RoundEvents] = ITERATION_EVENTS
    aliases: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[tuple[Field, ...]] = ()

    @property
    def code_fields(self) -> frozenset[str]:
        """Return the names of the fields that hold code, in which nothing is a reference."""
        return frozenset(f.name for f in self.fields if f.widget in (Widget.CODE, Widget.JINJA))

    @property
    def has_source_handle(self) -> bool:
        return not (self.provides_results or self.ends_rounds)

    def configure(self, spec: NodeSpec) -> ConfigT:
        return self.config_model.model_validate(dict(spec.data))  # type: ignore[return-value]

    def prepare(self, spec: NodeSpec) -> PreparedT:
        """Prepare the configuration once per version, so that runs need not repeat the work."""
        return self.configure(spec)  # type: ignore[return-value]

    def check(self, spec: NodeSpec) -> list[Problem]:
        """Return all problems of the configuration, addressed to its fields."""
        try:
            self.configure(spec)
        except ValidationError as invalid:
            return build_config_problems(spec.id, invalid, self.fields, spec.data)
        return []

    def find_text_output(self, spec: NodeSpec) -> str:
        """Return the name of the output with the text that the node makes, or "" if it makes none."""
        return min(self.streams, default=self.context_output)

    def build_initial_data(self, text: Selector) -> Data:
        """Return the data of a new node that reads ``text``: that of a node before it, or the person's message."""
        return {}

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Return the data of a new node that depends on its place, besides the initial values of its fields."""
        text = surroundings.text or surroundings.message
        return self.build_initial_data(text) if text else {}

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return ("source",)

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return ()

    def keeps_undeclared_outputs(self, spec: NodeSpec) -> bool:
        """Return whether the node may return more outputs than ``list_outputs`` names."""
        return False

    def shares_pool(self, prepared: PreparedT) -> bool:
        """Return whether a container's rounds share the pool of the scope around it, instead of a copy each."""
        return False

    def survives_failed_rounds(self, spec: NodeSpec) -> bool:
        """Return whether a container goes on after a round that failed."""
        return False

    def list_exit_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        """Return the variables by which a container decides after a round whether another one follows."""
        return ()

    def list_inner_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        """Return the outputs of a container that the nodes inside it can read under its id."""
        return ()

    def list_variable_types(self, spec: NodeSpec) -> Mapping[str, ValueType]:
        """Return the names and types of the node's variables that other nodes may set."""
        return {}

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        """Return the variables that the step looks up itself. References inside its texts need not be listed."""
        return ()

    def reads_answers(self, spec: NodeSpec) -> bool:
        """Return whether the node reads the answers of earlier turns of the conversation."""
        return False

    def brings_untrusted_content(self, spec: NodeSpec) -> bool:
        """Return whether the outputs of this node are untrusted, whatever it reads."""
        return self.has_untrusted_outputs

    def sends_outside(self, spec: NodeSpec) -> bool:
        """Return whether the node sends what it is given to services outside, by itself and not as a model decides."""
        return False

    def needs_review(self, spec: NodeSpec, untrusted: frozenset[str]) -> bool:
        """Return whether the node would store untrusted content that has to be reviewed first."""
        return False

    def list_writes(self, prepared: PreparedT) -> tuple[Selector, ...]:
        """Return the variables that the step may set. Answers wait for the step before they print them."""
        return ()

    def list_segments(self, prepared: PreparedT) -> Sequence[Segment]:
        """Return the segments that a response kind prints, in order."""
        return ()

    def only_reads(self, prepared: PreparedT, ctx: NodeContext) -> bool:
        """Return whether the step's call changes nothing outside, so that it may be made again without asking."""
        return False

    def run(self, prepared: PreparedT, ctx: NodeContext) -> NodeResult | Awaitable[NodeResult]:
        # Not abstract, because kinds that are only shown, such as the editor's ``UnknownKind``, have none.
        raise NotImplementedError

    async def preview_inputs(self, prepared: PreparedT, ctx: NodeContext) -> Mapping[str, Json]:
        """Return the inputs that the step would have, without running it.

        They are shown for a step that has pinned outputs, or that failed before it recorded its inputs.
        """
        return {}


# A kind of any configuration, for tables of different kinds.
AnyKind = NodeKind[Any, Any]


class Kinds(Mapping[str, AnyKind]):
    """The kinds that a document may use, by name and by their older names."""

    def __init__(self, kinds: Iterable[AnyKind]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._names = {
            alias: kind for kind in self._kinds.values() for alias in (kind.name, *kind.aliases)
        }

    def __getitem__(self, name: str) -> AnyKind:
        return self._names[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

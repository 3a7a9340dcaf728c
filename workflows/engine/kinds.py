"""What a node kind is. The engine, the validator and the editor's forms all read this one description.

A kind is one file in ``nodes/`` and one row in its table; a plug-in hands in more of them. Kinds keep
no state: what is worked out once for a version goes into ``prepare``, what belongs to one step comes
with the context.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.events import Event
from workflows.engine.invalid import config_problems
from workflows.engine.ports import Origin, Ports, Usage
from workflows.engine.problems import Problem
from workflows.engine.records import Write
from workflows.engine.rounds import Rounds
from workflows.engine.templating import Segment
from workflows.engine.values import ValueType, infer
from workflows.engine.variables import SYSTEM, VariablePool


def gettext_noop(text: str) -> str:
    """Mark a text for translation; the engine itself speaks English only."""
    return text


class Execution(StrEnum):
    ROOT = "root"  # a run begins here
    ENTRY = "entry"  # a round of a container begins here
    BRANCH = "branch"  # chooses one of its handles
    CONTAINER = "container"  # holds nodes of its own
    RESPONSE = "response"  # speaks to the person
    PLAIN = "plain"


class Widget(StrEnum):
    """How the editor asks for a field."""

    TEXT = "text"
    PARAGRAPH = "paragraph"
    TEMPLATE = "template"  # text with {{#references#}}
    JINJA = "jinja"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    SELECTOR = "selector"  # one variable
    SELECTORS = "selectors"
    SELECTOR_MAP = "selector_map"  # name → variable, as an object
    OBJECT = "object"  # JSON
    SCHEMA = "schema"  # a JSON schema, in a node beside its switch
    STRINGS = "strings"  # a list of texts
    TYPE = "type"  # the type of a value
    MODEL = "model"
    MESSAGES = "messages"
    CASES = "cases"
    ASSIGNMENTS = "assignments"
    FORM_FIELDS = "form_fields"  # the inputs of a start node
    OUTPUTS = "outputs"  # name and variable, in rows
    GROUPS = "groups"
    SECTION = "section"  # a nested object, ``fields`` are its parts
    CODE = "code"  # a program; ``code_language`` beside it names its language
    TYPED_OUTPUTS = "typed_outputs"  # name, type (of ``choices``) and, for objects, children
    KEY_VALUES = "key_values"  # lines of ``key:value``, both with references
    AUTHORIZATION = "authorization"  # type no-auth | api-key, and a config of type, key and header
    BODY = "body"  # a type of ``choices``, and data in rows or as text
    TIMEOUT = "timeout"  # seconds to connect, read and write
    LIST_FILTERS = "list_filters"  # conditions on each item
    CONDITIONS = "conditions"  # one list of conditions; joined by ``logical_operator`` beside it
    LOOP_VARIABLES = "loop_variables"
    INNER_SELECTOR = "inner_selector"  # one variable of a node inside the container


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a node's form. ``name`` is its key in the node's data."""

    name: str
    label: str
    widget: Widget = Widget.TEXT
    required: bool = False
    default: Json = None
    choices: tuple[tuple[str, str], ...] = ()  # value, label
    help: str = ""
    fields: tuple["Field", ...] = ()
    wants: tuple[str, ...] = ()  # types of variables that fit; of none, every one does
    shown_when: tuple[str, tuple[Json, ...]] | None = None  # a neighbour's name and values
    low: float | None = None
    high: float | None = None
    example: Json = None  # for the documentation
    instead: tuple[str, ...] = ()  # older ways to write it; with one of them it isn't missing
    wanted: str = ""  # what to warn of while it is empty: the node runs, and to no purpose


class Likeness(StrEnum):
    """How an output's type follows from a variable's."""

    ELEMENT = "element"  # one of the list's items
    GATHERED = "gathered"  # a list of such values
    JOINED = "joined"  # as gathered; where each is a list, one of all their items


@dataclass(frozen=True, slots=True)
class Like:
    selector: Selector
    how: Likeness


@dataclass(frozen=True, slots=True)
class Output:
    """``like``: whence its type comes where the kind alone knows none; ``type`` holds until it is found."""

    name: str
    type: str = "any"
    help: str = ""
    like: Like | None = None


@dataclass(frozen=True, slots=True)
class NodeResult:
    """What a step made. ``handle`` is for branch kinds; None means the plain way out."""

    outputs: Mapping[str, Json] = field(default_factory=dict)
    handle: str | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)  # where ``give`` didn't say them
    writes: tuple[Write, ...] = ()
    usage: Usage | None = None
    events: tuple[Event, ...] = ()


# Among a step's inputs: the keys of memories it was told that came from outside. Its author names inputs too,
# but none like this: no reference has such a sign in it, and ``give`` leaves it out.
TOLD: Final = "#from_outside"
# What it was called at first, as steps of that time have it, and of which kinds: their inputs have fixed names.
_TOLD_BEFORE: Final = "from_outside"
_HEARD_BEFORE: Final = frozenset(
    {"conversation-memory", "knowledge-retrieval", "llm", "memory-recall", "memory-retrieval"}
)


def heard(kind: str, inputs: Mapping[str, Json]) -> bool:
    """Whether memory told a step what strangers had said."""
    return TOLD in inputs or (kind in _HEARD_BEFORE and _TOLD_BEFORE in inputs)


@dataclass(slots=True)
class NodeContext:
    """One step's view of its run."""

    node_id: str
    run_id: str
    pool: VariablePool
    ports: Ports
    run_inputs: Mapping[str, Json]
    types: Mapping[Selector, ValueType]  # of variables that were declared with one
    rounds: tuple[int, ...] = ()
    say: Callable[[str, str], None] | None = None
    body: Rounds | None = None  # containers only
    given: dict[str, Json] = field(default_factory=dict)  # see ``give``
    outside: frozenset[str] = frozenset()  # see ``workflows.engine.outside``

    def give(self, inputs: Mapping[str, Json]) -> None:
        """The step's inputs, as soon as they are known: for people, and for provenance, even should it fail."""
        told = self.given.get(TOLD)
        self.given.clear()
        self.given.update(inputs)
        self.given.pop(TOLD, None)
        if told:
            self.given[TOLD] = told

    def hear(self, keys: Sequence[str]) -> None:
        """Memory told this step what strangers had said, under these keys."""
        if keys:
            self.given[TOLD] = [*dict.fromkeys([*self.given.get(TOLD, ()), *keys])]

    def stream(self, output: str, text: str) -> None:
        """Let go of a piece of an output before it is whole; it reaches people through an answer."""
        if self.say is not None:
            self.say(output, text)

    def type_of(self, selector: Selector, value: Json) -> ValueType:
        return self.types.get(selector) or infer(value)

    @property
    def origin(self) -> Origin:
        rounds = ".".join(map(str, self.rounds))
        return Origin(self.run_id, self.node_id, f"{self.run_id}:{self.node_id}:{rounds}")

    @property
    def identity(self) -> Mapping[str, Json]:
        """The run's system variables, for ports that have no better source."""
        return {**self.pool.head(SYSTEM), "run_id": self.run_id}


class NodeConfig(BaseModel):
    """What every node may carry; unknown keys are the author's and stay."""

    model_config = ConfigDict(extra="allow", frozen=True)

    title: str = ""


C = TypeVar("C", bound=BaseModel)
P = TypeVar("P")


class NodeKind(Generic[C, P]):
    """Contract for kinds: set the class variables, then override ``run`` and what else differs.

    ``run`` may be a plain method (taken as pure and quick) or a coroutine; either gives a NodeResult
    or raises. Whatever it raises fails the node; a ``WorkflowFault`` says what to tell people and
    whether a retry helps. ``has_effect`` promises that the journal hears of the step before it begins
    and has it committed before anything after it starts.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str] = ""
    group: ClassVar[str] = "logic"
    config_model: ClassVar[type[BaseModel]] = NodeConfig
    execution: ClassVar[Execution] = Execution.PLAIN
    has_effect: ClassVar[bool] = False
    retryable: ClassVar[bool] = False
    needs_memory: ClassVar[bool] = False
    streams: ClassVar[frozenset[str]] = frozenset()
    # What it gives was written by strangers, as on the web; memory is careful with it.
    brings_outside: ClassVar[bool] = False
    # The output that is made for a prompt; the event of its end says how long it is.
    context_output: ClassVar[str] = ""
    # Its outputs are the run's own; inside a container, the round's.
    gives_results: ClassVar[bool] = False
    # A round in which it ran is the last one.
    ends_rounds: ClassVar[bool] = False
    # Kinds of containers it may lie in, and nowhere else; none: anywhere.
    lives_in: ClassVar[frozenset[str]] = frozenset()
    # Containers: the word their events begin with, and the kind their body begins with.
    rounds_named: ClassVar[str] = "iteration"
    entry: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[tuple[Field, ...]] = ()

    def configure(self, spec: NodeSpec) -> C:
        return self.config_model.model_validate(dict(spec.data))  # type: ignore[return-value]

    def prepare(self, spec: NodeSpec) -> P:
        """Work out once for a version whatever every run would otherwise repeat."""
        return self.configure(spec)  # type: ignore[return-value]

    def check(self, spec: NodeSpec) -> list[Problem]:
        """Everything wrong with the configuration, addressed to its fields."""
        try:
            self.configure(spec)
        except ValidationError as invalid:
            return config_problems(spec.id, invalid, self.fields)
        return []

    def handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return ("source",)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return ()

    def shares_pool(self, prepared: P) -> bool:
        """Containers: rounds work on the pool of the scope around, not on a copy each."""
        return False

    def inner_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        """Containers: what the nodes inside see under its id."""
        return ()

    def variable_types(self, spec: NodeSpec) -> Mapping[str, ValueType]:
        """Variables of its own that other nodes may set, and what may be put into them."""
        return {}

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        """Variables the step looks up directly; references inside templates are found without help."""
        return ()

    def hears_answers(self, spec: NodeSpec) -> bool:
        """Whether it is told what earlier turns of the conversation answered."""
        return False

    def waits(self, spec: NodeSpec, outside: frozenset[str]) -> bool:
        """Whether what it would remember comes from outside, and has to be looked at first."""
        return False

    def writes(self, prepared: P) -> tuple[Selector, ...]:
        """Variables the step may set: no answer prints them before it ran."""
        return ()

    def segments(self, prepared: P) -> Sequence[Segment]:
        """Response kinds: what is printed, in order."""
        return ()

    def run(self, prepared: P, ctx: NodeContext) -> NodeResult | Awaitable[NodeResult]:
        raise NotImplementedError

    async def rehearse(self, prepared: P, ctx: NodeContext) -> Mapping[str, Json]:
        """The step's inputs as they would be: for one whose outputs are pinned, or that failed before it
        gave them. Never an effect."""
        return {}


# Kinds differ in their configuration; a table of them can't name the type.
AnyKind = NodeKind[Any, Any]


class Kinds(Mapping[str, AnyKind]):
    """The kinds a document may use, by name and by the older names they answer to."""

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

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def extended(self, more: Iterable[AnyKind]) -> "Kinds":
        return Kinds([*self._kinds.values(), *more])

"""Which variables a node can look at, with their types: what the editor's pickers list.

Nearest first: what is around the node, then the nodes upstream from the last one back, then the
conversation, the environment and the system. Whatever is listed may still be missing in a run, when
the branch it comes from isn't taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.kinds import AnyKind, Output, TypeRule, gettext_noop
from workflows.engine.language.document import (
    Document,
    Json,
    Mode,
    NodeSpec,
    Selector,
    VariableSpec,
)
from workflows.engine.language.graph import Graph
from workflows.engine.language.templating import REFERENCE
from workflows.engine.language.validation.references import ERROR_OUTPUTS
from workflows.engine.language.values import ELEMENTS, FILE_ATTRIBUTES, ValueType, parse_type
from workflows.engine.language.variables import CONVERSATION, ENVIRONMENT, SYSTEM


# Deeper ones can be written by hand; a list nobody reads to its end helps nobody.
DEEPEST: Final = 3
# An item of an item of an item: from some depth on its type isn't worth the search.
MOST_LISTS: Final = 6


@dataclass(frozen=True, slots=True)
class Variable:
    selector: Selector
    type: str
    help: str = ""
    parts: tuple["Variable", ...] = ()

    @property
    def reference(self) -> str:
        """As it stands in a template; empty when its names don't fit between the braces."""
        written = "{{#" + ".".join(self.selector) + "#}}"
        return written if REFERENCE.fullmatch(written) else ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where variables come from: a node, or one of the built-in heads."""

    head: str
    title: str
    kind: str  # a node's kind, or the head itself
    variables: tuple[Variable, ...]
    place: str = "upstream"  # around | upstream | inside | built-in


@dataclass(frozen=True, slots=True)
class SystemVariable:
    name: str
    type: str
    help: str
    modes: frozenset[Mode] = frozenset(Mode)


_CHAT = frozenset({Mode.CHAT})
_WORKFLOW = frozenset({Mode.WORKFLOW})

SYSTEM_TABLE: Final = (
    SystemVariable("query", "string", gettext_noop("User message"), _CHAT),
    SystemVariable("files", "array[file]", gettext_noop("Uploaded files")),
    SystemVariable("conversation_id", "string", gettext_noop("Conversation ID"), _CHAT),
    SystemVariable("dialogue_count", "number", gettext_noop("Number of turns"), _CHAT),
    SystemVariable("user_id", "string", gettext_noop("User ID")),
    SystemVariable("app_id", "string", gettext_noop("App ID (namespace of global memory)")),
    SystemVariable("workflow_id", "string", gettext_noop("Workflow ID")),
    SystemVariable("workflow_run_id", "string", gettext_noop("Run ID")),
    SystemVariable("timestamp", "number", gettext_noop("Start time (Unix seconds)"), _WORKFLOW),
)


def reach(document: Document, kinds: Mapping[str, AnyKind], node_id: str) -> tuple[Source, ...]:
    graph = Graph.of(document)
    if node_id not in graph.nodes:
        return tuple(_built_in(document))
    built_in = tuple(_built_in(document))
    found = [*_nodes(_Types(graph, kinds, built_in), node_id), *built_in]
    return tuple(source for source in found if source.variables)


def outputs_given(
    document: Document, kinds: Mapping[str, AnyKind], node_id: str
) -> tuple[Output, ...]:
    """What a node gives to those after it, with the types that follow from the rest of the document."""
    graph = Graph.of(document)
    if node_id not in graph.nodes:
        return ()
    types = _Types(graph, kinds, tuple(_built_in(document)))
    return types.resolved(node_id, _outputs(graph.nodes[node_id], kinds))


def fits(wanted: Sequence[str], offered: str) -> bool:
    """Whether a variable of a type may stand where one of some types is wanted."""
    if not wanted or offered == ValueType.ANY:
        return True
    given = parse_type(offered)
    return any(_same(parse_type(one), given) for one in wanted)


# Which output of a node is being asked about.
_Asked = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Types:
    """What nodes give, where a type follows from another variable's with that one's."""

    graph: Graph
    kinds: Mapping[str, AnyKind]
    built_in: tuple[Source, ...]

    def outputs(self, id_: str, above: frozenset[_Asked] = frozenset()) -> tuple[Variable, ...]:
        """``above``: asked about already, on the way here; a selector may lead round in a circle."""
        spec = self.graph.nodes[id_]
        found = self.resolved(id_, _outputs(spec, self.kinds), above)
        return tuple(
            _variable((id_, one.name), one.type, one.help, _shape(spec, one))
            for one in (*found, *_errors(spec))
        )

    def inner(self, id_: str, above: frozenset[_Asked] = frozenset()) -> tuple[Variable, ...]:
        """A container as its own nodes see it: the current item, the loop's variables."""
        found = self.resolved(id_, _inner(self.graph.nodes[id_], self.kinds), above)
        return tuple(_variable((id_, one.name), one.type, one.help) for one in found)

    def resolved(
        self, id_: str, outputs: Iterable[Output], above: frozenset[_Asked] = frozenset()
    ) -> tuple[Output, ...]:
        return tuple(self._resolved(id_, one, above) for one in outputs)

    def _resolved(self, id_: str, output: Output, above: frozenset[_Asked]) -> Output:
        like, asked = output.derived_type, (id_, output.name)
        if like is None or asked in above or len(above) >= MOST_LISTS:
            return output
        kind = _LIKE[like.rule](self._of(like.selector, above | {asked}))
        return output if kind is None else replace(output, type=kind.value)

    def _of(self, wanted: Selector, above: frozenset[_Asked]) -> ValueType:
        """A selector's type where it is known, whoever looks at it."""
        if len(wanted) < 2:
            return ValueType.ANY
        head = wanted[0]
        if head in self.graph.nodes:
            seen = (*self.outputs(head, above), *self.inner(head, above))
        else:
            seen = tuple(
                v for source in self.built_in if source.head == head for v in source.variables
            )
        return _type_at(seen, wanted)


def _type_at(variables: Iterable[Variable], wanted: Selector) -> ValueType:
    for one in variables:
        if one.selector == wanted:
            return parse_type(one.type) or ValueType.ANY
        if one.parts and wanted[: len(one.selector)] == one.selector:
            return _type_at(one.parts, wanted)
    return ValueType.ANY


def _gathered(one: ValueType) -> ValueType | None:
    """The list that values of a type make; lists of lists have no type."""
    return next((many for many, element in ELEMENTS.items() if _alike(element, one)), None)


def _joined(one: ValueType) -> ValueType | None:
    return one if one.is_array else _gathered(one)


def _alike(element: ValueType, one: ValueType) -> bool:
    if one is ValueType.ANY:
        return False
    return element is one or (element is ValueType.NUMBER and one.is_number)


_LIKE: Final[Mapping[TypeRule, Callable[[ValueType], ValueType | None]]] = {
    TypeRule.ELEMENT: ELEMENTS.get,
    TypeRule.GATHERED: _gathered,
    TypeRule.JOINED: _joined,
}


def _nodes(types: _Types, node_id: str) -> Iterator[Source]:
    graph = types.graph
    visible = graph.visible_from(node_id)
    around = graph.containers_around(node_id)
    inside = graph.inside(node_id)
    for one in around:
        yield _source(graph.nodes[one], types.inner(one), "around")
    distance = _distances(graph, (node_id, *around))
    upstream = [one for one in visible if one not in around and one not in inside]
    for one in sorted(upstream, key=lambda id_: (distance.get(id_, len(visible)), id_)):
        yield _source(graph.nodes[one], types.outputs(one), "upstream")
    for one in sorted(inside):
        yield _source(graph.nodes[one], types.outputs(one), "inside")


def _source(spec: NodeSpec, variables: tuple[Variable, ...], place: str) -> Source:
    return Source(spec.id, spec.title or spec.id, spec.kind, variables, place)


def _outputs(spec: NodeSpec, kinds: Mapping[str, AnyKind]) -> tuple[Output, ...]:
    kind = kinds.get(spec.kind)
    return _readable(kind.outputs, spec) if kind is not None else ()


def _inner(spec: NodeSpec, kinds: Mapping[str, AnyKind]) -> tuple[Output, ...]:
    kind = kinds.get(spec.kind)
    return _readable(kind.inner_outputs, spec) if kind is not None else ()


def _readable(
    outputs: Callable[[NodeSpec], Iterable[Output]], spec: NodeSpec
) -> tuple[Output, ...]:
    """Of a configuration that can't be read, nothing."""
    try:
        return tuple(one for one in outputs(spec) if one.name)
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()


def _distances(graph: Graph, starts: Iterable[str]) -> dict[str, int]:
    """Steps back along the edges, over all starts."""
    found = dict.fromkeys(starts, 0)
    rank = list(found)
    while rank:
        behind = [source for node in rank for source in graph.predecessors(node)]
        rank = [one for one in dict.fromkeys(behind) if one not in found]
        found.update(dict.fromkeys(rank, max(found.values()) + 1))
    return found


def _built_in(document: Document) -> Iterator[Source]:
    yield _declared(CONVERSATION, document.conversation)
    yield _declared(ENVIRONMENT, document.environment)
    variables = tuple(
        _variable((SYSTEM, one.name), one.type, one.help)
        for one in SYSTEM_TABLE
        if document.mode in one.modes
    )
    yield Source(SYSTEM, SYSTEM, SYSTEM, variables, "built-in")


def _declared(head: str, variables: Iterable[VariableSpec]) -> Source:
    found = tuple(_variable((head, v.name), v.value_type, v.description) for v in variables)
    return Source(head, head, head, found, "built-in")


def _variable(selector: Selector, type_: str, help_: str, parts: Json = None) -> Variable:
    kind = parse_type(type_)
    if kind is ValueType.FILE:
        inside = tuple(
            Variable((*selector, name), "number" if name == "size" else "string")
            for name in FILE_ATTRIBUTES
        )
        return Variable(selector, "file", help_, inside)
    return Variable(selector, kind.value if kind else type_, help_, _properties(selector, parts))


def _errors(spec: NodeSpec) -> Iterator[Output]:
    """Behind a handled failure it can be asked what went wrong."""
    if spec.data.get("error_strategy") not in (None, "", "none"):
        words = (gettext_noop("Error message"), gettext_noop("Error type"))
        for name, help_ in zip(ERROR_OUTPUTS, words, strict=True):
            yield Output(name, "string", help_)


def _shape(spec: NodeSpec, output: Output) -> Json:
    """The JSON schema of an output, where the node's data holds one."""
    if output.name == "structured_output":
        held = spec.data.get("structured_output")
        return held.get("schema") if isinstance(held, Mapping) else None
    advanced = spec.data.get("advanced_settings")
    if isinstance(advanced, Mapping) and advanced.get("group_enabled"):
        for group in advanced.get("groups") or ():
            if isinstance(group, Mapping) and group.get("group_name") == output.name:
                return {"properties": {"output": {"type": group.get("output_type") or "any"}}}
    return None


def _properties(selector: Selector, schema: Json, depth: int = 1) -> tuple[Variable, ...]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth > DEEPEST:
        return ()
    found = []
    for name, part in properties.items():
        if isinstance(part, Mapping):
            at = (*selector, str(name))
            said = str(part.get("description") or "")
            found.append(Variable(at, _json_type(part), said, _properties(at, part, depth + 1)))
    return tuple(found)


def _json_type(schema: Mapping[str, Json]) -> str:
    written = schema.get("type")
    if written != "array":
        known = parse_type(str(written)) if isinstance(written, str) else None
        return known.value if known else "any"
    items = schema.get("items")
    inner = items.get("type") if isinstance(items, Mapping) else None
    kind = parse_type(f"array[{inner}]")
    return kind.value if kind else ValueType.ARRAY_ANY.value


def _same(wanted: ValueType | None, given: ValueType | None) -> bool:
    if wanted is None or wanted is ValueType.ANY or given is None:
        return True
    if wanted is ValueType.ARRAY_ANY:
        return given.is_array
    if wanted.is_number or wanted is ValueType.STRING:
        return given.is_number if wanted.is_number else given in _TEXTS
    return given is wanted or (given is ValueType.ARRAY_ANY and wanted.is_array)


_TEXTS: Final = frozenset({ValueType.STRING, ValueType.SECRET})

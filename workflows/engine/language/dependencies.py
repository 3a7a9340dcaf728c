"""Lists the variables that a node can read, with their types, for the editor's pickers.

The sources are listed by distance: the containers around the node, then the nodes upstream from the last one back,
then the conversation, the environment and the system. A listed variable is missing in a run that does not take the
branch of its node.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.foreign_kinds.read_outputs import list_read_outputs
from workflows.engine.kinds import AnyKind, Output, TypeRule, gettext_noop
from workflows.engine.language.config_errors import HALF_MADE
from workflows.engine.language.document import Document, Json, Mode, NodeSpec, Selector
from workflows.engine.language.failure_policy import ERROR_OUTPUTS
from workflows.engine.language.graph import Graph
from workflows.engine.language.templating import REFERENCE
from workflows.engine.language.values import (
    ARRAYS,
    ELEMENTS,
    FILE_ATTRIBUTES,
    ValueType,
    parse_type,
)
from workflows.engine.language.variables import (
    CONVERSATION,
    ENVIRONMENT,
    SYSTEM,
    normalize_selector,
)


# Users can type the paths of deeper parts, which a list would be too long for.
MAX_PART_DEPTH: Final = 3
# Maximum number of derived types that are followed from one to the next.
MAX_TYPE_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Variable:
    selector: Selector
    type: str
    help: str = ""
    parts: tuple["Variable", ...] = ()

    @property
    def reference(self) -> str:
        """Return the reference for a template, or empty text if the names do not fit between the braces."""
        reference = "{{#" + ".".join(self.selector) + "#}}"
        return reference if REFERENCE.fullmatch(reference) else ""


@dataclass(frozen=True, slots=True)
class Source:
    """A node, or a built-in group such as ``sys``, with the variables that it offers."""

    id: str
    title: str
    kind: str  # a node's kind, or the id of a built-in source
    variables: tuple[Variable, ...]
    position: str = "upstream"  # own | around | upstream | inside | built-in


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
    SystemVariable("dialogue_count", "number", gettext_noop("Number of earlier turns"), _CHAT),
    SystemVariable("user_id", "string", gettext_noop("User ID")),
    SystemVariable("app_id", "string", gettext_noop("App ID (namespace of global memory)")),
    SystemVariable("workflow_id", "string", gettext_noop("Workflow ID")),
    SystemVariable("workflow_run_id", "string", gettext_noop("Run ID")),
    SystemVariable("timestamp", "number", gettext_noop("Start time (Unix seconds)"), _WORKFLOW),
)


def list_sources(
    document: Document, kinds: Mapping[str, AnyKind], node_id: str
) -> tuple[Source, ...]:
    """Return the sources whose variables a node can read, nearest first."""
    graph = Graph.from_document(document)
    built_in = tuple(_iter_built_in(document))
    if node_id not in graph.nodes:
        return built_in
    sources = [*_iter_node_sources(_TypeResolver(graph, kinds, built_in), node_id), *built_in]
    return tuple(source for source in sources if source.variables)


def list_node_outputs(
    document: Document, kinds: Mapping[str, AnyKind], node_id: str
) -> tuple[Output, ...]:
    """Return a node's outputs, with the types that follow from the rest of the document."""
    graph = Graph.from_document(document)
    if node_id not in graph.nodes:
        return ()
    types = _TypeResolver(graph, kinds, tuple(_iter_built_in(document)))
    return types.resolve_outputs(node_id, types.list_declared_outputs(node_id))


def build_type_finder(
    document: Document, graph: Graph, kinds: Mapping[str, AnyKind]
) -> Callable[[Selector], ValueType]:
    """Return a function that returns the type of a variable, or ``ValueType.ANY`` if it is unknown."""
    types = _TypeResolver(graph, kinds, tuple(_iter_built_in(document)))
    starts = {node.id for node in document.nodes if node.kind == "start"}

    def find_type(selector: Selector) -> ValueType:
        is_of_start = bool(selector) and selector[0] in starts
        return types.get_type(tuple(normalize_selector(selector)) if is_of_start else selector)

    return find_type


# A node and its output.
_OutputKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _TypeResolver:
    """Resolves the types of outputs, some of which are derived from the type of another variable."""

    graph: Graph
    kinds: Mapping[str, AnyKind]
    built_in: tuple[Source, ...]

    def list_outputs(
        self, id_: str, visited: frozenset[_OutputKey] = frozenset()
    ) -> tuple[Variable, ...]:
        """Return a node's outputs. ``visited`` breaks cycles of derived types."""
        spec = self.graph.nodes[id_]
        outputs = self.resolve_outputs(id_, self.list_declared_outputs(id_), visited)
        return tuple(
            _build_variable(
                (id_, output.name), output.type, output.help, _get_output_schema(spec, output)
            )
            for output in (*outputs, *_iter_error_outputs(spec))
        )

    def list_declared_outputs(self, id_: str) -> tuple[Output, ...]:
        """Return the outputs that the node's kind names and, where there may be more, those that other nodes read."""
        spec = self.graph.nodes[id_]
        kind = self.kinds.get(spec.kind)
        outputs = _list_outputs(spec, self.kinds)
        if kind is not None and not kind.keeps_undeclared_outputs(spec):
            return outputs
        names = {output.name for output in outputs}
        read = list_read_outputs(self.graph.nodes.values(), self.kinds, id_)
        return (*outputs, *(output for output in read if output.name not in names))

    def list_inner_outputs(
        self, id_: str, visited: frozenset[_OutputKey] = frozenset()
    ) -> tuple[Variable, ...]:
        """Return the outputs of a container that its inner nodes can read: the current item, the loop's variables."""
        outputs = _list_outputs(self.graph.nodes[id_], self.kinds, inner=True)
        return tuple(
            _build_variable((id_, output.name), output.type, output.help)
            for output in self.resolve_outputs(id_, outputs, visited)
        )

    def resolve_outputs(
        self, id_: str, outputs: Iterable[Output], visited: frozenset[_OutputKey] = frozenset()
    ) -> tuple[Output, ...]:
        return tuple(self._resolve(id_, output, visited) for output in outputs)

    def _resolve(self, id_: str, output: Output, visited: frozenset[_OutputKey]) -> Output:
        derived_type, output_key = output.derived_type, (id_, output.name)
        if derived_type is None or output_key in visited or len(visited) >= MAX_TYPE_DEPTH:
            return output
        source_type = self.get_type(derived_type.selector, visited | {output_key})
        value_type = _TYPE_RULES[derived_type.rule](source_type)
        return output if value_type is None else replace(output, type=value_type.value)

    def get_type(
        self, selector: Selector, visited: frozenset[_OutputKey] = frozenset()
    ) -> ValueType:
        """Return the type of a variable, or ``ValueType.ANY`` if it is unknown."""
        if len(selector) < 2:
            return ValueType.ANY
        source_id = selector[0]
        if source_id in self.graph.nodes:
            outputs = self.list_outputs(source_id, visited)
            variables = (*outputs, *self.list_inner_outputs(source_id, visited))
        else:
            variables = tuple(
                v for source in self.built_in if source.id == source_id for v in source.variables
            )
        return _find_type(variables, selector)


def _find_type(variables: Iterable[Variable], selector: Selector) -> ValueType:
    for variable in variables:
        if variable.selector == selector:
            return parse_type(variable.type) or ValueType.ANY
        if variable.parts and selector[: len(variable.selector)] == variable.selector:
            return _find_type(variable.parts, selector)
    return ValueType.ANY


def _get_joined_type(value_type: ValueType) -> ValueType | None:
    return value_type if value_type.is_array else ARRAYS.get(value_type)


_TYPE_RULES: Final[Mapping[TypeRule, Callable[[ValueType], ValueType | None]]] = {
    TypeRule.ELEMENT: ELEMENTS.get,
    TypeRule.GATHERED: ARRAYS.get,
    TypeRule.JOINED: _get_joined_type,
}


def _iter_node_sources(types: _TypeResolver, node_id: str) -> Iterator[Source]:
    graph = types.graph
    visible = graph.find_visible(node_id)
    containers = graph.list_containers(node_id)
    inside = graph.list_inside(node_id)
    if inside:
        yield _build_source(graph.nodes[node_id], types.list_inner_outputs(node_id), "own")
    for node in containers:
        yield _build_source(graph.nodes[node], types.list_inner_outputs(node), "around")
    distance = _measure_distances(graph, (node_id, *containers))
    upstream = [node for node in visible if node not in containers and node not in inside]
    for node in sorted(upstream, key=lambda id_: (distance.get(id_, len(visible)), id_)):
        yield _build_source(graph.nodes[node], types.list_outputs(node), "upstream")
    for node in sorted(inside):
        yield _build_source(graph.nodes[node], types.list_outputs(node), "inside")


def _build_source(spec: NodeSpec, variables: tuple[Variable, ...], position: str) -> Source:
    return Source(spec.id, spec.title or spec.id, spec.kind, variables, position)


def _list_outputs(
    spec: NodeSpec, kinds: Mapping[str, AnyKind], *, inner: bool = False
) -> tuple[Output, ...]:
    """Return a node's outputs, or its outputs for the nodes inside it. An invalid configuration has none."""
    kind = kinds.get(spec.kind)
    if kind is None:
        return ()
    try:
        outputs = kind.list_inner_outputs(spec) if inner else kind.list_outputs(spec)
        return tuple(output for output in outputs if output.name)
    except HALF_MADE:
        return ()


def _measure_distances(graph: Graph, starts: Iterable[str]) -> dict[str, int]:
    """Return how many edges lie between each node upstream and the nearest of the starts."""
    distances = dict.fromkeys(starts, 0)
    frontier = list(distances)
    while frontier:
        sources = [source for node in frontier for source in graph.list_predecessors(node)]
        frontier = [source for source in dict.fromkeys(sources) if source not in distances]
        distances.update(dict.fromkeys(frontier, max(distances.values()) + 1))
    return distances


def _iter_built_in(document: Document) -> Iterator[Source]:
    declared = ((CONVERSATION, document.conversation), (ENVIRONMENT, document.environment))
    for id_, specs in declared:
        variables = tuple(
            _build_variable((id_, v.name), v.value_type, v.description) for v in specs
        )
        yield Source(id_, id_, id_, variables, "built-in")
    variables = tuple(
        _build_variable((SYSTEM, variable.name), variable.type, variable.help)
        for variable in SYSTEM_TABLE
        if document.mode in variable.modes
    )
    yield Source(SYSTEM, SYSTEM, SYSTEM, variables, "built-in")


def _build_variable(selector: Selector, type_: str, help_: str, schema: Json = None) -> Variable:
    value_type = parse_type(type_)
    if value_type is ValueType.FILE:
        attributes = tuple(
            Variable((*selector, name), "number" if name == "size" else "string")
            for name in FILE_ATTRIBUTES
        )
        return Variable(selector, "file", help_, attributes)
    type_name = value_type.value if value_type else type_
    return Variable(selector, type_name, help_, _build_parts(selector, schema))


def _iter_error_outputs(spec: NodeSpec) -> Iterator[Output]:
    """Yield the outputs that describe the error of a handled failure."""
    if spec.data.get("error_strategy") not in (None, "", "none"):
        labels = (gettext_noop("Error message"), gettext_noop("Error type"))
        for name, help_ in zip(ERROR_OUTPUTS, labels, strict=True):
            yield Output(name, "string", help_)


def _get_output_schema(spec: NodeSpec, output: Output) -> Json:
    """Return the JSON schema of an output, if the node's data has one."""
    if output.name == "structured_output":
        settings = spec.data.get("structured_output")
        return settings.get("schema") if isinstance(settings, Mapping) else None
    advanced = spec.data.get("advanced_settings")
    if isinstance(advanced, Mapping) and advanced.get("group_enabled"):
        for group in advanced.get("groups") or ():
            if isinstance(group, Mapping) and group.get("group_name") == output.name:
                return {"properties": {"output": {"type": group.get("output_type") or "any"}}}
    return None


def _build_parts(selector: Selector, schema: Json, depth: int = 1) -> tuple[Variable, ...]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or depth > MAX_PART_DEPTH:
        return ()
    parts = []
    for name, subschema in properties.items():
        if isinstance(subschema, Mapping):
            part_selector = (*selector, str(name))
            help_ = str(subschema.get("description") or "")
            inner_parts = _build_parts(part_selector, subschema, depth + 1)
            parts.append(Variable(part_selector, _read_schema_type(subschema), help_, inner_parts))
    return tuple(parts)


def _read_schema_type(schema: Mapping[str, Json]) -> str:
    type_name = schema.get("type")
    if type_name != "array":
        value_type = parse_type(str(type_name)) if isinstance(type_name, str) else None
        return value_type.value if value_type else "any"
    items = schema.get("items")
    item_type = items.get("type") if isinstance(items, Mapping) else None
    return (parse_type(f"array[{item_type}]") or ValueType.ARRAY_ANY).value

"""Compiles a document for running, once per version: numbers its nodes and edges, and parses its configurations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from typing import Any, Final

from pydantic import ValidationError

from workflows.engine.errors import DocumentInvalid
from workflows.engine.foreign_kinds.placeholders import add_placeholders
from workflows.engine.kinds import AnyKind, Execution, Kinds
from workflows.engine.language.config_errors import build_config_problems
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.disabled_nodes import remove_disabled
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec, Selector
from workflows.engine.language.failure_policy import Policy, Strategy, read_policy
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem, select_errors
from workflows.engine.language.templating import Segment
from workflows.engine.language.validation.nesting import find_container_problems
from workflows.engine.language.values import ValueType, parse_type
from workflows.engine.language.variables import CONVERSATION, SYSTEM
from workflows.engine.runtime.step_records import StepKey


# The success handle of a node with a fail branch in exports of older Dify versions.
_HANDLE_ALIASES = {"success-branch": "source"}
_EMPTY_FLOW: Final = ContentFlow((), {})


@dataclass(frozen=True, slots=True)
class PlanEdge:
    index: int
    id: str
    source: int
    target: int
    handle: str


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node as the runtime executes it. ``index`` is its position in the plan of its scope."""

    index: int
    id: str
    key: StepKey
    kind: AnyKind
    kind_name: str
    title: str
    spec: NodeSpec
    prepared: Any  # the result of the kind's ``prepare``
    policy: Policy
    is_branching: bool  # its handle decides which edges are taken
    has_effect: bool
    is_quick: bool  # may start without a task: it ends at once, or returns an awaitable
    outgoing: tuple[PlanEdge, ...]
    indegree: int
    body: "Plan | None" = None  # of a container


@dataclass(frozen=True, slots=True)
class Session:
    """The text that a response node prints, and the edges that a run must take before it is printed."""

    node: int
    node_id: str
    segments: tuple[Segment, ...]
    blocking: frozenset[int]  # edges that must be taken on at least one path to the node
    reached: frozenset[int]  # nodes that a run reaches from its root without these edges
    # A missing variable is printed as its name, as in the text that is stored. End nodes, which store null, print nothing.
    names_missing: bool = True

    @property
    def begins_line(self) -> bool:
        """Return whether its text is of an End node, whose outputs are on lines of their own, and so are those of several."""
        return not self.names_missing

    @property
    def opens_at_once(self) -> bool:
        return self.node in self.reached


def build_finished_session(node: int, node_id: str, text: str) -> Session:
    """Return the session of a node whose text is complete."""
    return Session(node, node_id, (text,), frozenset(), frozenset({node}))


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled scope: the nodes at the top level, or those directly inside a container."""

    document: Document
    kinds: Kinds
    nodes: tuple[PlanNode, ...]
    edges: tuple[PlanEdge, ...]
    root: int
    sessions: tuple[Session, ...]
    gates: frozenset[int]  # nodes whose edges may open a session
    watched: frozenset[tuple[int, str]]  # streamed outputs that a session prints
    by_id: dict[str, int]  # a node's id → its index
    variable_types: dict[Selector, ValueType]  # of all scopes
    unreached: frozenset[str]  # ids of this scope's nodes that no path leads to
    container: str | None = None
    flow: ContentFlow = _EMPTY_FLOW  # finds untrusted outputs, in all scopes
    inside: frozenset[str] = frozenset()  # ids of its nodes, and of those deeper inside them

    @property
    def mode(self) -> str:
        return self.document.mode

    def list_untrusted_starts(
        self, *, has_untrusted_inputs: bool, is_chosen: bool
    ) -> tuple[str, ...]:
        """Return what is untrusted in a run that another run called, before its first step.

        Untrusted inputs are those of the start node, and a chat's message. In a run that untrusted content has chosen,
        every node is marked.
        """
        root = self.nodes[self.root].id
        sources = (root, SYSTEM) if self.document.mode is Mode.CHAT else (root,)
        marks = sorted(self.flow.list_chosen_marks()) if is_chosen else ()
        return (*(sources if has_untrusted_inputs else ()), *marks)

    @property
    def has_parts(self) -> bool:
        """Return whether a step of any scope consists of calls that are recorded one by one."""
        return any(
            node.kind.has_parts or (node.body is not None and node.body.has_parts)
            for node in self.nodes
        )

    @property
    def begins_with_model(self) -> bool:
        """Return whether a node that follows the first one streams what a model answers."""
        edges = self.nodes[self.root].outgoing
        return any(self.nodes[edge.target].kind.streams for edge in edges)

    @property
    def waits_for_people(self) -> bool:
        """Return whether a node of this scope, or of one inside it, waits for a person."""
        return any(
            node.kind.waits_for_people or (node.body is not None and node.body.waits_for_people)
            for node in self.nodes
        )


def compile_plan(document: Document, kinds: Kinds, *, root: str | None = None) -> Plan:
    """Compile a document. Raises DocumentInvalid with every problem that keeps it from running."""
    document, disabled = remove_disabled(document, kinds)
    kinds = add_placeholders(kinds, document)
    graph = Graph.from_document(document)
    problems = _find_problems(document, graph, kinds)
    top_nodes = [graph.nodes[name] for name in graph.list_children(None)]
    start = _choose_root(top_nodes, kinds, root, problems)
    if start is None or select_errors(problems):
        raise DocumentInvalid(select_errors(problems), list_node_titles(document, kinds))
    types, flow = _collect_variable_types(document, kinds), build_flow(document, kinds)
    plan = _Compiler(document, graph, kinds, types, flow).compile_scope(None, start)
    return replace(plan, unreached=plan.unreached | disabled)


def build_flow(document: Document, kinds: Kinds) -> ContentFlow:
    """Return the flow of content through a document, which may be an incomplete draft."""
    return ContentFlow(document.nodes, add_placeholders(kinds, document), document.edges)


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles the scopes of a document, each with the scopes inside it."""

    document: Document
    graph: Graph
    kinds: Kinds
    variable_types: dict[Selector, ValueType]
    flow: ContentFlow

    def compile_scope(self, container: str | None, start: str) -> Plan:
        """Compile the nodes of a container, or of the top level for None, to which paths lead from ``start``."""
        members = self.graph.list_children(container)
        # A node that no path leads to would block every join behind it permanently.
        reachable = self.graph.find_reachable_siblings(start)
        specs = [self.graph.nodes[name] for name in members if name in reachable]
        by_id = {spec.id: index for index, spec in enumerate(specs)}
        edges = _build_edges(self.document.edges, by_id)
        nodes = self._build_nodes(specs, edges)
        builder = _SessionBuilder(nodes, edges, by_id[start])
        sessions = tuple(builder.iter_sessions(inside=container is not None))
        return Plan(
            document=self.document,
            kinds=self.kinds,
            nodes=nodes,
            edges=edges,
            root=by_id[start],
            sessions=sessions,
            gates=frozenset(
                edges[edge].source
                for blocking in {s.blocking for s in sessions if not s.opens_at_once}
                for edge in blocking
            ),
            watched=frozenset(
                (by_id[segment[0]], segment[1])
                for session in sessions
                for segment in session.segments
                if not isinstance(segment, str) and segment[0] in by_id
            ),
            by_id=by_id,
            variable_types=self.variable_types,
            flow=self.flow,
            unreached=frozenset(members) - by_id.keys(),
            container=container,
            inside=self.graph.list_inside(container) if container is not None else frozenset(),
        )

    def _build_nodes(
        self, specs: Sequence[NodeSpec], edges: Sequence[PlanEdge]
    ) -> tuple[PlanNode, ...]:
        outgoing: list[list[PlanEdge]] = [[] for _ in specs]
        indegrees = [0] * len(specs)
        for edge in edges:
            outgoing[edge.source].append(edge)
            indegrees[edge.target] += 1
        return tuple(
            self._build_node(index, spec, tuple(outgoing[index]), indegrees[index])
            for index, spec in enumerate(specs)
        )

    def _build_node(
        self, index: int, spec: NodeSpec, outgoing: tuple[PlanEdge, ...], indegree: int
    ) -> PlanNode:
        kind = self.kinds[spec.kind]
        policy = read_policy(spec, kind.retry)[0]
        try:
            prepared = kind.prepare(spec)
        except ValidationError as invalid:
            raise DocumentInvalid(build_config_problems(spec.id, invalid)) from invalid
        return PlanNode(
            index=index,
            id=spec.id,
            key=StepKey(spec.id),
            kind=kind,
            kind_name=kind.name,
            title=spec.title,
            spec=spec,
            prepared=prepared,
            policy=policy,
            is_branching=kind.execution is Execution.BRANCH
            or policy.strategy is Strategy.FAIL_BRANCH,
            has_effect=kind.has_effect,
            is_quick=not kind.has_effect and not iscoroutinefunction(kind.run),
            outgoing=outgoing,
            indegree=indegree,
            body=self._compile_body(spec),
        )

    def _compile_body(self, spec: NodeSpec) -> Plan | None:
        if self.kinds[spec.kind].execution is not Execution.CONTAINER:
            return None
        entry = self.graph.find_entry(spec.id)
        return self.compile_scope(spec.id, entry) if entry is not None else None


def list_node_titles(document: Document, kinds: Kinds) -> dict[str, str]:
    """Return the titles of the nodes by id; a node without a title has the title of its kind."""
    names = {name: kind.title for name, kind in kinds.items()}
    return {node.id: node.title or names.get(node.kind, node.kind) for node in document.nodes}


def _find_problems(document: Document, graph: Graph, kinds: Kinds) -> list[Problem]:
    problems: list[Problem] = []
    for spec in graph.nodes.values():
        kind = kinds[spec.kind]
        problems += [*kind.check(spec), *read_policy(spec, kind.retry)[1]]
    node_ids = {node.id for node in document.nodes}
    problems += [
        Problem("edge.dangling", f"The edge ends at an unknown node {end!r}", edge=edge.id)
        for edge in document.edges
        for end in (edge.source, edge.target)
        if end and end not in node_ids
    ]
    return problems + find_container_problems(graph, kinds)


def _collect_variable_types(document: Document, kinds: Kinds) -> dict[Selector, ValueType]:
    types: dict[Selector, ValueType] = {
        (CONVERSATION, variable.name): value_type
        for variable in document.conversation
        if (value_type := parse_type(variable.value_type)) is not None
    }
    for spec in document.nodes:
        for name, value_type in kinds[spec.kind].list_variable_types(spec).items():
            types[spec.id, name] = value_type
    return types


def _choose_root(
    top_nodes: Sequence[NodeSpec], kinds: Kinds, requested: str | None, problems: list[Problem]
) -> str | None:
    roots = [
        node.id
        for node in top_nodes
        if node.kind in kinds and kinds[node.kind].execution is Execution.ROOT
    ]
    if requested in roots or (requested is None and roots):
        return requested or roots[0]
    problems.append(Problem("root.missing", "The workflow has no Start node"))
    return None


def _build_edges(edges: Iterable[EdgeSpec], by_id: dict[str, int]) -> tuple[PlanEdge, ...]:
    scope_edges = [edge for edge in edges if edge.source in by_id and edge.target in by_id]
    return tuple(
        PlanEdge(
            index,
            edge.id,
            by_id[edge.source],
            by_id[edge.target],
            _HANDLE_ALIASES.get(edge.handle, edge.handle),
        )
        for index, edge in enumerate(scope_edges)
    )


@dataclass(slots=True)
class _SessionBuilder:
    """Builds the sessions of one scope. Most of them wait for the same nodes, so what follows from these is shared."""

    nodes: Sequence[PlanNode]
    edges: Sequence[PlanEdge]
    root: int
    _always_blocking: frozenset[int] = frozenset()
    _writers: dict[Selector, set[int]] = field(default_factory=dict)
    _shared: dict[frozenset[int], tuple[frozenset[int], frozenset[int]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self._always_blocking = frozenset(
            node.index
            for node in self.nodes
            # Text after these must wait, because they may skip it.
            if node.is_branching or node.kind.execution in (Execution.CONTAINER, Execution.RESPONSE)
        )
        for node in self.nodes:
            for target in node.kind.list_writes(node.prepared):
                self._writers.setdefault(target[:2], set()).add(node.index)

    def iter_sessions(self, *, inside: bool) -> Iterator[Session]:
        for node in self.nodes:
            # Inside a container an End node gives outputs to the container, not to the user.
            is_inner_end = inside and node.kind.provides_results
            if node.kind.execution is Execution.RESPONSE and not is_inner_end:
                yield self._build_session(node)

    def _build_session(self, response: PlanNode) -> Session:
        segments = tuple(response.kind.list_segments(response.prepared))
        blocking_nodes = set(self._always_blocking)
        for segment in segments:
            if not isinstance(segment, str):  # text with a variable must wait for what writes it
                blocking_nodes |= self._writers.get(segment[:2], frozenset())
        blocking, reached = self._find_edges(frozenset(blocking_nodes))
        names_missing = not response.kind.provides_results
        return Session(response.index, response.id, segments, blocking, reached, names_missing)

    def _find_edges(self, blocking_nodes: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Return the edges behind these nodes, and the nodes that the root leads to without them."""
        if blocking_nodes not in self._shared:
            blocking = frozenset(e.index for e in self.edges if e.source in blocking_nodes)
            visited, pending = {self.root}, [self.root]
            while pending:
                for edge in self.nodes[pending.pop()].outgoing:
                    if edge.index not in blocking and edge.target not in visited:
                        visited.add(edge.target)
                        pending.append(edge.target)
            self._shared[blocking_nodes] = blocking, frozenset(visited)
        return self._shared[blocking_nodes]

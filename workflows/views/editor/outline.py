"""The draft as a nested list: the same graph, read from top to bottom, and what can be done with each node.

The editor keeps it beside the canvas; alone it is a page whose forms work without JavaScript.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import Execution
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem
from workflows.engine.nodes import find_appearance
from workflows.services.kinds import installed_kinds
from workflows.views.canvas.summaries import Way, build_ways


# Beyond this many nodes the editor asks for the outline after it has shown the page.
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as its source's row tells it."""

    edge: str
    handle: str
    label: str  # which way out; empty for the only one
    target: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    kind: str
    kind_title: str
    title: str
    icon: str
    family: str
    links: tuple[Link, ...]
    errors: int
    warnings: int
    holds: bool  # a container, empty or not
    disabled: bool
    rows: tuple["Row", ...]


def rows_of(document: Document, problems: Sequence[Problem] = ()) -> tuple[Row, ...]:
    """The top level's rows; what a container holds is under its own."""
    return _Reading(document, problems).level(None)


def at_once(document: Document, problems: Sequence[Problem]) -> tuple[Row, ...] | None:
    """With the page, or None: a large draft's outline is asked for when it is looked at."""
    return rows_of(document, problems) if len(document.nodes) <= AT_ONCE else None


class _Reading:
    """One pass over a document; levels are asked for from the outside in."""

    def __init__(self, document: Document, problems: Sequence[Problem]) -> None:
        self.graph = Graph.of(document)
        self.kinds = installed_kinds()
        self.wrong: dict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            self.wrong[problem.node or ""].append(problem)
        order = sorted(self.graph.order() or self.graph.nodes, key=self._begins)
        self.place = {node: at for at, node in enumerate(_along(self.graph, order))}
        # A parent that isn't there leaves its nodes at the top, as the canvas draws them.
        self.inside: dict[str | None, list[str]] = defaultdict(list)
        for node in self.graph.nodes:
            around = self.graph.containers_around(node)
            self.inside[around[0] if around else None].append(node)

    def _begins(self, id_: str) -> tuple[bool, bool, float]:
        """Where a run begins comes first, then what stands further left; the rest of the order stays."""
        node = self.graph.nodes[id_]
        kind = self.kinds.get(node.kind)
        begins = kind is not None and kind.execution in (Execution.ROOT, Execution.ENTRY)
        lone = not begins and not self.graph.outgoing(id_)
        return not begins, lone, node.position.x

    def level(self, container: str | None, depth: int = 0) -> tuple[Row, ...]:
        ids = sorted(self.inside.get(container, ()), key=lambda node: self.place.get(node, 0))
        return tuple(self.row(self.graph.nodes[node], depth) for node in ids)

    def row(self, node: NodeSpec, depth: int) -> Row:
        kind = self.kinds.get(node.kind)
        appearance = find_appearance(node.kind, self.kinds)
        wrong = self.wrong.get(node.id, ())
        errors = sum(problem.is_error for problem in wrong)
        return Row(
            id=node.id,
            kind=node.kind,
            kind_title=_(kind.title) if kind else node.kind,
            title=title_of(node),
            icon=appearance.icon,
            family=appearance.family,
            links=self.links(node),
            errors=errors,
            warnings=len(wrong) - errors,
            holds=kind is not None and kind.execution is Execution.CONTAINER,
            disabled=node.data.get("disabled") is True,
            rows=self.level(node.id, depth + 1) if depth < DEEPEST else (),
        )

    def links(self, node: NodeSpec) -> tuple[Link, ...]:
        named = {way.handle: way_name(way) for way in ways_of(node)}
        lone = len(named) == 1
        return tuple(
            Link(
                edge=edge.id,
                handle=edge.handle,
                label="" if lone else named.get(edge.handle, edge.handle),
                target=edge.target,
                title=title_of(self.graph.nodes[edge.target]),
            )
            for edge in self.graph.outgoing(node.id)
        )


# Nobody nests deeper; a document that does must not exhaust the stack.
DEEPEST = 24


def _along(graph: Graph, order: Sequence[str]) -> list[str]:
    """As one reads a flow: from each root along its branches, a join after its last branch."""
    rank = {node: at for at, node in enumerate(order)}
    waiting = {node: len(graph.predecessors(node)) for node in order}
    read: list[str] = []
    stack = [node for node in reversed(order) if not waiting[node]]
    seen: set[str] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        read.append(node)
        for target in reversed(graph.successors(node)):
            waiting[target] -= 1
            if waiting[target] <= 0 and target not in seen:
                stack.append(target)
    return [*read, *sorted(rank.keys() - seen, key=rank.__getitem__)]


def title_of(node: NodeSpec) -> str:
    if node.title:
        return node.title
    kind = installed_kinds().get(node.kind)
    return _(kind.title) if kind else node.kind or node.id


def ways_of(node: NodeSpec) -> tuple[Way, ...]:
    """The ways out of a node with what each is called."""
    kinds = installed_kinds()
    return build_ways(node, kinds, list_source_handles(node, kinds.get(node.kind)))


def way_name(way: Way) -> str:
    return " ".join(filter(None, (way.word, way.text)))

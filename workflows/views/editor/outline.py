"""The draft as a nested list, which the editor shows beside the canvas and on a page that works without scripts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import Execution
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.graph import Graph
from workflows.engine.language.problems import Problem
from workflows.engine.nodes import find_appearance
from workflows.execution.kinds import load_kinds
from workflows.templatetags.kind_words import get_kind_title
from workflows.views.canvas.drawing import group_by_node
from workflows.views.canvas.summaries import LabelledHandle, label_handles


# With more nodes, the editor loads the outline after the page.
MAX_INLINE_NODES = 200
# Deeper nesting is not shown, so that a malicious document cannot exhaust the stack.
MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class OutlineLink:
    """An edge in the row of its source node."""

    edge: str
    handle: str
    label: str  # the label of the handle; empty for a node's only handle
    target: str
    title: str

    @property
    def label_parts(self) -> tuple[str, str]:
        """Return the label in two parts; where there is little room, the end of a condition stays, such as ``= 1``."""
        beginning, *end = self.label.rsplit(" ", 2)
        return (beginning, " ".join(end)) if len(end) == 2 else (self.label, "")


@dataclass(frozen=True, slots=True)
class OutlineRow:
    id: str
    kind: str
    kind_title: str
    title: str
    icon: str
    family: str
    links: tuple[OutlineLink, ...]
    errors: int
    warnings: int
    is_container: bool  # even if it is empty
    disabled: bool
    rows: tuple["OutlineRow", ...]


def build_rows(document: Document, problems: Sequence[Problem] = ()) -> tuple[OutlineRow, ...]:
    """Return the rows of the top level; a container's rows are nested in its row."""
    return _OutlineBuilder(document, problems).build_level(None)


def build_inline_rows(
    document: Document, problems: Sequence[Problem]
) -> tuple[OutlineRow, ...] | None:
    """Return the rows to render with the page, or None if a large draft's outline is loaded later."""
    return build_rows(document, problems) if len(document.nodes) <= MAX_INLINE_NODES else None


class _OutlineBuilder:
    """Builds the rows of one document; the children of a container are built with its row."""

    def __init__(self, document: Document, problems: Sequence[Problem]) -> None:
        self.graph = Graph.from_document(document)
        self.kinds = load_kinds()
        self.problems = group_by_node(problems)
        order = sorted(self.graph.sort_nodes() or self.graph.nodes, key=self._sort_key)
        self.ranks = {
            node: rank for rank, node in enumerate(_sort_in_reading_order(self.graph, order))
        }
        # Nodes whose parent is missing are at the top level, as on the canvas.
        self.children: dict[str | None, list[str]] = defaultdict(list)
        for node in self.graph.nodes:
            containers = self.graph.list_containers(node)
            self.children[containers[0] if containers else None].append(node)

    def _sort_key(self, id_: str) -> tuple[bool, bool, float]:
        """Return the sort key: start nodes first, nodes without outgoing edges last, otherwise by horizontal position."""
        node = self.graph.nodes[id_]
        kind = self.kinds.get(node.kind)
        is_start = kind is not None and kind.execution in (Execution.ROOT, Execution.ENTRY)
        has_no_outgoing = not is_start and not self.graph.list_outgoing(id_)
        return not is_start, has_no_outgoing, node.position.x

    def build_level(self, container: str | None, depth: int = 0) -> tuple[OutlineRow, ...]:
        ids = sorted(self.children.get(container, ()), key=lambda node: self.ranks.get(node, 0))
        return tuple(self.build_row(self.graph.nodes[node], depth) for node in ids)

    def build_row(self, node: NodeSpec, depth: int) -> OutlineRow:
        kind = self.kinds.get(node.kind)
        appearance = find_appearance(node.kind, self.kinds)
        problems = self.problems.get(node.id, ())
        errors = sum(problem.is_error for problem in problems)
        return OutlineRow(
            id=node.id,
            kind=node.kind,
            kind_title=get_kind_title(node.kind, self.kinds),
            title=get_title(node),
            icon=appearance.icon,
            family=appearance.family,
            links=self.build_links(node),
            errors=errors,
            warnings=len(problems) - errors,
            is_container=kind is not None and kind.execution is Execution.CONTAINER,
            disabled=node.data.get("disabled") is True,
            rows=self.build_level(node.id, depth + 1) if depth < MAX_DEPTH else (),
        )

    def build_links(self, node: NodeSpec) -> tuple[OutlineLink, ...]:
        labels = {handle.handle: format_handle(handle) for handle in list_handles(node)}
        has_single_handle = len(labels) == 1
        return tuple(
            OutlineLink(
                edge=edge.id,
                handle=edge.handle,
                label="" if has_single_handle else labels.get(edge.handle, edge.handle),
                target=edge.target,
                title=get_title(self.graph.nodes[edge.target]),
            )
            for edge in self.graph.list_outgoing(node.id)
        )


def _sort_in_reading_order(graph: Graph, order: Sequence[str]) -> list[str]:
    """Return the ids from each root along its branches; a node that joins branches comes after the last of them."""
    ranks = {node: rank for rank, node in enumerate(order)}
    pending_counts = {node: len(graph.list_predecessors(node)) for node in order}
    reading_order: list[str] = []
    stack = [node for node in reversed(order) if not pending_counts[node]]
    visited: set[str] = set()
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.add(node)
        reading_order.append(node)
        for target in reversed(graph.list_successors(node)):
            pending_counts[target] -= 1
            if pending_counts[target] <= 0 and target not in visited:
                stack.append(target)
    return [*reading_order, *sorted(ranks.keys() - visited, key=ranks.__getitem__)]


def get_title(node: NodeSpec) -> str:
    """Return the node's title, or the title of its kind, or its id."""
    return node.title or get_kind_title(node.kind) or node.id


def list_handles(node: NodeSpec) -> tuple[LabelledHandle, ...]:
    """Return the output handles of a node with their labels."""
    kinds = load_kinds()
    return label_handles(node, kinds, list_source_handles(node, kinds.get(node.kind)))


def format_handle(handle: LabelledHandle) -> str:
    """Return the label of a handle as text, which may be empty."""
    return " ".join(filter(None, (handle.word, handle.text)))

"""Runs a part of a workflow, or pauses on the way, for debugging.

A part is a separate document, extracted before compilation, so the loop does not distinguish it. Steps of an earlier
run are passed as history, as after a crash; ``select_valid_steps`` leaves out those to which the graph no longer
leads. A ``PauseControl`` makes nodes wait; a run all of whose ready nodes wait is paused.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.containers import list_containers
from workflows.engine.language.disabled_nodes import remove_disabled
from workflows.engine.language.document import Document, EdgeSpec, Json, NodeSpec, Selector
from workflows.engine.language.graph import Graph, include_inner_nodes, traverse
from workflows.engine.language.plan import Plan, build_flow
from workflows.engine.language.templating import list_references
from workflows.engine.runtime.scheduler import Scheduler
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus


# Titles are for display; code and Jinja receive their variables through separate fields.
_UNREAD_FIELDS: Final = frozenset({"title", "desc", "code", "template", "sub_graph"})


class Extent(StrEnum):
    """The part of a workflow that runs."""

    ALL = "all"
    ONLY = "only"  # these nodes, with all inputs provided
    UNTIL = "until"  # these nodes and their ancestors
    FROM = "from"  # these nodes and their descendants; earlier results are reused


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a workflow that a run executes: its extent, and the nodes that the extent is about."""

    extent: Extent = Extent.ALL
    nodes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return whether the document runs unchanged. ``FROM`` differs in its history only."""
        return self.extent in (Extent.ALL, Extent.FROM)


def extract_part(document: Document, part: Part, root: str | None = None) -> Document:
    """Return the document of a part. ``root`` is the node where runs start, which leads to nodes that run alone."""
    if part.extent is Extent.UNTIL:
        node_ids = find_ancestors(document, part.nodes) | set(part.nodes)
        return _keep_nodes(document, include_inner_nodes(document, node_ids))
    if part.extent is Extent.ONLY:
        return _isolate_nodes(document, part.nodes, root)
    return document


def find_root(document: Document, kinds: Mapping[str, AnyKind]) -> str | None:
    """Return the node where runs start, the first of several."""
    top_nodes = (node for node in document.nodes if node.parent is None and node.kind in kinds)
    return next((n.id for n in top_nodes if kinds[n.kind].execution is Execution.ROOT), None)


def list_external_reads(
    document: Document, node: str, kinds: Mapping[str, AnyKind]
) -> list[Selector]:
    """Return the variables that a node and the nodes inside it read, except those of the nodes inside."""
    inner_ids = include_inner_nodes(document, {node})
    selectors: dict[Selector, None] = {}
    for spec in document.nodes:
        if spec.id in inner_ids:
            selectors |= dict.fromkeys(iter_reads(spec, kinds))
    return [selector for selector in selectors if selector[0] not in inner_ids - {node}]


def mark_missing_nodes(plan: Plan, document: Document) -> Plan:
    """Return the plan of a part with the nodes that it omits: references to them print nothing.

    What they read outside stays untrusted, where a node of the part is given their outputs.
    """
    missing = {node.id for node in document.nodes} - plan.by_id.keys()
    flow = build_flow(remove_disabled(document, plan.kinds)[0], plan.kinds)
    return replace(plan, unreached=plan.unreached | missing, flow=flow)


def find_ancestors(document: Document, nodes: Iterable[str]) -> frozenset[str]:
    """Return every node from which a path leads to one of the nodes."""
    return traverse(nodes, Graph.from_document(document).list_predecessors)


def find_descendants(document: Document, nodes: Iterable[str]) -> frozenset[str]:
    """Return every node to which a path leads from one of the nodes."""
    return traverse(nodes, Graph.from_document(document).list_successors)


def find_outermost(document: Document, node: str) -> str:
    """Return the top-level container around the node, or the node itself."""
    parents = {spec.id: spec.parent for spec in document.nodes}
    return [node, *list_containers(node, parents)][-1]


def select_reusable_steps(
    document: Document, history: Sequence[StepRecord], restarted: Iterable[str]
) -> list[StepRecord]:
    """Return the steps of a previous run that a run from ``restarted`` need not repeat."""
    starts = [find_outermost(document, node) for node in restarted]
    rerun = find_descendants(document, starts) | set(starts)
    return [
        record
        for record in history
        if is_completed(record) and find_outermost(document, record.key.node_id) not in rerun
    ]


def is_completed(record: StepRecord) -> bool:
    return record.status in (StepStatus.SUCCEEDED, StepStatus.EXCEPTION)


def select_valid_steps(plan: Plan, history: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the steps that are still valid in the graph, in an order in which a run could have taken them.

    The graph may have changed since. A new node has no result yet, so everything behind it runs
    again; a node that no edge leads to any more is left out.
    """
    records = {r.key.node_id: r for r in history if not r.key.rounds and is_completed(r)}
    scheduler = Scheduler(plan)
    ready, valid = deque([plan.root]), []
    while ready:
        node = plan.nodes[ready.popleft()]
        record = records.get(node.id)
        if record is None:
            continue
        valid.append(record)
        ready.extend(scheduler.finish(node.index, record.handle)[0])
    top_ids = {record.key.node_id for record in valid}
    nested = (record for record in history if record.key.rounds)
    return [*valid, *(r for r in nested if find_outermost(plan.document, r.key.node_id) in top_ids)]


def select_missing_node_steps(plan: Plan, history: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the steps of nodes that are not in the plan. Only their outputs are used."""
    return [
        record
        for record in history
        if record.key.node_id not in plan.by_id and not record.key.rounds and is_completed(record)
    ]


def build_manual_step(node: str, kind: str, outputs: Mapping[str, Json]) -> StepRecord:
    """Return a step that never ran, with outputs that a user entered."""
    return StepRecord(StepKey(node), kind, StepStatus.SUCCEEDED, outputs=outputs)


def iter_reads(spec: NodeSpec, kinds: Mapping[str, AnyKind]) -> Iterator[Selector]:
    """Yield the variables that a node reads: in its texts, and those that its kind names."""
    pending: list[Json] = [value for key, value in spec.data.items() if key not in _UNREAD_FIELDS]
    while pending:
        value = pending.pop(0)
        if isinstance(value, str):
            yield from list_references(value)
        elif isinstance(value, Mapping):
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            pending.extend(value)
    kind = kinds.get(spec.kind)
    if kind is not None and not kind.check(spec):
        yield from (tuple(selector) for selector in kind.list_reads(spec) if len(selector) > 1)


def _isolate_nodes(document: Document, nodes: Sequence[str], root: str | None) -> Document:
    """Return a document in which the root leads directly to the nodes, whose inputs come from seeds."""
    node_ids = set(nodes)
    included = include_inner_nodes(document, node_ids)
    top_ids = node_ids | {root}
    top_nodes = [replace(node, parent=None) for node in document.nodes if node.id in top_ids]
    inner_nodes = [node for node in document.nodes if node.id in included - node_ids]
    edges = [edge for edge in document.edges if edge.source in included and edge.target in included]
    targets = {edge.target for edge in edges}
    if root is not None:
        first_ids = [node.id for node in top_nodes if node.id not in {*targets, root}]
        edges += [EdgeSpec(f"{root}-alone-{node_id}", root, node_id) for node_id in first_ids]
    return replace(document, nodes=(*top_nodes, *inner_nodes), edges=tuple(edges))


def _keep_nodes(document: Document, node_ids: Collection[str]) -> Document:
    nodes = tuple(node for node in document.nodes if node.id in node_ids)
    edges = tuple(e for e in document.edges if e.source in node_ids and e.target in node_ids)
    return replace(document, nodes=nodes, edges=edges)

"""Running a part of a workflow, and stopping on the way: for people who look for a mistake.

A part is a document of its own, cut out before it is compiled: the loop knows nothing of it. What ran
before comes in as history, exactly as after a crash; ``fitting`` leaves out of it what no longer
follows from the drawing. A ``Brake`` holds nodes back; a run all of whose ready nodes are held pauses.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, EdgeSpec, Json, NodeSpec, Selector
from workflows.engine.language.plan import Plan
from workflows.engine.language.templating import references
from workflows.engine.runtime.scheduler import Scheduler
from workflows.engine.runtime.step_records import StepKey, StepRecord, StepStatus


# A title is for people; code and Jinja get their variables through fields of their own.
_NOT_READ: Final = frozenset({"title", "desc", "code", "template", "sub_graph"})


class Extent(StrEnum):
    """Which part of a workflow runs."""

    ALL = "all"
    ONLY = "only"  # these nodes, everything they read is given
    UNTIL = "until"  # these nodes and all that leads to them
    FROM = "from"  # these nodes and all that follows; what came before is kept


@dataclass(frozen=True, slots=True)
class Part:
    extent: Extent = Extent.ALL
    nodes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the document runs as it is; ``FROM`` differs in its history only."""
        return self.extent in (Extent.ALL, Extent.FROM)


def cut(document: Document, part: Part, root: str | None = None) -> Document:
    """The document of a part. ``root`` is where runs begin, which a node alone needs too."""
    if part.extent is Extent.UNTIL:
        kept = ancestors(document, part.nodes) | set(part.nodes)
        return _kept(document, with_insides(document, kept))
    if part.extent is Extent.ONLY:
        return _alone(document, part.nodes, root)
    return document


def root_of(document: Document, kinds: Mapping[str, AnyKind]) -> str | None:
    """Where runs begin; the first of several."""
    return next(
        (
            node.id
            for node in document.nodes
            if node.parent is None
            and node.kind in kinds
            and kinds[node.kind].execution is Execution.ROOT
        ),
        None,
    )


def reads_of(document: Document, node: str, kinds: Mapping[str, AnyKind]) -> list[Selector]:
    """Every variable a node looks at from outside itself; of a container, what its inside looks at."""
    inside = with_insides(document, {node})
    found: dict[Selector, None] = {}
    for spec in document.nodes:
        if spec.id in inside:
            found |= dict.fromkeys(_reads(spec, kinds))
    return [selector for selector in found if selector[0] not in inside - {node}]


def without_cut_off(plan: Plan, document: Document) -> Plan:
    """A plan of a part that knows of the rest: a reference to what was cut off prints nothing."""
    beyond = {node.id for node in document.nodes} - plan.by_id.keys()
    return replace(plan, unreached=plan.unreached | beyond)


def ancestors(document: Document, nodes: Iterable[str]) -> set[str]:
    """Everything some way from which leads to one of the nodes."""
    return _closure(_sources(document), nodes)


def descendants(document: Document, nodes: Iterable[str]) -> set[str]:
    """Everything some way from one of the nodes leads to."""
    ways: dict[str, list[str]] = {}
    for edge in document.edges:
        ways.setdefault(edge.source, []).append(edge.target)
    return _closure(ways, nodes)


def outermost(document: Document, node: str) -> str:
    """The node itself, or the container at the top that it is somewhere inside of."""
    parents = {spec.id: spec.parent for spec in document.nodes}
    seen = {node}
    while (above := parents.get(node)) is not None and above not in seen:
        seen.add(above)
        node = above
    return node


def kept_before(
    document: Document, history: Sequence[StepRecord], again: Iterable[str]
) -> list[StepRecord]:
    """Of a former run's steps those that a run from ``again`` on has no reason to repeat."""
    starts = [outermost(document, node) for node in again]
    anew = descendants(document, starts) | set(starts)
    return [
        record
        for record in history
        if is_done(record) and outermost(document, record.key.node_id) not in anew
    ]


def is_done(record: StepRecord) -> bool:
    return record.status in (StepStatus.SUCCEEDED, StepStatus.EXCEPTION)


def fitting(plan: Plan, history: Sequence[StepRecord]) -> list[StepRecord]:
    """The steps a run could have taken by now, in an order in which it could have taken them.

    The drawing may have changed since: a new node on the way has no result yet, so what comes behind
    it runs again, and what no edge leads to any more is left out.
    """
    waiting = {r.key.node_id: r for r in history if not r.key.rounds and is_done(r)}
    scheduler = Scheduler(plan)
    ready, found = deque([plan.root]), []
    while ready:
        node = plan.nodes[ready.popleft()]
        record = waiting.get(node.id)
        if record is None:
            continue
        found.append(record)
        ready.extend(scheduler.finish(node.index, record.handle)[0])
    tops = {record.key.node_id for record in found}
    rounds = [one for one in history if one.key.rounds and _belongs(plan, one, tops)]
    return [*found, *rounds]


def seeds(plan: Plan, history: Sequence[StepRecord]) -> list[StepRecord]:
    """Steps of nodes that were cut off: their outputs are there to be read, and nothing else."""
    return [
        record
        for record in history
        if record.key.node_id not in plan.by_id and not record.key.rounds and is_done(record)
    ]


def given_step(node: str, kind: str, outputs: Mapping[str, Json]) -> StepRecord:
    """A step that never ran: its outputs were typed in."""
    return StepRecord(StepKey(node), kind, StepStatus.SUCCEEDED, outputs=outputs)


def _reads(spec: NodeSpec, kinds: Mapping[str, AnyKind]) -> Iterator[Selector]:
    todo: list[Json] = [value for key, value in spec.data.items() if key not in _NOT_READ]
    while todo:
        value = todo.pop(0)
        if isinstance(value, str):
            yield from references(value)
        elif isinstance(value, Mapping):
            todo.extend(value.values())
        elif isinstance(value, list | tuple):
            todo.extend(value)
    kind = kinds.get(spec.kind)
    if kind is not None and not kind.check(spec):
        yield from (tuple(selector) for selector in kind.reads(spec) if len(selector) > 1)


def _alone(document: Document, nodes: Sequence[str], root: str | None) -> Document:
    """The nodes behind the root; what they read comes from seeds."""
    wanted = set(nodes)
    inside = with_insides(document, wanted)
    tops = [replace(n, parent=None) for n in document.nodes if n.id in wanted or n.id == root]
    rest = [node for node in document.nodes if node.id in inside - wanted]
    edges = [edge for edge in document.edges if edge.source in inside and edge.target in inside]
    behind = {edge.target for edge in edges}
    first = [node.id for node in tops if node.id not in behind and node.id != root]
    edges += [EdgeSpec(f"{root}-alone-{one}", root, one) for one in first if root is not None]
    return replace(document, nodes=(*tops, *rest), edges=tuple(edges))


def _kept(document: Document, kept: Collection[str]) -> Document:
    nodes = tuple(node for node in document.nodes if node.id in kept)
    edges = tuple(e for e in document.edges if e.source in kept and e.target in kept)
    return replace(document, nodes=nodes, edges=edges)


def with_insides(document: Document, nodes: Collection[str]) -> set[str]:
    """Containers come with all they hold."""
    found = set(nodes)
    inside: dict[str, list[NodeSpec]] = {}
    for node in document.nodes:
        if node.parent is not None:
            inside.setdefault(node.parent, []).append(node)
    todo = list(found)
    while todo:
        for child in inside.get(todo.pop(), ()):
            if child.id not in found:
                found.add(child.id)
                todo.append(child.id)
    return found


def _sources(document: Document) -> dict[str, list[str]]:
    ways: dict[str, list[str]] = {}
    for edge in document.edges:
        ways.setdefault(edge.target, []).append(edge.source)
    return ways


def _closure(ways: Mapping[str, Sequence[str]], nodes: Iterable[str]) -> set[str]:
    found: set[str] = set()
    todo = list(nodes)
    while todo:
        for other in ways.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def _belongs(plan: Plan, record: StepRecord, tops: Collection[str]) -> bool:
    """A step of a round belongs to the container at the top, which was kept or runs again."""
    return outermost(plan.document, record.key.node_id) in tops

"""Finds the nodes before a new node, and the values of theirs that it can read."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.records import EdgeRecord, Item, build_node
from workflows.engine.editing.store import Store
from workflows.engine.initial_values import FoundValue
from workflows.engine.kinds import AnyKind, Execution, Output
from workflows.engine.language.document import NodeSpec, Selector
from workflows.engine.language.failure_policy import ERROR_OUTPUTS, FAIL_HANDLE
from workflows.engine.language.templating import REFERENCE, format_reference
from workflows.engine.language.values import ValueType, parse_type


MAX_NODES: Final = 24  # each costs queries, and what is farther away is rarely meant
FILE_TYPES: Final = frozenset({str(ValueType.FILE), str(ValueType.ARRAY_FILE)})
_TEXTS: Final = frozenset({str(ValueType.STRING), str(ValueType.ANY)})


@dataclass(frozen=True, slots=True)
class NodeBefore:
    """A node before the new one. ``handle`` is where the way to the new node begins; "" means that it is inside."""

    spec: NodeSpec
    kind: AnyKind
    handle: str

    @property
    def is_around(self) -> bool:
        return not self.handle

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Return the outputs that the new node can read; a node with incomplete settings may have none."""
        try:
            if self.is_around:
                return self.kind.list_inner_outputs(self.spec)
            return self.kind.list_outputs(self.spec)
        except ValueError:  # settings that its configuration refuses
            return ()

    def find_text(self) -> Selector | None:
        """Return the text that the node makes: on the branch for failures its error, inside of it the current item."""
        if self.is_around:
            names = (each.name for each in self.outputs if each.type in _TEXTS)
            return self._select(next(names, ""))
        if self.handle == FAIL_HANDLE:
            return self._select(ERROR_OUTPUTS[0])
        try:
            return self._select(self.kind.find_text_output(self.spec))
        except ValueError:
            return None

    def find_context(self) -> Selector | None:
        return None if self.handle == FAIL_HANDLE else self._select(self.kind.context_output)

    def find_value(self, types: Collection[str]) -> FoundValue | None:
        """Return the first output of one of these types. Files are taken where nothing else is accepted only."""
        accepted = (
            frozenset(types) if FILE_TYPES.issuperset(types) else frozenset(types) - FILE_TYPES
        )
        for output in self.outputs:
            type_ = str(parse_type(output.type) or "")
            if type_ in accepted and (selector := self._select(output.name)):
                return FoundValue(selector, type_)
        return None

    def _select(self, name: str) -> Selector | None:
        selector = (self.spec.id, name)
        fits = bool(name) and REFERENCE.fullmatch(format_reference(selector)) is not None
        return selector if fits else None


def iter_nodes_before(
    store: Store, item: Item, ops: Sequence[Op], context: Context
) -> Iterator[NodeBefore]:
    """Yield the nodes before an item that the operations add, nearest first. They may be new themselves."""
    return islice(_walk_back(store, item, ops, context), MAX_NODES)


def _walk_back(
    store: Store, item: Item, ops: Sequence[Op], context: Context
) -> Iterator[NodeBefore]:
    added = {op.item.id: op.item for op in ops if isinstance(op, Add)}
    connected = [op.edge for op in ops if isinstance(op, Connect)]
    pending, visited = deque([item]), {item.id}
    while pending:
        current = pending.popleft()
        edges = connected if current.id in added else store.list_node_edges(current.id)
        for source_id, handle in _iter_sources(current, edges):
            source = added.get(source_id) or store.get_item(source_id)
            if source is None or source_id in visited:
                continue
            visited.add(source_id)
            pending.append(source)
            kind = context.kinds.get(source.kind)
            if kind is not None and kind.execution is not Execution.ENTRY:
                yield NodeBefore(build_node(source), kind, handle)


def _iter_sources(item: Item, edges: Iterable[EdgeRecord]) -> Iterable[tuple[str, str]]:
    """Return the nodes directly before an item with their handles, or the container of an item that nothing precedes."""
    sources = [(edge.source, edge.handle) for edge in edges if edge.target == item.id]
    return sources or ([(item.parent, "")] if item.parent else [])

"""Gives a node that was added by itself, and is connected afterwards, the data of a node that is added there at once."""

from collections.abc import Iterator

from workflows.engine.editing.context import Context
from workflows.engine.editing.expand import PlainOps
from workflows.engine.editing.new_nodes.initial_data import build_initial_data
from workflows.engine.editing.new_nodes.nodes_before import NodeBefore, iter_nodes_before
from workflows.engine.editing.ops import Connect, Op, Set
from workflows.engine.editing.store import Store
from workflows.engine.kinds import Execution


def connect_with_data(
    store: Store, op: Connect, plain_ops: PlainOps, context: Context
) -> Iterator[Op]:
    """Yield the operations that connect, then those that set what the target begins with behind its first node.

    A node in which somebody has written anything stays as it is, and so does one that has read other nodes.
    """
    target = store.get_item(op.edge.target)
    if target is None or any(map(_is_node, iter_nodes_before(store, target, (), context))):
        yield from plain_ops
        return
    old = build_initial_data(store, target, context)
    yield from plain_ops
    new = build_initial_data(store, target, context)
    if all(target.data.get(name) == old.get(name) for name in {*old, *new}):
        for name, value in new.items():
            if value != old.get(name):
                yield Set(target.id, (name,), value)


def _is_node(before: NodeBefore) -> bool:
    """Return whether this is a node of the workflow's middle: neither its start nor the container around the target."""
    return not before.is_around and before.kind.execution is not Execution.ROOT

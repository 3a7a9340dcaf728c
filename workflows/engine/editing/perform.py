"""Performs one gesture: expands, applies and checks its operations as a whole."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from workflows.engine.editing import guards
from workflows.engine.editing.apply import AppliedOp, apply
from workflows.engine.editing.context import Context
from workflows.engine.editing.errors import EditRefused
from workflows.engine.editing.expand import expand
from workflows.engine.editing.layout.container_growth import grow_containers
from workflows.engine.editing.new_nodes.connected_data import connect_with_data
from workflows.engine.editing.new_nodes.initial_data import add_initial_data
from workflows.engine.editing.ops import Add, Connect, Delete, Disconnect, Op, Reparent
from workflows.engine.editing.records import EdgeRecord
from workflows.engine.editing.store import Store


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of a gesture. ``origins`` has, for each plain operation, the index of the requested one."""

    ops: tuple[Op, ...]
    inverse: tuple[Op, ...]
    origins: tuple[int, ...]


def perform(
    store: Store, requested: Sequence[Op], context: Context, *, grows: bool = False
) -> EditResult:
    """Perform the requested operations. Raises EditRefused; the store is then inconsistent and must be discarded.

    With ``grows`` containers grow around their new content, as part of the last requested operation.
    """
    moved_ids = frozenset(op.id for op in requested if isinstance(op, Reparent))
    added_ids = frozenset(op.item.id for op in requested if isinstance(op, Add))
    pairs: list[AppliedOp] = []
    origins: list[int] = []
    for index, op in enumerate(add_initial_data(store, requested, context)):
        try:
            # Lazily, so that each plain operation is applied before the next is expanded.
            plain_ops = expand(store, op, context, moved_ids)
            # What is added in the same gesture has its data already.
            if isinstance(op, Connect) and op.edge.target not in added_ids:
                plain_ops = connect_with_data(store, op, plain_ops, context)
            pairs.extend(apply(store, plain_op) for plain_op in plain_ops)
        except EditRefused as refusal:
            raise _add_index(refusal, index) from None
        origins += [index] * (len(pairs) - len(origins))
    if grows:
        gesture = [op for op, _inverse in pairs]
        pairs.extend(apply(store, op) for op in grow_containers(store, gesture, context))
        origins += [len(requested) - 1] * (len(pairs) - len(origins))
    applied = tuple(op for op, _inverse in pairs)
    check_ops(store, applied, bridges=_list_bridges(requested, applied, origins))
    return EditResult(applied, tuple(inverse for _op, inverse in reversed(pairs)), tuple(origins))


def check_ops(store: Store, ops: Sequence[Op], *, bridges: Container[str] = ()) -> None:
    """Check the rules for the applied operations of a finished gesture. Raises EditRefused."""
    edges: dict[str, EdgeRecord] = {}
    moved: list[str] = []
    for op in ops:
        if isinstance(op, Connect):
            edges[op.edge.id] = op.edge
        elif isinstance(op, Disconnect):
            edges.pop(op.id, None)
        elif isinstance(op, Reparent):
            moved.append(op.id)
    guards.check_gesture(store, edges, moved, bridges)
    if any(isinstance(op, Add | Connect) for op in ops):
        guards.check_size(store)


def _list_bridges(
    requested: Sequence[Op], applied: Sequence[Op], origins: Sequence[int]
) -> frozenset[str]:
    """Return the ids of the edges that replace a deleted node; following its paths, they close no new cycle."""
    return frozenset(
        op.edge.id
        for op, origin in zip(applied, origins, strict=True)
        if isinstance(op, Connect) and isinstance(requested[origin], Delete)
    )


def _add_index(refusal: EditRefused, index: int) -> EditRefused:
    """Return the refusal with the index of the operation in front of each field."""
    path = f"ops.{index}"
    return EditRefused(
        tuple(
            replace(problem, field=f"{path}.{problem.field}" if problem.field else path)
            for problem in refusal.problems
        )
    )

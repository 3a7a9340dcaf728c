"""One gesture: everything asked for, expanded, done and checked as a whole."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from workflows.engine.editing import guards
from workflows.engine.editing.apply import apply
from workflows.engine.editing.context import Context
from workflows.engine.editing.errors import EditRefused
from workflows.engine.editing.expand import expand
from workflows.engine.editing.initial_text import with_initial_data
from workflows.engine.editing.layout.container_growth import grown
from workflows.engine.editing.ops import (
    Add,
    Connect,
    Delete,
    Disconnect,
    Op,
    Reparent,
)
from workflows.engine.editing.records import Wire
from workflows.engine.editing.store import Store
from workflows.engine.language.problems import Problem


@dataclass(frozen=True, slots=True)
class Performed:
    """``origins``: for each plain operation, the index of what it was asked for by."""

    ops: tuple[Op, ...]
    inverse: tuple[Op, ...]
    origins: tuple[int, ...]


def perform(
    store: Store, asked: Sequence[Op], context: Context, *, grows: bool = False
) -> Performed:
    """Do what is asked. Raises EditRefused; the store is then half-way and must be thrown away.

    ``grows``: containers grow around what came into them, as part of the last operation asked for.
    """
    together = frozenset(op.id for op in asked if isinstance(op, Reparent))
    done: list[Op] = []
    inverse: list[Op] = []
    origins: list[int] = []
    for index, op in enumerate(with_initial_data(store, asked, context)):
        try:
            for plain in expand(store, op, context, together):
                made, back = apply(store, plain)
                done.append(made)
                inverse.append(back)
                origins.append(index)
        except EditRefused as refused:
            raise _addressed(refused, index) from None
    for plain in grown(store, tuple(done), context) if grows else ():
        made, back = apply(store, plain)
        done.append(made)
        inverse.append(back)
        origins.append(len(asked) - 1)
    check(store, done, bridges=_bridges(asked, done, origins))
    return Performed(tuple(done), tuple(reversed(inverse)), tuple(origins))


def check(store: Store, done: Sequence[Op], *, bridges: Container[str] = ()) -> None:
    """What only the finished gesture can be asked."""
    wires: dict[str, Wire] = {}
    moved: list[str] = []
    for op in done:
        if isinstance(op, Connect):
            wires[op.wire.id] = op.wire
        elif isinstance(op, Disconnect):
            wires.pop(op.id, None)
        elif isinstance(op, Reparent):
            moved.append(op.id)
    guards.check_whole(store, wires, moved, bridges)
    if any(isinstance(op, Add | Connect) for op in done):
        guards.check_size(store)


def _bridges(asked: Sequence[Op], done: Sequence[Op], origins: Sequence[int]) -> frozenset[str]:
    """Wires that heal over a deleted node: they lead where the way through it led, so close no new circle."""
    return frozenset(
        op.wire.id
        for op, origin in zip(done, origins, strict=True)
        if isinstance(op, Connect) and isinstance(asked[origin], Delete)
    )


def _addressed(refused: EditRefused, index: int) -> EditRefused:
    """With the index of the operation in front of the field."""
    return EditRefused(
        tuple(
            Problem(
                problem.code,
                problem.message,
                problem.node,
                f"ops.{index}.{problem.field}" if problem.field else f"ops.{index}",
                problem.edge,
            )
            for problem in refused.problems
        )
    )

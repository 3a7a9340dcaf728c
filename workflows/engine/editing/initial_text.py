"""Fills the initial data of a new node when the gesture that adds it also puts it behind one that makes a text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.store import Store
from workflows.engine.language.document import Selector
from workflows.engine.language.templating import REFERENCE


PLAIN: Final = "source"  # nobody answers with the text of a model that failed


def add_initial_data(store: Store, ops: Sequence[Op], context: Context) -> Sequence[Op]:
    """Return the operations with the initial data of the nodes they add; existing data stays."""
    return [
        _fill_initial_data(store, op, ops, context) if isinstance(op, Add) else op for op in ops
    ]


def _fill_initial_data(store: Store, op: Add, ops: Sequence[Op], context: Context) -> Add:
    kind = context.kinds.get(op.item.kind)
    text = next(_iter_preceding_texts(store, op.item.id, ops, context), None)
    data = kind.build_initial_data(text) if kind and text else {}
    if not data or not op.item.data.keys().isdisjoint(data):
        return op
    return replace(op, item=replace(op.item, data={**data, **op.item.data}))


def _iter_preceding_texts(
    store: Store, id_: str, ops: Sequence[Op], context: Context
) -> Iterator[Selector]:
    for op in ops:
        if isinstance(op, Connect) and op.wire.target == id_ and op.wire.handle == PLAIN:
            source = store.get_item(op.wire.source)
            kind = context.kinds.get(source.kind) if source else None
            for name in sorted(kind.streams) if kind else ():
                selector = (op.wire.source, name)
                if REFERENCE.fullmatch(f"{{{{#{'.'.join(selector)}#}}}}"):
                    yield selector

"""Fills new nodes with data that fits their place: the person's message, and the outputs of the node before them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.store import Store
from workflows.engine.initial_values import Surroundings, collect_initial_data, find_message
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Mode, Selector
from workflows.engine.language.templating import REFERENCE, format_reference


PLAIN_HANDLE: Final = "source"  # the handle behind which the text of a model is available


def add_initial_data(store: Store, ops: Sequence[Op], context: Context) -> Sequence[Op]:
    """Return the operations, with initial data for each added node."""
    return [
        _fill_initial_data(store, op, ops, context) if isinstance(op, Add) else op for op in ops
    ]


def _fill_initial_data(store: Store, op: Add, ops: Sequence[Op], context: Context) -> Add:
    kind = context.kinds.get(op.item.kind)
    # Data with a type is that of a whole node, which comes back as it was.
    if kind is None or op.item.is_note or "type" in op.item.data:
        return op
    surroundings = _find_surroundings(store, op.item.id, ops, context)
    data = kind.build_surrounding_data(surroundings)
    # Data that the client has chosen is not mixed with other data of the same purpose.
    given = op.item.data
    data = data if given.keys().isdisjoint(data) else {}
    data = {**collect_initial_data(kind.fields, surroundings.message), **data, **given}
    return replace(op, item=replace(op.item, data=data)) if data != given else op


def _find_surroundings(store: Store, id_: str, ops: Sequence[Op], context: Context) -> Surroundings:
    sources = [*_iter_sources(store, id_, ops, context)]
    texts = ((source_id, name) for source_id, kind in sources for name in sorted(kind.streams))
    contexts = (
        (source_id, kind.context_output) for source_id, kind in sources if kind.context_output
    )
    return Surroundings(
        message=_find_message(store),
        text=next(filter(_can_be_referenced, texts), None),
        context=next(filter(_can_be_referenced, contexts), None),
        has_memory=any(kind.needs_memory for kind in context.kinds.values()),
        translate=context.translate,
    )


def _iter_sources(
    store: Store, id_: str, ops: Sequence[Op], context: Context
) -> Iterator[tuple[str, AnyKind]]:
    """Yield the nodes behind which the operations add this node, with their kinds. They may be new themselves."""
    added = {op.item.id: op.item for op in ops if isinstance(op, Add)}
    for op in ops:
        if isinstance(op, Connect) and op.edge.target == id_ and op.edge.handle == PLAIN_HANDLE:
            source = added.get(op.edge.source) or store.get_item(op.edge.source)
            kind = context.kinds.get(source.kind) if source else None
            if kind is not None:
                yield op.edge.source, kind


def _can_be_referenced(selector: Selector) -> bool:
    return REFERENCE.fullmatch(format_reference(selector)) is not None


def _find_message(store: Store) -> Selector | None:
    starts = [root for root in store.list_roots() if root.kind == "start"]
    mode = Mode(store.get_header("mode"))
    return find_message(mode, [(start.id, start.data) for start in starts])

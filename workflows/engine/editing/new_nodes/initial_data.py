"""Fills new nodes with data that fits their place: the person's message, and the outputs of the nodes before them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.new_nodes.nodes_before import (
    FILE_TYPES,
    NodeBefore,
    iter_nodes_before,
)
from workflows.engine.editing.ops import Add, Op
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store
from workflows.engine.initial_values import (
    FoundValue,
    Surroundings,
    collect_found_values,
    collect_initial_data,
    find_message,
)
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json, Mode, Selector
from workflows.engine.language.values import ValueType


CHAT_FILES: Final = FoundValue(("sys", "files"), str(ValueType.ARRAY_FILE))


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
    given = op.item.data
    data = {**_build_data(store, op.item, ops, kind, context, given), **given}
    return replace(op, item=replace(op.item, data=data)) if data != given else op


def build_initial_data(store: Store, item: Item, context: Context) -> Mapping[str, Json]:
    """Return the data with which the node would begin if it were added where it is, behind what is connected with it."""
    kind = context.kinds.get(item.kind)
    return {} if kind is None else _build_data(store, item, (), kind, context)


def _build_data(
    store: Store,
    item: Item,
    ops: Sequence[Op],
    kind: AnyKind,
    context: Context,
    given: Collection[str] = (),
) -> Mapping[str, Json]:
    surroundings = _find_surroundings(store, item, ops, context)
    data = kind.build_surrounding_data(surroundings)
    # Data that the client has chosen is not mixed with other data of the same purpose.
    data = data if data.keys().isdisjoint(given) else {}
    return {
        **collect_initial_data(kind.fields, surroundings.message),
        **collect_found_values(kind.fields, surroundings.find_value),
        **data,
    }


def _find_surroundings(
    store: Store, item: Item, ops: Sequence[Op], context: Context
) -> Surroundings:
    def walk() -> Iterator[NodeBefore]:
        return iter_nodes_before(store, item, ops, context)

    # What was found in memory is for the next model, and not for those behind it.
    for_this_model = takewhile(lambda before: not before.kind.streams, walk())
    return Surroundings(
        message=_find_message(store, walk() if item.parent else ()),
        text=next(filter(None, (before.find_text() for before in walk())), None),
        context=next(filter(None, (before.find_context() for before in for_this_model)), None),
        has_memory=any(kind.needs_memory for kind in context.kinds.values()),
        translate=context.translate,
        find_value=lambda types: _find_value(store, walk(), types),
    )


def _find_message(store: Store, before: Iterable[NodeBefore]) -> Selector | None:
    """Return the person's message, or inside of a container the text that its rounds are about."""
    for each in before:
        if each.is_around and (text := each.find_text()):
            return text
    starts = [root for root in store.list_roots() if root.kind == "start"]
    return find_message(_get_mode(store), [(start.id, start.data) for start in starts])


def _find_value(
    store: Store, before: Iterable[NodeBefore], types: Collection[str]
) -> FoundValue | None:
    found = next(filter(None, (each.find_value(types) for each in before)), None)
    takes_files_only = FILE_TYPES.issuperset(types)
    if found is None and takes_files_only and _get_mode(store) is Mode.CHAT:
        return CHAT_FILES
    return found


def _get_mode(store: Store) -> Mode:
    return Mode(store.get_header("mode"))

"""Gives a container that has no output yet the text of a node that is added inside of it."""

from collections.abc import Iterator

from workflows.engine.configuration import Widget
from workflows.engine.editing.context import Context
from workflows.engine.editing.new_nodes.nodes_before import NodeBefore
from workflows.engine.editing.ops import Op, Set
from workflows.engine.editing.records import Item, build_node
from workflows.engine.editing.store import Store
from workflows.engine.language.document import Json


def set_round_output(store: Store, container: Item, item: Item, context: Context) -> Iterator[Op]:
    """Yield the operation that makes the text of the item the output of each round, unless there is an output."""
    container_kind, kind = context.kinds.get(container.kind), context.kinds.get(item.kind)
    if container_kind is None or kind is None:
        return
    fields = (each for each in container_kind.fields if each.widget is Widget.INNER_SELECTOR)
    field = next(fields, None)
    text = NodeBefore(build_node(item), kind, "source").find_text()
    if field is not None and text and not _is_used(store, container.data.get(field.name)):
        yield Set(container.id, (field.name,), [*text])


def _is_used(store: Store, selector: Json) -> bool:
    """Return whether the selector names a node that is there."""
    has_node = isinstance(selector, list | tuple) and len(selector) > 1
    return has_node and store.get_item(str(selector[0])) is not None

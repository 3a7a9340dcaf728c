"""What a new node says to begin with when the gesture that adds it also puts it behind one that makes a text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from workflows.engine.document import Json, Selector
from workflows.engine.editing.context import Context
from workflows.engine.editing.ops import Add, Connect, Op
from workflows.engine.editing.store import Store
from workflows.engine.templating import REFERENCE


PLAIN: Final = "source"  # nobody answers with the text of a model that failed

Data = dict[str, Json]


def _spoken(text: Selector) -> Data:
    return {"answer": f"{{{{#{'.'.join(text)}#}}}}"}


def _given_back(text: Selector) -> Data:
    return {"outputs": [{"variable": text[-1], "value_selector": list(text)}]}


def _written(text: Selector) -> Data:
    variables = [{"variable": text[-1], "value_selector": list(text)}]
    return {"variables": variables, "template": f"{{{{ {text[-1]} }}}}"}


BEGINNINGS: Final[Mapping[str, Callable[[Selector], Data]]] = {
    "answer": _spoken,
    "end": _given_back,
    "template-transform": _written,
}


def begun(store: Store, asked: Sequence[Op], context: Context) -> Sequence[Op]:
    """The same operations; what somebody wrote is never filled in."""
    if not any(isinstance(op, Add) and op.item.kind in BEGINNINGS for op in asked):
        return asked
    return [_begun(store, op, asked, context) if isinstance(op, Add) else op for op in asked]


def _begun(store: Store, op: Add, asked: Sequence[Op], context: Context) -> Add:
    make = BEGINNINGS.get(op.item.kind)
    text = next(_texts_before(store, op.item.id, asked, context), None) if make else None
    data = make(text) if make and text else {}
    if not data or not op.item.data.keys().isdisjoint(data):
        return op
    return replace(op, item=replace(op.item, data={**data, **op.item.data}))


def _texts_before(
    store: Store, id_: str, asked: Sequence[Op], context: Context
) -> Iterator[Selector]:
    for op in asked:
        if isinstance(op, Connect) and op.wire.target == id_ and op.wire.handle == PLAIN:
            source = store.item(op.wire.source)
            kind = context.kinds.get(source.kind) if source else None
            for name in sorted(kind.streams) if kind else ():
                selector = (op.wire.source, name)
                if REFERENCE.fullmatch(f"{{{{#{'.'.join(selector)}#}}}}"):
                    yield selector

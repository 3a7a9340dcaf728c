"""A variable of the document, put in, changed, taken away, or renamed with all that refers to it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.diff import changes
from workflows.engine.editing.errors import refuse
from workflows.engine.editing.ops import Op, Set, Variable
from workflows.engine.editing.paths import same
from workflows.engine.editing.records import Named
from workflows.engine.editing.references import renamed
from workflows.engine.editing.store import Store
from workflows.engine.language.values import parse_type


NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,29}")
# Area → the head of its selectors.
HEADS: Final = {"environment": "env", "conversation": "conversation"}


def variable(store: Store, op: Variable, context: Context) -> Iterator[Op]:
    former = store.named(op.area, op.name)
    if op.rename is not None and op.rename != op.name:
        yield from _renamed(store, op, former)
    elif op.spec is None:
        if former is None:
            raise refuse("variable_unknown", f"Variable {op.name} doesn't exist", field=op.name)
        yield Variable(op.area, op.name, None)
    else:
        spec = op.spec if former is None else _kept(op.spec, former)
        if former is None:
            _check_name(op.name)
        _check_type(spec)
        if former is None or not _is_same(former, spec):
            yield Variable(op.area, op.name, spec)


def _renamed(store: Store, op: Variable, former: Named | None) -> Iterator[Op]:
    name = op.rename or ""
    if former is None:
        raise refuse("variable_unknown", f"Variable {op.name} doesn't exist", field=op.name)
    _check_name(name)
    if store.named(op.area, name) is not None:
        raise refuse("variable_taken", f"Variable {name} already exists", field=name)
    spec = former if op.spec is None else _kept(op.spec, former)
    _check_type(spec)
    yield Variable(op.area, op.name, None)
    yield Variable(op.area, name, replace(spec, name=name, rank=former.rank))
    head = HEADS[op.area]
    old, new = (head, op.name), (head, name)
    for item in store.mentioning(op.name):
        for path, value, how in changes(item.data, renamed(item.data, {old: new})):
            yield Set(item.id, path, value, how)


def _kept(spec: Named, former: Named) -> Named:
    """What the client doesn't know of stays; so does a secret, whose value never came to it."""
    return replace(
        spec,
        id=spec.id or former.id,
        extra=spec.extra or former.extra,
        rank=former.rank,
    )


def _is_same(former: Named, spec: Named) -> bool:
    if spec.is_secret and spec.value not in (None, ""):
        return False
    ours = former.value_type, former.description, former.extra
    theirs = spec.value_type, spec.description, spec.extra
    return ours == theirs and (spec.is_secret or same(former.value, spec.value))


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        message = "A variable name has up to 30 letters, digits and _ and starts with a letter"
        raise refuse("variable_name", message, field=name)


def _check_type(spec: Named) -> None:
    if parse_type(spec.value_type) is None:
        message = f"{spec.name} can't be of type {spec.value_type}"
        raise refuse("variable_type", message, field=spec.name)

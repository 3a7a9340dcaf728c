"""Adds, changes or removes a variable of the document, or renames it with all references to it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.diff import iter_changes
from workflows.engine.editing.errors import build_refusal, build_unknown_variable
from workflows.engine.editing.ops import Op, Set, Variable
from workflows.engine.editing.paths import is_same
from workflows.engine.editing.records import VariableRecord
from workflows.engine.editing.references import rename_references
from workflows.engine.editing.store import Store
from workflows.engine.language.values import parse_type


NAME_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,29}")
# Area → the first part of its selectors.
VARIABLE_SCOPES: Final = {"environment": "env", "conversation": "conversation"}


def expand_variable(store: Store, op: Variable, context: Context) -> Iterator[Op]:
    """Yield the change of the variable and, if it is renamed, of the nodes that refer to it."""
    previous = store.get_variable(op.area, op.name)
    if op.rename is not None and op.rename != op.name:
        yield from _rename_variable(store, op, op.rename, previous)
    elif op.spec is not None:
        spec = op.spec if previous is None else _keep_unsent_fields(op.spec, previous)
        if previous is None:
            _check_name(op.name)
        _check_type(spec)
        if previous is None or not _is_unchanged(previous, spec):
            yield Variable(op.area, op.name, spec)
    elif previous is None:
        raise build_unknown_variable(op.name)
    else:
        yield Variable(op.area, op.name, None)


def _rename_variable(
    store: Store, op: Variable, name: str, previous: VariableRecord | None
) -> Iterator[Op]:
    if previous is None:
        raise build_unknown_variable(op.name)
    _check_name(name)
    if store.get_variable(op.area, name) is not None:
        raise build_refusal("variable_taken", f"Variable {name} already exists", field=name)
    spec = previous if op.spec is None else _keep_unsent_fields(op.spec, previous)
    _check_type(spec)
    yield Variable(op.area, op.name, None)
    yield Variable(op.area, name, replace(spec, name=name, rank=previous.rank))
    scope = VARIABLE_SCOPES[op.area]
    old, new = (scope, op.name), (scope, name)
    for item in store.find_mentions(op.name):
        for path, value, rule in iter_changes(item.data, rename_references(item.data, {old: new})):
            yield Set(item.id, path, value, rule)


def _keep_unsent_fields(spec: VariableRecord, previous: VariableRecord) -> VariableRecord:
    """Return ``spec`` with the previous id and extra data where it has none, and with the previous rank."""
    id_, extra = spec.id or previous.id, spec.extra or previous.extra
    return replace(spec, id=id_, extra=extra, rank=previous.rank)


def _is_unchanged(previous: VariableRecord, spec: VariableRecord) -> bool:
    if spec.is_secret and spec.value not in (None, ""):
        return False
    previous_fields = previous.value_type, previous.description, previous.extra
    new_fields = spec.value_type, spec.description, spec.extra
    return previous_fields == new_fields and (spec.is_secret or is_same(previous.value, spec.value))


def _check_name(name: str) -> None:
    if not NAME_PATTERN.fullmatch(name):
        message = "A variable name has up to 30 letters, digits and _ and starts with a letter"
        raise build_refusal("variable_name", message, field=name)


def _check_type(spec: VariableRecord) -> None:
    if parse_type(spec.value_type) is None:
        message = f"{spec.name} can't be of type {spec.value_type}"
        raise build_refusal("variable_type", message, field=spec.name)

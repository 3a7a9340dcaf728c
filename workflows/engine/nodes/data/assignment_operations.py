"""The operations of an assigner: one table from operation to rule and function.

Everything here is pure: it takes a current value and an operand and returns a new value; lists aren't changed in
place. The wording of the errors follows Dify's, so that users can search the web for them.
"""

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import OperationInvalid
from workflows.engine.language.document import Json
from workflows.engine.language.values import ELEMENTS, NUMBERS, ValueType, build_zero_value, matches


VARIABLE: Final = "variable"
CONSTANT: Final = "constant"

_SCALARS = frozenset({ValueType.STRING, ValueType.BOOLEAN, ValueType.OBJECT, *NUMBERS})
_ARRAYS = frozenset(ELEMENTS)
_ALL_TYPES = frozenset(ValueType)
_ANY_SOURCE = frozenset({VARIABLE, CONSTANT})
_ONLY_VARIABLE = frozenset({VARIABLE})
_ONLY_CONSTANT = frozenset({CONSTANT})

Apply = Callable[[Json, Json, ValueType], Json]  # of the current value, the operand and the type


@dataclass(frozen=True, slots=True)
class Operation:
    targets: frozenset[ValueType]
    sources: frozenset[str]  # where the operand may come from
    apply: Apply
    has_operand: bool = True


def apply_operation(name: str, current: Json, operand: Json, kind: ValueType, source: str) -> Json:
    """Return the variable's new value. Raises OperationInvalid if variable, operation and operand don't match."""
    operation = find_operation(name)
    if kind not in operation.targets:
        raise OperationInvalid(f"Operation {name} is not supported for type {kind}")
    check_source(name, source, kind)
    return operation.apply(current, operand, kind)


def find_operation(name: str) -> Operation:
    """Return the operation of that name or alias. Raises OperationInvalid if there is none."""
    operation = OPERATIONS.get(ALIASES.get(name, name))
    if operation is None:
        raise OperationInvalid(f"Unknown operation {name!r}")
    return operation


def check_source(name: str, source: str, kind: ValueType) -> None:
    """Raise OperationInvalid unless the operand may come from this source; Dify checks this without an operand, too."""
    allows_constant = kind in _SCALARS if name == "over-write" else kind not in _ARRAYS
    if source not in find_operation(name).sources or (source == CONSTANT and not allows_constant):
        raise OperationInvalid(f"Input type {source} is not supported for operation {name}")


def _replace(_current: Json, operand: Json, kind: ValueType) -> Json:
    return _check_type(operand, kind)


def _set(_current: Json, operand: Json, kind: ValueType) -> Json:
    if kind is ValueType.OBJECT and isinstance(operand, str):
        try:
            operand = json.loads(operand)
        except (ValueError, RecursionError):
            raise OperationInvalid(f"Invalid input value {operand}") from None
    return _check_type(operand, kind)


def _clear(_current: Json, _operand: Json, kind: ValueType) -> Json:
    return build_zero_value(kind)


def _append(current: Json, operand: Json, kind: ValueType) -> Json:
    return [*(current or ()), _check_type(operand, ELEMENTS[kind])]


def _extend(current: Json, operand: Json, kind: ValueType) -> Json:
    return [*(current or ()), *_check_type(operand, kind)]


def _remove_first(current: Json, _operand: Json, _kind: ValueType) -> Json:
    return list(current or ())[1:]


def _remove_last(current: Json, _operand: Json, _kind: ValueType) -> Json:
    return list(current or ())[:-1]


def _build_arithmetic(calculate: Callable[[Json, Json], Json]) -> Apply:
    def apply(current: Json, operand: Json, kind: ValueType) -> Json:
        number = _check_type(operand, ValueType.NUMBER)
        try:
            return calculate(current or 0, number)
        except (ZeroDivisionError, OverflowError):
            raise OperationInvalid(f"Invalid input value {operand}") from None

    return apply


def _check_type(operand: Json, kind: ValueType) -> Json:
    if not matches(operand, kind):
        raise OperationInvalid(f"Invalid input value {operand}")
    return operand


OPERATIONS: Final[Mapping[str, Operation]] = {
    "over-write": Operation(_ALL_TYPES, _ANY_SOURCE, _replace),
    "set": Operation(_SCALARS, _ONLY_CONSTANT, _set),
    "clear": Operation(_ALL_TYPES, _ANY_SOURCE, _clear, has_operand=False),
    "append": Operation(_ARRAYS, _ONLY_VARIABLE, _append),
    "extend": Operation(_ARRAYS, _ONLY_VARIABLE, _extend),
    "remove-first": Operation(_ARRAYS, _ANY_SOURCE, _remove_first, has_operand=False),
    "remove-last": Operation(_ARRAYS, _ANY_SOURCE, _remove_last, has_operand=False),
    "+=": Operation(NUMBERS, _ONLY_CONSTANT, _build_arithmetic(operator.add)),
    "-=": Operation(NUMBERS, _ONLY_CONSTANT, _build_arithmetic(operator.sub)),
    "*=": Operation(NUMBERS, _ONLY_CONSTANT, _build_arithmetic(operator.mul)),
    "/=": Operation(NUMBERS, _ONLY_CONSTANT, _build_arithmetic(operator.truediv)),
}

# xworkflow's spelling of an operation.
ALIASES: Final[Mapping[str, str]] = {"overwrite": "over-write"}

"""Checks the result of a code node: exactly the declared outputs, of their types, within bounds.

The check returns new values: booleans where numbers are declared become integers, NUL characters are removed, and
tuples don't exist (the value came as JSON). Any other value that doesn't fit raises OutputInvalid, which names it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.language.document import Json
from workflows.engine.language.values import ELEMENTS, ValueType, describe_type


MAX_CHARACTERS: Final = 400_000
MAX_NUMBER: Final = 2**63 - 1
MAX_DECIMALS: Final = 20
MAX_DEPTH: Final = 5
MAX_ITEMS: Final[Mapping[ValueType, int]] = {
    ValueType.STRING: 30,
    ValueType.OBJECT: 30,
    ValueType.NUMBER: 1000,
    ValueType.BOOLEAN: 1000,
    ValueType.ANY: 1000,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """An output as its node declares it. Without ``children`` an object may hold anything."""

    type: ValueType
    children: "Mapping[str, Declaration] | None" = None


class OutputInvalid(NodeFailed):
    """The code's result doesn't match its declaration."""

    def __init__(self, message: str, error_type: str = "OutputValidationError") -> None:
        super().__init__(error_type, message)


def check_outputs(
    result: Json, declared: Mapping[str, Declaration], *, keep_undeclared: bool = False
) -> dict[str, Json]:
    """Return the checked outputs. Undeclared outputs raise OutputInvalid, or are kept with ``keep_undeclared``."""
    if not isinstance(result, Mapping):
        message = "The code must return an object with its outputs, but it returned"
        raise OutputInvalid(f"{message} {describe_type(result)}")
    return _check_members(result, declared, "", 1, keep_undeclared=keep_undeclared)


def _check_members(
    result: Mapping[str, Json],
    declared: Mapping[str, Declaration],
    path: str,
    depth: int,
    *,
    keep_undeclared: bool,
) -> dict[str, Json]:
    _check_depth(depth)
    prefix = f"{path}." if path else ""
    outputs: dict[str, Json] = {}
    for name, declaration in declared.items():
        if name not in result:
            raise OutputInvalid(f"Output {prefix}{name} is missing.")
        outputs[name] = _check_value(result[name], declaration, f"{prefix}{name}", depth)
    undeclared = [name for name in result if name not in declared]
    if undeclared and not keep_undeclared:
        names = ", ".join(f"{prefix}{name}" for name in undeclared[:5])
        raise OutputInvalid(f"Not all output parameters are validated: {names} isn't declared.")
    for name in undeclared:
        outputs[name] = _check_undeclared(result[name], f"{prefix}{name}", depth)
    return outputs


def _check_value(value: Json, declaration: Declaration, path: str, depth: int) -> Json:
    if value is None:
        return None
    if declaration.type.is_array:
        return _check_array(value, declaration, path, depth)
    if declaration.type is ValueType.OBJECT:
        return _check_object(value, declaration.children, path, depth)
    return _SCALARS.get(declaration.type, _check_scalar)(value, path)


def _check_array(value: Json, declaration: Declaration, path: str, depth: int) -> list[Json]:
    if not isinstance(value, list):
        raise _build_type_error("an array", value, path)
    element = ELEMENTS[declaration.type]
    max_items = MAX_ITEMS.get(element, MAX_ITEMS[ValueType.ANY])
    if len(value) > max_items:
        raise OutputInvalid(
            f"The length of output variable {path} must be at most {max_items} items."
        )
    inner = Declaration(element, declaration.children)
    return [
        _check_value(item, inner, f"{path}[{index}]", depth) for index, item in enumerate(value)
    ]


def _check_object(
    value: Json, children: Mapping[str, Declaration] | None, path: str, depth: int
) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        raise _build_type_error("an object", value, path)
    if children:
        return _check_members(value, children, path, depth + 1, keep_undeclared=False)
    _check_depth(depth + 1)
    return {
        _remove_nul(str(name)): _check_undeclared(item, f"{path}.{name}", depth + 1)
        for name, item in value.items()
    }


def _check_undeclared(value: Json, path: str, depth: int) -> Json:
    """Return an undeclared value, which may be any JSON within the bounds."""
    if isinstance(value, Mapping):
        return _check_object(value, None, path, depth)
    if isinstance(value, list):
        _check_depth(depth)
        return [
            _check_undeclared(item, f"{path}[{i}]", depth + isinstance(item, list))
            for i, item in enumerate(value)
        ]
    return _check_scalar(value, path)


def _check_text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise _build_type_error("a string", value, path)
    if len(value) > MAX_CHARACTERS:
        raise OutputInvalid(
            f"The length of output variable {path} must be at most {MAX_CHARACTERS} characters."
        )
    return _remove_nul(value)


def _check_number(value: Json, path: str) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float):
        raise _build_type_error("a number", value, path)
    if not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise OutputInvalid(
            f"Output variable {path} is out of range, "
            f"it must be between {-MAX_NUMBER} and {MAX_NUMBER}."
        )
    if isinstance(value, float) and _count_decimals(value) > MAX_DECIMALS:
        raise OutputInvalid(
            f"Output variable {path} has too high precision, "
            f"it must have at most {MAX_DECIMALS} decimals."
        )
    return value


def _check_boolean(value: Json, path: str) -> bool:
    if not isinstance(value, bool):
        raise _build_type_error("a boolean", value, path)
    return value


def _check_scalar(value: Json, path: str) -> Json:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return _check_text(value, path)
    if isinstance(value, int | float):
        return _check_number(value, path)
    return _check_undeclared(value, path, 1)


def _build_type_error(expected: str, value: Json, path: str) -> OutputInvalid:
    return OutputInvalid(f"Output {path} is not {expected}, got {describe_type(value)} instead.")


def _count_decimals(value: float) -> int:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        message = f"Depth limit {MAX_DEPTH} reached, object too deep."
        raise OutputInvalid(message, error_type="DepthLimitError")


def _remove_nul(text: str) -> str:
    return text.replace("\x00", "")


_SCALARS: Final[Mapping[ValueType, Callable[[Json, str], Json]]] = {
    ValueType.STRING: _check_text,
    ValueType.SECRET: _check_text,
    ValueType.NUMBER: _check_number,
    ValueType.INTEGER: _check_number,
    ValueType.FLOAT: _check_number,
    ValueType.BOOLEAN: _check_boolean,
}

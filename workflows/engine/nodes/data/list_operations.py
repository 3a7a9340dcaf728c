"""The operations on a list: filter its items, pick an item, sort the items, and parse the limit of their number."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workflows.engine.errors import ConditionInvalid, NodeFailed, ValueMismatch
from workflows.engine.language.comparisons import compare, convert_expected, normalize_operator
from workflows.engine.language.document import Json
from workflows.engine.language.values import (
    FILE_ATTRIBUTES,
    get_file_attribute,
    is_file,
    is_number,
    parse_number,
)
from workflows.engine.nodes.control.conditions import add_dot


_UNARY_OPERATORS: Final = frozenset({"empty", "not empty"})
_TEXT_OPERATORS: Final = frozenset(
    {"contains", "not contains", "start with", "end with", "is", "is not", "in", "not in"}
)
_NUMBER_OPERATORS: Final = frozenset({"=", "≠", "<", ">", "≤", "≥"})
_BOOLEAN_OPERATORS: Final = frozenset({"is", "is not"})
_OPERATORS_BY_TYPE: Final[Sequence[tuple[Callable[[Json], bool], frozenset[str]]]] = (
    (lambda value: isinstance(value, bool), _BOOLEAN_OPERATORS),
    (is_number, _NUMBER_OPERATORS),
    (lambda value: isinstance(value, str), _TEXT_OPERATORS),
)


def build_error(message: str) -> NodeFailed:
    return NodeFailed("InvalidListOperationError", message)


def check_items(value: Json) -> list[Json]:
    """Return the items of a list of strings, numbers, booleans or files. Raises NodeFailed for any other value."""
    if not isinstance(value, list | tuple):
        raise build_error("The variable is not a list")
    items = list(value)
    for is_type in (*(is_type for is_type, _ in _OPERATORS_BY_TYPE), is_file):
        if all(map(is_type, items)):
            return items
    raise build_error("Only lists of strings, numbers, booleans or files are supported")


def filter_items(
    items: Sequence[Json], attribute: str, operator: str, expected: Json
) -> list[Json]:
    """Return the items that match a condition. Files are compared by ``attribute``, other items as a whole."""
    known_operator = normalize_operator(operator)
    if known_operator is None:
        raise build_error(f"Unknown comparison operator {operator!r}")
    try:
        return [
            item
            for item in items
            if _matches(_get_compared_value(item, attribute), known_operator, expected, attribute)
        ]
    except (ConditionInvalid, ValueMismatch) as error:
        raise build_error(error.message) from None


def pick_item(items: Sequence[Json], serial: str) -> list[Json]:
    """Return a list with the item of this number, counted from 1. Raises NodeFailed if there is none."""
    try:
        number = int(serial.strip())
    except ValueError:
        raise build_error(f"{serial[:40]!r} is not an item number") from None
    if not 1 <= number <= len(items):
        raise build_error(f"There is no item {number}: the list has {len(items)}")
    return [items[number - 1]]


def sort_items(items: Sequence[Json], attribute: str, *, descending: bool) -> list[Json]:
    """Sort the items. Equal items keep their order, and items without a value come last."""

    def get_sort_key(item: Json) -> tuple[bool, Any]:
        value = _get_compared_value(item, attribute)
        return (value is None) is not descending, "" if value is None else value

    try:
        return sorted(items, key=get_sort_key, reverse=descending)
    except TypeError:
        raise build_error(f"The items can't be sorted by {attribute or 'their value'}") from None


def parse_size(size: Json) -> int:
    if isinstance(size, str):
        try:
            size = parse_number(size)
        except ValueMismatch as error:
            raise build_error(error.message) from None
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise build_error("The limit must be a whole number, zero or greater")
    return size


def build_outputs(items: Sequence[Json]) -> Mapping[str, Json]:
    return {
        "result": list(items),
        "first_record": items[0] if items else None,
        "last_record": items[-1] if items else None,
    }


def _get_compared_value(item: Json, attribute: str) -> Json:
    if not is_file(item):
        return item
    if attribute not in FILE_ATTRIBUTES:
        raise build_error(
            f"A file has no property {attribute!r}; use one of: {', '.join(FILE_ATTRIBUTES)}"
        )
    value = get_file_attribute(item, attribute)
    return add_dot(value) if attribute == "extension" else value


def _matches(actual: Json, operator: str, expected: Json, attribute: str) -> bool:
    if operator in _UNARY_OPERATORS:
        return compare(operator, actual, None)
    for is_type, operators in _OPERATORS_BY_TYPE:
        if is_type(actual):
            if operator not in operators:
                raise ConditionInvalid(f"{operator} is not supported for this list")
            break
    if isinstance(actual, str):
        return _matches_text(actual, operator, expected, attribute)
    return compare(operator, actual, convert_expected(actual, expected))


def _matches_text(actual: str, operator: str, expected: Json, attribute: str) -> bool:
    if attribute == "extension":
        expected = add_dot(expected)
    if operator in ("in", "not in") and isinstance(expected, str):
        return (actual in expected) is (operator == "in")
    return compare(operator, actual, expected)

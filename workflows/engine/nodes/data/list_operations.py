"""What may be done to a list: pick the items that fit, one of them, order, the first few."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workflows.engine.comparisons import canonical_operator, compare, expected_for
from workflows.engine.document import Json
from workflows.engine.errors import ConditionInvalid, NodeFailed, ValueMismatch
from workflows.engine.values import FILE_ATTRIBUTES, file_attribute, is_file, parse_number


ERROR: Final = "InvalidListOperationError"
_ANY: Final = frozenset({"empty", "not empty"})
_TEXT: Final = frozenset(
    {"contains", "not contains", "start with", "end with", "is", "is not", "in", "not in"}
)
_NUMBER: Final = frozenset({"=", "≠", "<", ">", "≤", "≥"})
_BOOLEAN: Final = frozenset({"is", "is not"})


def failed(message: str) -> NodeFailed:
    return NodeFailed(ERROR, message)


def checked_items(value: Json) -> list[Json]:
    """The items of a list whose kind can be worked on: texts, numbers, booleans or files."""
    if not isinstance(value, list | tuple):
        raise failed("The variable isn't a list")
    items = list(value)
    if not items or _is_of(items, str) or _is_of(items, bool) or _are_numbers(items):
        return items
    if all(map(is_file, items)):
        return items
    raise failed("Only lists of texts, numbers, booleans or files can be worked on")


def keeps(items: Sequence[Json], key: str, operator: str, expected: Json) -> list[Json]:
    """The items that fit one condition."""
    known = canonical_operator(operator)
    if known is None:
        raise failed(f"Unknown comparison operator {operator!r}")
    try:
        return [item for item in items if _fits(_looked_at(item, key), known, expected, key)]
    except (ConditionInvalid, ValueMismatch) as wrong:
        raise failed(wrong.message) from None


def nth(items: Sequence[Json], serial: str) -> list[Json]:
    try:
        number = int(serial.strip())
    except ValueError:
        raise failed(f"{serial[:40]!r} isn't the number of an item") from None
    if not 1 <= number <= len(items):
        raise failed(f"There is no item {number}: the list has {len(items)}")
    return [items[number - 1]]


def ordered(items: Sequence[Json], key: str, *, descending: bool) -> list[Json]:
    """Items that compare as equal stay in their order; what has no value comes last."""

    def place(item: Json) -> tuple[bool, Any]:
        value = _looked_at(item, key)
        return (value is None) is not descending, "" if value is None else value

    try:
        return sorted(items, key=place, reverse=descending)
    except TypeError:
        raise failed(f"The items can't be ordered by {key or 'their value'}") from None


def _looked_at(item: Json, key: str) -> Json:
    if not is_file(item):
        return item
    if key not in FILE_ATTRIBUTES:
        raise failed(f"A file has no {key!r}; it has {', '.join(FILE_ATTRIBUTES)}")
    value = file_attribute(item, key)
    return _dotted(value) if key == "extension" else value


def _fits(actual: Json, operator: str, expected: Json, key: str) -> bool:
    if operator in _ANY:
        return compare(operator, actual, None)
    for is_kind, operators in _KINDS:
        if is_kind(actual):
            if operator not in operators:
                raise ConditionInvalid(f"{operator} can't be asked of this list")
            break
    if isinstance(actual, str):
        return _text_fits(actual, operator, expected, key)
    return compare(operator, actual, expected_for(actual, expected))


def _text_fits(actual: str, operator: str, expected: Json, key: str) -> bool:
    if key == "extension":
        expected = (
            [_dotted(item) for item in expected]
            if isinstance(expected, list | tuple)
            else _dotted(expected)
        )
    if operator in ("in", "not in") and isinstance(expected, str):
        return (actual in expected) is (operator == "in")
    return compare(operator, actual, expected)


def _dotted(value: Json) -> Json:
    return f".{value}" if isinstance(value, str) and value and not value.startswith(".") else value


def _is_of(items: Sequence[Json], kind: type) -> bool:
    return all(isinstance(item, kind) for item in items)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(items: Sequence[Json]) -> bool:
    return all(map(_is_number, items))


_KINDS: Final[Sequence[tuple[Callable[[Json], bool], frozenset[str]]]] = (
    (lambda value: isinstance(value, bool), _BOOLEAN),
    (_is_number, _NUMBER),
    (lambda value: isinstance(value, str), _TEXT),
)


def size_of(written: Json) -> int:
    if isinstance(written, str):
        try:
            written = parse_number(written)
        except ValueMismatch as wrong:
            raise failed(wrong.message) from None
    if not isinstance(written, int) or isinstance(written, bool) or written < 0:
        raise failed("The number of items to keep must be a whole number, zero or more")
    return written


def first_and_last(items: Sequence[Json]) -> Mapping[str, Json]:
    return {
        "result": list(items),
        "first_record": items[0] if items else None,
        "last_record": items[-1] if items else None,
    }

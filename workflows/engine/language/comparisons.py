"""Compares a value with an expected one: the operators and their table.

The wording of the errors follows Dify's, so that users can search the web for them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.errors import ConditionInvalid, ValueMismatch
from workflows.engine.language.document import Json
from workflows.engine.language.values import parse_number
from workflows.engine.texts import Phrase, Text, gettext_noop


Predicate = Callable[[Json, Json], bool]


def compare(operator: str, actual: Json, expected: Json) -> bool:
    """Return whether a comparison holds, by an operator's canonical name and a converted expected value."""
    return OPERATORS[operator](actual, expected)


def normalize_operator(name: str) -> str | None:
    """Return the canonical name of an operator such as ``greater_than`` or ``>=``, or None if it is unknown."""
    operator = " ".join(name.strip().lower().replace("_", " ").split())
    return operator if operator in OPERATORS else ALIASES.get(operator)


def get_operator_label(name: str) -> Text:
    """Return the label of an operator in any spelling. Symbols such as > are their own label."""
    operator = normalize_operator(name) or name.replace("_", " ")
    label = OPERATOR_LABELS.get(operator)
    return Phrase(label) if label else operator


def is_unary(name: str) -> bool:
    return normalize_operator(name) in UNARY


def convert_expected(actual: Json, expected: Json) -> Json:
    """Return the expected value, converted to booleans if the actual value is boolean or a list of booleans."""
    if not _is_boolean_value(actual):
        return expected
    if isinstance(expected, list | tuple):
        return [_as_boolean(item) for item in expected]
    return None if expected is None else _as_boolean(expected)


def _is_containing(actual: Json, expected: Json) -> bool:
    if not actual:
        return False
    if isinstance(actual, str):
        return (expected if isinstance(expected, str) else str(expected)) in actual
    if isinstance(actual, list | tuple):
        return expected in actual
    raise ConditionInvalid("Invalid actual value type: string or array")


def _starts_with(actual: Json, expected: Json) -> bool:
    return bool(actual) and _require_text(actual).startswith(_require_expected_text(expected))


def _ends_with(actual: Json, expected: Json) -> bool:
    return bool(actual) and _require_text(actual).endswith(_require_expected_text(expected))


def _is(actual: Json, expected: Json) -> bool:
    return actual is not None and _require_text_or_boolean(actual) == expected


def _is_not(actual: Json, expected: Json) -> bool:
    return actual is not None and _require_text_or_boolean(actual) != expected


def _is_in(actual: Json, expected: Json) -> bool:
    return bool(actual) and actual in _require_expected_list(expected)


def _is_not_in(actual: Json, expected: Json) -> bool:
    return not actual or actual not in _require_expected_list(expected)


def _has_all(actual: Json, expected: Json) -> bool:
    items = _require_expected_list(expected)
    if not actual:
        return False
    if isinstance(actual, str):
        return all(isinstance(item, str) and item in actual for item in items)
    return isinstance(actual, list | tuple) and all(item in actual for item in items)


def _is_equal(actual: Json, expected: Json) -> bool:
    return actual is not None and actual == _as_same_number(actual, expected)


def _is_different(actual: Json, expected: Json) -> bool:
    return actual is not None and actual != _as_same_number(actual, expected)


def _build_number_predicate(holds: Callable[[float, float], bool]) -> Predicate:
    def predicate(actual: Json, expected: Json) -> bool:
        if actual is None:
            return False
        if not isinstance(actual, int | float):
            raise ConditionInvalid("Invalid actual value type: number")
        return holds(actual, _require_expected_number(expected))

    return predicate


def _require_text(actual: Json) -> str:
    if not isinstance(actual, str):
        raise ConditionInvalid("Invalid actual value type: string")
    return actual


def _require_text_or_boolean(actual: Json) -> str | bool:
    if not isinstance(actual, str | bool):
        raise ConditionInvalid("Invalid actual value type: string or boolean")
    return actual


def _require_expected_text(expected: Json) -> str:
    if not isinstance(expected, str):
        raise ConditionInvalid("Expected value must be a string")
    return expected


def _require_expected_list(expected: Json) -> list[Json]:
    if not isinstance(expected, list | tuple):
        raise ConditionInvalid("Invalid expected value type: array")
    return list(expected)


def _require_expected_number(expected: Json) -> int | float:
    if isinstance(expected, int | float):
        return expected
    if isinstance(expected, str):
        try:
            return parse_number(expected)
        except ValueMismatch as mismatch:
            raise ConditionInvalid(f"Cannot compare with a number: {mismatch}") from None
    raise ConditionInvalid("Cannot compare with a number: nothing is given")


def _as_same_number(actual: Json, expected: Json) -> Json:
    """Return the expected value as a number or boolean, whichever the actual value is. Raises ConditionInvalid."""
    if isinstance(actual, bool):
        return bool(expected)
    if not isinstance(actual, int | float):
        raise ConditionInvalid("Invalid actual value type: number or boolean")
    number = _require_expected_number(expected)
    if isinstance(actual, int) and isinstance(expected, str) and isinstance(number, float):
        # Dify casts to the type of the value, and "22.5" isn't an integer: that is an error, not False.
        raise ConditionInvalid(f"Cannot compare an integer with {expected!r}")
    return number


def _is_boolean_value(actual: Json) -> bool:
    if isinstance(actual, list | tuple):
        return bool(actual) and all(isinstance(item, bool) for item in actual)
    return isinstance(actual, bool)


def _as_boolean(expected: Json) -> bool:
    if isinstance(expected, int):
        return bool(expected)
    if isinstance(expected, str):
        try:
            parsed = json.loads(expected.strip().lower())
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, int):
            return bool(parsed)
    raise ConditionInvalid(f"Cannot compare a boolean with {expected!r}")


def _negate(predicate: Predicate) -> Predicate:
    return lambda actual, expected: not predicate(actual, expected)


def _is_empty(actual: Json, expected: Json) -> bool:
    return not actual


def _is_null(actual: Json, expected: Json) -> bool:
    return actual is None


OPERATORS: Final[Mapping[str, Predicate]] = {
    "contains": _is_containing,
    "not contains": _negate(_is_containing),
    "start with": _starts_with,
    "end with": _ends_with,
    "is": _is,
    "is not": _is_not,
    "empty": _is_empty,
    "not empty": _negate(_is_empty),
    "in": _is_in,
    "not in": _is_not_in,
    "all of": _has_all,
    "=": _is_equal,
    "≠": _is_different,
    ">": _build_number_predicate(lambda actual, expected: actual > expected),
    "<": _build_number_predicate(lambda actual, expected: actual < expected),
    "≥": _build_number_predicate(lambda actual, expected: actual >= expected),
    "≤": _build_number_predicate(lambda actual, expected: actual <= expected),
    "null": _is_null,
    "not null": _negate(_is_null),
    "exists": _negate(_is_null),
    "not exists": _is_null,
}

# Operators without an expected value.
UNARY: Final = frozenset({"empty", "not empty", "null", "not null", "exists", "not exists"})

OPERATOR_LABELS: Final[Mapping[str, str]] = {
    "contains": gettext_noop("contains"),
    "not contains": gettext_noop("doesn't contain"),
    "start with": gettext_noop("starts with"),
    "end with": gettext_noop("ends with"),
    "is": gettext_noop("is"),
    "is not": gettext_noop("is not"),
    "empty": gettext_noop("is empty"),
    "not empty": gettext_noop("is not empty"),
    "in": gettext_noop("is one of"),
    "not in": gettext_noop("is none of"),
    "all of": gettext_noop("has all of"),
    "null": gettext_noop("is null"),
    "not null": gettext_noop("is not null"),
    "exists": gettext_noop("exists"),
    "not exists": gettext_noop("doesn't exist"),
}

# The names in xworkflow documents (with spaces for underscores), and ASCII spellings.
ALIASES: Final[Mapping[str, str]] = {
    "equal": "=",
    "equals": "=",
    "==": "=",
    "not equal": "≠",
    "not equals": "≠",
    "!=": "≠",
    "<>": "≠",
    "greater than": ">",
    "less than": "<",
    "greater than or equal": "≥",
    "greater or equal": "≥",
    ">=": "≥",
    "less than or equal": "≤",
    "less or equal": "≤",
    "<=": "≤",
    "starts with": "start with",
    "ends with": "end with",
    "is null": "null",
    "is not null": "not null",
    "is empty": "empty",
    "is not empty": "not empty",
}

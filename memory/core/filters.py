"""Metadata filters, parsed once into a small tree that can be evaluated or compiled.

``matches`` defines the semantics. A property test verifies that the compiler to SQL agrees with it. A filter reads the
entry's metadata, and its category, tier and prompt_use where the metadata has no such key. A missing key passes only
``$ne`` and ``{"$exists": false}``. ``$gt``, ``$gte``, ``$lt`` and ``$lte`` compare two numbers or two strings; no other
pair of values passes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry
from memory.core.values import check_json


MAX_CONDITIONS = 100
MAX_NESTING = 16
_ORDER_OPERATORS = frozenset({"$gt", "$gte", "$lt", "$lte"})

Path = tuple[str, ...]
Comparison = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$exists"]


@dataclass(frozen=True, slots=True)
class Condition:
    path: Path
    operator: Comparison
    operand: Json


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"


Filter = Condition | And | Or | Not


def parse_filter(raw: Mapping[str, Json] | None) -> Filter:
    """Return the parsed filter; raise InvalidInput if it is invalid. Every entry passes the filter None."""
    if raw is None:
        return And(())
    if not isinstance(raw, Mapping):
        raise InvalidInput("filter: must be an object.")
    check_json(raw, "filter")
    parsed = _parse_mapping(raw, 0)
    if _count_conditions(parsed) > MAX_CONDITIONS:
        raise InvalidInput(f"filter: at most {MAX_CONDITIONS} conditions.")
    return parsed


def build_filter_document(entry: MemoryEntry) -> dict[str, Json]:
    """Return the JSON that filters read: the entry's metadata, with its category, tier and prompt_use as defaults."""
    defaults = {"category": entry.category, "tier": str(entry.tier)}
    return {**defaults, "prompt_use": str(entry.prompt_use), **entry.metadata}


def matches(filter_: Filter, document: Mapping[str, Json]) -> bool:
    """Return whether an entry's document passes the filter; see ``build_filter_document``."""
    match filter_:
        case And(parts):
            return all(matches(part, document) for part in parts)
        case Or(parts):
            return any(matches(part, document) for part in parts)
        case Not(part):
            return not matches(part, document)
        case Condition(path, operator, operand):
            return _COMPARISONS[operator](_lookup(document, path), operand)


def is_same_json(first: Json, second: Json) -> bool:
    """Return whether two JSON values are equal: ``true`` is not 1, and 1 is 1.0."""
    if isinstance(first, bool) or isinstance(second, bool) or first is None or second is None:
        return first is second
    if _is_number(first) and _is_number(second):
        return _to_decimal(first) == _to_decimal(second)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(is_same_json, first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            is_same_json(first[name], second[name]) for name in first
        )
    return isinstance(first, str) and isinstance(second, str) and first == second


class _Missing:
    pass


_MISSING = _Missing()


def _lookup(document: Mapping[str, Json], path: Path) -> Any:  # Json or _MISSING
    value: Any = document
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _to_decimal(number: float) -> Decimal:
    """Return the number as PostgreSQL reads it: the decimal digits, not the nearest binary fraction."""
    return Decimal(repr(number))


def _build_comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(value: Any, operand: Any) -> bool:
        if isinstance(value, str) and isinstance(operand, str):
            return compare(value, operand)
        if _is_number(value) and _is_number(operand):
            return compare(_to_decimal(value), _to_decimal(operand))
        return False

    return test


def _is_equal(value: Any, operand: Json) -> bool:
    return value is not _MISSING and is_same_json(value, operand)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _is_equal,
    "$ne": lambda value, operand: not _is_equal(value, operand),
    "$gt": _build_comparison(lambda a, b: a > b),
    "$gte": _build_comparison(lambda a, b: a >= b),
    "$lt": _build_comparison(lambda a, b: a < b),
    "$lte": _build_comparison(lambda a, b: a <= b),
    "$in": lambda value, operand: any(_is_equal(value, member) for member in operand),
    "$exists": lambda value, operand: (value is not _MISSING) == operand,
}


def _parse_mapping(raw: Mapping[str, Json], depth: int) -> Filter:
    if depth > MAX_NESTING:
        raise InvalidInput(f"filter: nested more than {MAX_NESTING} deep.")
    parts = tuple(_parse_member(name, value, depth) for name, value in raw.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _parse_member(name: str, value: Json, depth: int) -> Filter:
    if name in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise InvalidInput(f"filter: {name} needs a list of filters.")
        parts = tuple(_parse_mapping(_require_object(name, part), depth + 1) for part in value)
        return And(parts) if name == "$and" else Or(parts)
    if name == "$not":
        return Not(_parse_mapping(_require_object(name, value), depth + 1))
    if name.startswith("$"):
        raise InvalidInput(f"filter: unknown operator {name}.")
    return _parse_field(name, value)


def _require_object(name: str, value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"filter: {name} needs a filter object.")
    return value


def _parse_field(name: str, value: Json) -> Filter:
    path = tuple(name.split("."))
    if not all(path):
        raise InvalidInput(f"filter: {name!r} is not a key.")
    if not isinstance(value, Mapping) or not any(key.startswith("$") for key in value):
        return Condition(path, "$eq", value)
    parts = tuple(_parse_condition(path, operator, operand) for operator, operand in value.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _parse_condition(path: Path, operator: str, operand: Json) -> Filter:
    if operator == "$not":
        return Not(_parse_field(".".join(path), _require_object("$not", operand)))
    if operator not in _COMPARISONS:
        raise InvalidInput(f"filter: unknown operator {operator}.")
    if operator == "$in" and not isinstance(operand, list | tuple):
        raise InvalidInput("filter: $in needs a list.")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidInput("filter: $exists needs true or false.")
    if operator in _ORDER_OPERATORS and not (isinstance(operand, str) or _is_number(operand)):
        raise InvalidInput(f"filter: {operator} needs a number or a text.")
    comparison: Any = operator  # checked above; mypy can't narrow a str to a Literal
    return Condition(path, comparison, operand)


def _count_conditions(filter_: Filter) -> int:
    match filter_:
        case And(parts) | Or(parts):
            return sum(map(_count_conditions, parts))
        case Not(part):
            return _count_conditions(part)
        case _:
            return 1

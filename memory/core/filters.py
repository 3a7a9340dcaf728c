"""Metadata filters: parsed once into a small tree, which anyone can evaluate or compile.

``matches`` is the meaning; the compiler to SQL must agree with it, and a property test says so.
What a filter sees is the entry's metadata, with the entry's own category and tier where the
metadata has no such key. A missing key equals nothing, is greater than nothing, and is ``$ne``
to everything. Comparisons are between two numbers or two texts; anything else is no match.
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

Path = tuple[str, ...]
Comparison = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$exists"]


@dataclass(frozen=True, slots=True)
class Condition:
    path: Path
    operator: Comparison
    operand: Json


@dataclass(frozen=True, slots=True)
class Every:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"


Filter = Condition | Every | Either | Not


def parse_filter(raw: Mapping[str, Json] | None) -> Filter:
    """An unknown operator is refused by name: silently matching nothing would look like amnesia."""
    if raw is None:
        return Every(())
    if not isinstance(raw, Mapping):
        raise InvalidInput("filter: must be an object.")
    check_json(raw, "filter")
    parsed = _mapping(raw, 0)
    if _count(parsed) > MAX_CONDITIONS:
        raise InvalidInput(f"filter: at most {MAX_CONDITIONS} conditions.")
    return parsed


def document_of(entry: MemoryEntry) -> dict[str, Json]:
    return {"category": entry.category, "tier": str(entry.tier), **entry.metadata}


def matches(filter_: Filter, document: Mapping[str, Json]) -> bool:
    match filter_:
        case Every(parts):
            return all(matches(part, document) for part in parts)
        case Either(parts):
            return any(matches(part, document) for part in parts)
        case Not(part):
            return not matches(part, document)
        case Condition(path, operator, operand):
            return _TESTS[operator](_lookup(document, path), operand)


def same_json(one: Json, other: Json) -> bool:
    """Equality as JSON has it: ``true`` is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if _is_number(one) and _is_number(other):
        return _exact(one) == _exact(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    return isinstance(one, str) and isinstance(other, str) and one == other


class _Missing:
    pass


_MISSING = _Missing()


def _lookup(document: Mapping[str, Json], path: Path) -> Any:  # Json or _MISSING
    found: Any = document
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exact(number: float) -> Decimal:
    """As Postgres reads it: the digits that were written, not the nearest binary fraction."""
    return Decimal(repr(number))


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(found: Any, operand: Any) -> bool:
        if isinstance(found, str) and isinstance(operand, str):
            return compare(found, operand)
        if _is_number(found) and _is_number(operand):
            return compare(_exact(found), _exact(operand))
        return False

    return test


def _equal(found: Any, operand: Json) -> bool:
    return found is not _MISSING and same_json(found, operand)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda found, operand: not _equal(found, operand),
    "$gt": _ordered(lambda a, b: a > b),
    "$gte": _ordered(lambda a, b: a >= b),
    "$lt": _ordered(lambda a, b: a < b),
    "$lte": _ordered(lambda a, b: a <= b),
    "$in": lambda found, operand: any(_equal(found, one) for one in operand),
    "$exists": lambda found, operand: (found is not _MISSING) == operand,
}


def _mapping(raw: Mapping[str, Json], depth: int) -> Filter:
    if depth > MAX_NESTING:
        raise InvalidInput(f"filter: nested more than {MAX_NESTING} deep.")
    parts = tuple(_member(name, value, depth) for name, value in raw.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _member(name: str, value: Json, depth: int) -> Filter:
    if name in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise InvalidInput(f"filter: {name} needs a list of filters.")
        parts = tuple(_mapping(_object(name, one), depth + 1) for one in value)
        return Every(parts) if name == "$and" else Either(parts)
    if name == "$not":
        return Not(_mapping(_object(name, value), depth + 1))
    if name.startswith("$"):
        raise InvalidInput(f"filter: unknown operator {name}.")
    return _field(name, value)


def _object(name: str, value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"filter: {name} needs a filter object.")
    return value


def _field(name: str, value: Json) -> Filter:
    path = tuple(name.split("."))
    if not all(path):
        raise InvalidInput(f"filter: {name!r} is not a key.")
    if not isinstance(value, Mapping) or not any(key.startswith("$") for key in value):
        return Condition(path, "$eq", value)
    parts = tuple(_condition(path, operator, operand) for operator, operand in value.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _condition(path: Path, operator: str, operand: Json) -> Filter:
    if operator == "$not":
        return Not(_field(".".join(path), _object("$not", operand)))
    if operator not in _TESTS:
        raise InvalidInput(f"filter: unknown operator {operator}.")
    if operator == "$in" and not isinstance(operand, list | tuple):
        raise InvalidInput("filter: $in needs a list.")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidInput("filter: $exists needs true or false.")
    if operator in _ORDERED and not (isinstance(operand, str) or _is_number(operand)):
        raise InvalidInput(f"filter: {operator} needs a number or a text.")
    known: Any = operator  # checked against _TESTS just above; mypy can't narrow a str to a Literal
    return Condition(path, known, operand)


_ORDERED = frozenset({"$gt", "$gte", "$lt", "$lte"})


def _count(filter_: Filter) -> int:
    match filter_:
        case Every(parts) | Either(parts):
            return sum(map(_count, parts))
        case Not(part):
            return _count(part)
        case _:
            return 1

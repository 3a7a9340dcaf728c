"""JSON Schema (Draft 7), the part people write for form objects and model answers.

Types, enum, const, properties, required, additionalProperties, items, sizes, bounds and the four
combinators. ``$ref``, ``pattern`` and ``format`` are passed over: the first could go round in
circles, the second is a regular expression somebody else wrote.
"""

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Final

from workflows.engine.language.document import Json


MAX_DEPTH: Final = 64
MAX_CHECKS: Final = 100_000  # combinators inside combinators multiply

Complaints = Iterator[str]


def schema_complaint(value: Json, schema: Json) -> str | None:
    """The first thing wrong with a value, with its place in it; None when it fits."""
    if isinstance(schema, Mapping):
        return _Check().first(value, schema, "")
    return None


class _Check:
    def __init__(self) -> None:
        self._left = MAX_CHECKS

    def first(self, value: Json, schema: Json, where: str) -> str | None:
        return next(self.all(value, schema, where), None)

    def all(self, value: Json, schema: Json, where: str) -> Complaints:
        self._left -= 1
        if self._left < 0 or where.count("/") > MAX_DEPTH:
            yield _at(where, "is too deep or too much to check")
        elif schema is False:
            yield _at(where, "is not allowed")
        elif isinstance(schema, Mapping):
            for keyword, rule in _RULES.items():
                if keyword in schema:
                    yield from rule(self, value, schema, where)


def _type(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    known = [_TYPES[name] for name in names if name in _TYPES]
    if known and not any(fits(value) for fits in known):
        yield _at(where, f"is not of type {' or '.join(map(str, names))}")


def _enum(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    allowed = [schema["const"]] if "const" in schema else schema["enum"]
    if isinstance(allowed, list) and not any(_same(value, item) for item in allowed):
        yield _at(where, f"is not one of {', '.join(map(repr, allowed))}")


def _required(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    if isinstance(value, Mapping) and isinstance(schema["required"], list):
        for name in schema["required"]:
            if name not in value:
                yield _at(where, f"has no {name}")


def _properties(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    parts = schema["properties"]
    if isinstance(value, Mapping) and isinstance(parts, Mapping):
        for name, part in parts.items():
            if name in value:
                yield from check.all(value[name], part, f"{where}/{name}")


def _additional(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    named = schema.get("properties") or {}
    if isinstance(value, Mapping):
        for name in value:
            if name not in named:
                yield from check.all(value[name], schema["additionalProperties"], f"{where}/{name}")


def _items(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    if isinstance(value, list) and not isinstance(schema["items"], list):
        for index, item in enumerate(value):
            yield from check.all(item, schema["items"], f"{where}/{index}")


def _bound(keyword: str, fits: Callable[[float, float], bool], words: str) -> "Rule":
    def rule(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
        bound = schema[keyword]
        if _is_number(value) and _is_number(bound) and not fits(value, bound):
            yield _at(where, f"is not {words} {bound}")

    return rule


def _size(keyword: str, kind: type[Sized], fits: Callable[[int, int], bool], words: str) -> "Rule":
    def rule(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
        bound = schema[keyword]
        if isinstance(value, kind) and _is_number(bound) and not fits(len(value), bound):
            yield _at(where, f"has not {words} {bound} parts")

    return rule


def _all_of(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    for part in _parts(schema, "allOf"):
        yield from check.all(value, part, where)


def _any_of(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    parts = _parts(schema, "anyOf")
    if parts and all(check.first(value, part, where) is not None for part in parts):
        yield _at(where, "fits none of the forms allowed")


def _one_of(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    parts = _parts(schema, "oneOf")
    fitting = sum(check.first(value, part, where) is None for part in parts)
    if parts and fitting != 1:
        yield _at(where, f"fits {fitting} of the forms allowed, not one")


def _not(check: _Check, value: Json, schema: Mapping[str, Json], where: str) -> Complaints:
    if check.first(value, schema["not"], where) is None:
        yield _at(where, "has the one form that is not allowed")


def _parts(schema: Mapping[str, Json], keyword: str) -> list[Json]:
    parts = schema[keyword]
    return parts if isinstance(parts, list) else []


def _at(where: str, words: str) -> str:
    return f"{where[1:].replace('/', '.') or 'it'} {words}"


def _same(left: Json, right: Json) -> bool:
    # True is 1 to Python, not to JSON.
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


Rule = Callable[[_Check, Json, Mapping[str, Json], str], Complaints]

_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
_RULES: Final[Mapping[str, Rule]] = {
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "minimum": _bound("minimum", lambda value, bound: value >= bound, "at least"),
    "maximum": _bound("maximum", lambda value, bound: value <= bound, "at most"),
    "exclusiveMinimum": _bound("exclusiveMinimum", lambda value, bound: value > bound, "above"),
    "exclusiveMaximum": _bound("exclusiveMaximum", lambda value, bound: value < bound, "below"),
    "minLength": _size("minLength", str, lambda size, bound: size >= bound, "at least"),
    "maxLength": _size("maxLength", str, lambda size, bound: size <= bound, "at most"),
    "minItems": _size("minItems", list, lambda size, bound: size >= bound, "at least"),
    "maxItems": _size("maxItems", list, lambda size, bound: size <= bound, "at most"),
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
}

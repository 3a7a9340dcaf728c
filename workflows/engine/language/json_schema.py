"""Checks values against JSON Schema (Draft 7), the part that is common for form objects and model answers.

It checks types, enum, const, properties, required, additionalProperties, items, sizes, bounds, patterns, references
within the schema and the four combinators, and ignores the rest. The libraries for this have no limit on the work that
a schema may cause: references and combinators multiply, and a pattern can take for ever. Here both are bounded.
A check of a pattern takes linear time, but as many steps for each character as the pattern has parts once its repetitions
are written out; meanwhile no other thread of the process goes on.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import lru_cache
from itertools import islice
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

from workflows.engine.language.document import Json
from workflows.engine.language.values import is_number


MAX_DEPTH: Final = 64
MAX_CHECKS: Final = 100_000  # combinators inside combinators multiply
MAX_PATTERN_STEPS: Final = 20_000_000  # a third of a second
_MAX_NESTING: Final = 128  # of schemas inside schemas, references included
_MAX_ERRORS: Final = 10
# What is written in a class between brackets, a count of repetitions, an escape, or one character.
_PATTERN_TOKENS: Final = re.compile(
    r"\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<count>\{\d{0,9}(?:,\d{0,9})?\})|\\[pP]\{[^}]*\}|\\.|.",
    re.DOTALL,
)
_CLASSES: Final = frozenset({r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\p", r"\P"})
_CLASS_SIZE: Final = 20

Schema = Mapping[str, Json]
Messages = Iterator[str]


def unwrap_schema(schema: Schema) -> Schema:
    """Return the schema itself, also of OpenAI's form ``{"name": …, "schema": …}``."""
    inner = schema.get("schema")
    return inner if "type" not in schema and isinstance(inner, Mapping) else schema


def find_schema_error(value: Json, schema: Json) -> str | None:
    """Return the first error in a value, with its path, or None if the value fits."""
    return next(iter(list_schema_errors(value, schema, limit=1)), None)


def list_schema_errors(value: Json, schema: Json, *, limit: int = _MAX_ERRORS) -> list[str]:
    """Return the first errors in a value, each with its path."""
    if isinstance(schema, Mapping):
        return list(islice(_Checker(schema).iter_errors(value, schema, ""), limit))
    return []


class _Checker:
    """Checks one value, until it has made ``MAX_CHECKS`` checks."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._remaining = MAX_CHECKS
        self._pattern_steps = MAX_PATTERN_STEPS
        self._nesting = 0

    def find_first_error(self, value: Json, schema: Json, path: str) -> str | None:
        return next(self.iter_errors(value, schema, path), None)

    def iter_errors(self, value: Json, schema: Json, path: str) -> Messages:
        """Yield every error in a value. After too many checks the last error says so."""
        self._remaining -= 1
        if self._remaining < 0 or path.count("/") > MAX_DEPTH or self._nesting > _MAX_NESTING:
            yield _format_message(path, "is too deep or too much to check")
        elif schema is False:
            yield _format_message(path, "is not allowed")
        elif isinstance(schema, Mapping):
            self._nesting += 1
            try:
                for keyword, rule in _RULES.items():
                    if keyword in schema:
                        yield from rule(self, value, schema, path)
            finally:
                self._nesting -= 1

    def has_time_for(self, pattern: str, value: str) -> bool:
        """Return whether a text may still be compared with a pattern."""
        self._pattern_steps -= (len(value) + 1) * measure_pattern(pattern)
        return self._pattern_steps >= 0

    def resolve(self, reference: Json) -> Json:
        """Return the part of the schema that a reference names, or None. Other documents are never loaded."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        target: Json = self._root
        for key in filter(None, reference[1:].split("/")):
            name = key.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, Mapping) else None
        return target


def _check_type(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    checks = [_TYPES[name] for name in names if name in _TYPES]
    if checks and not any(fits(value) for fits in checks):
        yield _format_message(path, f"is not of type {' or '.join(map(str, names))}")


def _check_enum(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    allowed = [schema["const"]] if "const" in schema else schema["enum"]
    if isinstance(allowed, list) and not any(_is_equal(value, item) for item in allowed):
        yield _format_message(path, f"is not one of {', '.join(map(repr, allowed))}")


def _check_required(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    if isinstance(value, Mapping) and isinstance(schema["required"], list):
        for name in schema["required"]:
            if name not in value:
                yield _format_message(path, f"has no {name}")


def _check_properties(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    properties = schema["properties"]
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        for name, subschema in properties.items():
            if name in value:
                yield from checker.iter_errors(value[name], subschema, f"{path}/{name}")


def _check_additional(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    declared = schema.get("properties") or {}
    if isinstance(value, Mapping):
        for name in value:
            if name not in declared:
                yield from checker.iter_errors(
                    value[name], schema["additionalProperties"], f"{path}/{name}"
                )


def _check_items(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    if isinstance(value, list) and not isinstance(schema["items"], list):
        for index, item in enumerate(value):
            yield from checker.iter_errors(item, schema["items"], f"{path}/{index}")


def _build_bound_rule(keyword: str, fits: Callable[[float, float], bool], relation: str) -> "Rule":
    def rule(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
        bound = schema[keyword]
        if is_number(value) and is_number(bound) and not fits(value, bound):
            yield _format_message(path, f"is not {relation} {bound}")

    return rule


def _build_size_rule(
    keyword: str, sized_type: type[Sized], fits: Callable[[int, int], bool], relation: str
) -> "Rule":
    def rule(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
        bound = schema[keyword]
        if isinstance(value, sized_type) and is_number(bound) and not fits(len(value), bound):
            yield _format_message(path, f"has not {relation} {bound} parts")

    return rule


def _check_pattern(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    pattern = schema["pattern"]
    if not isinstance(value, str) or not isinstance(pattern, str):
        return
    if not checker.has_time_for(pattern, value):
        yield _format_message(path, "is too long for its pattern")
    elif not _matches(pattern, value):
        yield _format_message(path, f"does not match {pattern}")


def _matches(pattern: str, value: str) -> bool:
    validator = _compile_pattern(pattern)
    return validator is None or validator.isinstance_python(value)


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> SchemaValidator | None:
    """Return a check of a pattern in linear time, or None for a pattern that would need more, such as a look-ahead."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


@lru_cache(maxsize=256)
def measure_pattern(pattern: str) -> int:
    """Return about how many parts a pattern has once its repetitions are written out."""
    sizes, last = [1], 0  # of the groups that are open, the innermost one last
    for token in _PATTERN_TOKENS.finditer(pattern):
        text = token.group()
        if token["count"] is not None:
            times = max(map(int, re.findall(r"\d+", text)), default=1)
            added = last * max(times - 1, 0)
            sizes[-1] += added
            last += added
        elif text == "(":
            sizes.append(0)
        elif text == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            # A class of letters of all languages is a large automaton by itself.
            last = _CLASS_SIZE if text[0] == "[" or text[:2] in _CLASSES else 1
            sizes[-1] += last
    return sum(sizes)


def _check_multiple(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    step = schema["multipleOf"]
    if is_number(value) and is_number(step) and step > 0 and not _is_multiple(value, step):
        yield _format_message(path, f"is not a multiple of {step}")


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    try:
        quotient = value / step
        return abs(quotient - round(quotient)) < 1e-9
    except OverflowError:
        return False


def _check_reference(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    yield from checker.iter_errors(value, checker.resolve(schema["$ref"]), path)


def _check_all_of(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    for subschema in _list_subschemas(schema, "allOf"):
        yield from checker.iter_errors(value, subschema, path)


def _check_any_of(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    subschemas = _list_subschemas(schema, "anyOf")
    if subschemas and all(checker.find_first_error(value, option, path) for option in subschemas):
        yield _format_message(path, "fits none of the forms allowed")


def _check_one_of(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    subschemas = _list_subschemas(schema, "oneOf")
    match_count = sum(not checker.find_first_error(value, option, path) for option in subschemas)
    if subschemas and match_count != 1:
        yield _format_message(path, f"fits {match_count} of the forms allowed, not one")


def _check_not(checker: _Checker, value: Json, schema: Schema, path: str) -> Messages:
    if checker.find_first_error(value, schema["not"], path) is None:
        yield _format_message(path, "has the one form that is not allowed")


def _list_subschemas(schema: Mapping[str, Json], keyword: str) -> list[Json]:
    subschemas = schema[keyword]
    return subschemas if isinstance(subschemas, list) else []


def _format_message(path: str, error: str) -> str:
    return f"{path[1:].replace('/', '.') or 'it'} {error}"


def _is_equal(value: Json, other: Json) -> bool:
    # True is 1 to Python, not to JSON.
    return isinstance(value, bool) is isinstance(other, bool) and bool(value == other)


def _is_integer(value: Json) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


Rule = Callable[[_Checker, Json, Schema, str], Messages]

_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
_RULES: Final[Mapping[str, Rule]] = {
    "type": _check_type,
    "enum": _check_enum,
    "const": _check_enum,
    "required": _check_required,
    "properties": _check_properties,
    "additionalProperties": _check_additional,
    "items": _check_items,
    "minimum": _build_bound_rule("minimum", lambda value, bound: value >= bound, "at least"),
    "maximum": _build_bound_rule("maximum", lambda value, bound: value <= bound, "at most"),
    "exclusiveMinimum": _build_bound_rule(
        "exclusiveMinimum", lambda value, bound: value > bound, "above"
    ),
    "exclusiveMaximum": _build_bound_rule(
        "exclusiveMaximum", lambda value, bound: value < bound, "below"
    ),
    "minLength": _build_size_rule("minLength", str, lambda size, bound: size >= bound, "at least"),
    "maxLength": _build_size_rule("maxLength", str, lambda size, bound: size <= bound, "at most"),
    "minItems": _build_size_rule("minItems", list, lambda size, bound: size >= bound, "at least"),
    "maxItems": _build_size_rule("maxItems", list, lambda size, bound: size <= bound, "at most"),
    "minProperties": _build_size_rule(
        "minProperties", dict, lambda size, bound: size >= bound, "at least"
    ),
    "maxProperties": _build_size_rule(
        "maxProperties", dict, lambda size, bound: size <= bound, "at most"
    ),
    "multipleOf": _check_multiple,
    "pattern": _check_pattern,
    "$ref": _check_reference,
    "allOf": _check_all_of,
    "anyOf": _check_any_of,
    "oneOf": _check_one_of,
    "not": _check_not,
}

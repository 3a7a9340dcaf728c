"""Turns the schemas of other parties into self-contained JSON schemas of bounded depth and size.

References are followed inside the same document only. A reference that leads back to itself, or too deep, becomes a schema
that any value fits, so that cyclic documents stay finite. A part that many operations share is read for each of them, so no
step may take longer because a part is large.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from workflows.engine.language.document import Json
from workflows.tools.operations import clean_text


MAX_DEPTH: Final = 10
MAX_PARTS: Final = 400  # subschemas of one operation
MAX_DOCUMENT_PARTS: Final = 50_000  # subschemas of all operations of one document
MAX_REFERENCE: Final = 500  # characters
MAX_MEMBERS: Final = 60  # properties of one object, values of one enum
MAX_HINT: Final = 300  # characters of the description of one field

Schema = dict[str, Json]

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_NUMBERS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
     "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)  # fmt: skip
_COMBINATORS: Final = ("allOf", "anyOf", "oneOf")


class SchemaReader:
    """Reads the schemas of one document. Each call of ``read`` has a budget of subschemas, and so has the document."""

    def __init__(self, document: Mapping[str, Json]) -> None:
        self._document = document
        self._remaining = 0
        self._remaining_in_document = MAX_DOCUMENT_PARTS

    def read(self, schema: Json) -> Schema:
        """Return the schema with its references replaced by what they refer to."""
        budget = min(MAX_PARTS, self._remaining_in_document)
        self._remaining = budget
        result = self._read(schema, ())
        self._remaining_in_document -= budget - max(self._remaining, 0)
        return result

    def read_reference(self, value: Json) -> Json:
        """Return what the value refers to, or the value itself. A broken or endless reference is an empty object."""
        visited: set[str] = set()
        while isinstance(value, Mapping) and isinstance(reference := value.get("$ref"), str):
            if reference in visited or len(visited) > MAX_DEPTH:
                return {}
            visited.add(reference)
            value = self._find(reference)
        return value

    def _find(self, reference: str) -> Json:
        """Return the part of the document at a local reference; references to other documents lead nowhere."""
        if not reference.startswith("#") or len(reference) > MAX_REFERENCE:
            return {}
        target: Json = self._document
        for key in reference[1:].split("/")[1 : MAX_DEPTH * 2]:
            name = key.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping):
                target = target.get(name)
            elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
                target = target[int(name)]
            else:
                return {}
        return target

    def _read(self, schema: Json, path: tuple[str, ...], depth: int = 0) -> Schema:
        self._remaining -= 1
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._remaining < 0:
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in path:
                return {}
            return self._read(self._find(reference), (*path, reference), depth)
        result = _read_simple_keywords(schema)
        result |= self._read_object(schema, path, depth)
        if "items" in schema:
            result["items"] = self._read(schema["items"], path, depth + 1)
        for keyword in _COMBINATORS:
            choices = schema.get(keyword)
            if isinstance(choices, list) and choices:
                result[keyword] = [
                    self._read(choice, path, depth + 1) for choice in choices[:MAX_MEMBERS]
                ]
        return result

    def _read_object(self, schema: Mapping[str, Json], path: tuple[str, ...], depth: int) -> Schema:
        result: Schema = {}
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            result["properties"] = {
                clean_text(name, 100): self._read(properties[name], path, depth + 1)
                for name in islice(_iter_writable(properties), MAX_MEMBERS)
            }
            required = schema.get("required")
            if isinstance(required, list):
                names = [name for name in required[: 2 * MAX_MEMBERS] if isinstance(name, str)]
                result["required"] = [name for name in names if name in result["properties"]]
        additional = schema.get("additionalProperties")
        if isinstance(additional, bool):
            result["additionalProperties"] = additional
        elif isinstance(additional, Mapping):
            result["additionalProperties"] = self._read(additional, path, depth + 1)
        return result


def _iter_writable(properties: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of the properties that a request may contain, of the first ones of an object."""
    for name in islice(properties, 2 * MAX_MEMBERS):
        if not _is_read_only(properties[name]):
            yield name


def _is_read_only(schema: Json) -> bool:
    return isinstance(schema, Mapping) and schema.get("readOnly") is True


def _read_simple_keywords(schema: Mapping[str, Json]) -> Schema:
    result: Schema = {}
    if type_ := _read_type(schema):
        result["type"] = type_
    for keyword in _NUMBERS & schema.keys():
        value = schema[keyword]
        if isinstance(value, int | float) and not isinstance(value, bool):
            result[keyword] = value
    values = schema.get("enum")
    if isinstance(values, list) and values:
        result["enum"] = [_shorten(value) for value in values[:MAX_MEMBERS] if _is_plain(value)]
    for keyword in ("const", "default"):
        if keyword in schema and _is_plain(schema[keyword]):
            result[keyword] = _shorten(schema[keyword])
    for keyword, limit in (("title", 100), ("format", 40), ("description", MAX_HINT)):
        if text := clean_text(schema.get(keyword), limit):
            result[keyword] = text
    return result


def _read_type(schema: Mapping[str, Json]) -> Json:
    """Return the type or types. OpenAPI 3.0 says ``nullable`` where JSON Schema adds the type null."""
    type_ = schema.get("type")
    types = [type_] if isinstance(type_, str) else type_ if isinstance(type_, list) else []
    types = types[: len(_TYPES)]
    known = [name for name in types if isinstance(name, str) and name in _TYPES]
    if known and schema.get("nullable") is True and "null" not in known:
        known.append("null")
    return known[0] if len(known) == 1 else list(dict.fromkeys(known)) or None


def _is_plain(value: Json) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _shorten(value: Json) -> Json:
    return clean_text(value, 200) if isinstance(value, str) else value

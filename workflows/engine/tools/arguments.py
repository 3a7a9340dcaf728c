"""Checks the arguments of a tool call against the tool's JSON schema, and converts text where that is safe."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import find_schema_error


_ANY: Final = "any"  # what a schema allows that names no type


class ArgumentsInvalid(Exception):
    """The arguments do not fit the tool's parameters."""


def prepare_arguments(
    parameters: Mapping[str, Json], arguments: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the arguments with the types of the schema. Raises ArgumentsInvalid, which names the parameter.

    Models and templates write numbers, booleans and objects as text, so text is converted if the schema rules out text.
    A null for an optional parameter means that it is not given.
    """
    properties = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    prepared = {
        name: _convert(value, properties.get(name))
        for name, value in arguments.items()
        if value is not None or name in required or name not in properties
    }
    if error := find_schema_error(prepared, parameters):
        raise ArgumentsInvalid(f"The arguments are invalid: {error}")
    return prepared


def find_only_type(schema: Json) -> str | None:
    """Return the one type that a schema allows beside null, or None if it allows several or says nothing of types.

    A parameter that may be left out is often written as a choice between its type and null.
    """
    types = _list_types(schema) - {"null"}
    return types.pop() if len(types) == 1 and _ANY not in types else None


def _list_types(schema: Json) -> set[str]:
    if not isinstance(schema, Mapping):
        return {_ANY}
    types = schema.get("type")
    if isinstance(types, str):
        return {types}
    if isinstance(types, list | tuple):
        return {str(name) for name in types}
    choices = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(choices, list | tuple):
        return {_ANY}
    # A choice within a choice is nobody's way to say that a value may be null.
    simple = (choice.get("type") if isinstance(choice, Mapping) else None for choice in choices)
    return {name if isinstance(name, str) else _ANY for name in simple}


def _convert(value: Json, schema: Json) -> Json:
    """Return the text as a value of the schema's type, or unchanged if it is not one."""
    read = _READERS.get(find_only_type(schema) or "")
    if read is None or not isinstance(value, str):
        return value
    try:
        return read(value.strip())
    except (ValueError, RecursionError):
        return value


def _read_number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _read_boolean(text: str) -> Json:
    return {"true": True, "false": False}.get(text.lower(), text)


_READERS: Final[Mapping[str, Callable[[str], Json]]] = {
    "integer": int,
    "number": _read_number,
    "boolean": _read_boolean,
    "object": json.loads,
    "array": json.loads,
}

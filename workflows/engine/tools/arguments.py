"""Checks the arguments of a tool call against the tool's JSON schema, and converts text where that is safe."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import find_schema_error


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


def _convert(value: Json, schema: Json) -> Json:
    """Return the text as a value of the schema's type, or unchanged if it is not one."""
    expected = schema.get("type") if isinstance(schema, Mapping) else None
    read = _READERS.get(expected) if isinstance(expected, str) else None
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

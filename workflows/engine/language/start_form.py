"""Checks the inputs of a run against the start form, before there is a run.

A table maps each field type to its check: Dify's form types, and the plain value types that xworkflow writes. Every
field is checked, so that all errors are reported at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import InputRejected, ValueMismatch
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.json_schema import find_schema_error
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import (
    ValueType,
    matches,
    parse_constant,
    parse_number,
    parse_type,
)


# Field types that accept any text.
TEXT_FIELDS: Final = frozenset({"text-input", "paragraph", "string"})
# Field types for which "" is a default value; for the others it means that there is no default.
_FIELDS_WITH_EMPTY_TEXT: Final = TEXT_FIELDS | {"select"}
_BOOLEAN_TEXTS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    required: bool = False
    default: Json = None
    max_length: int | None = None
    options: tuple[str, ...] = ()
    json_schema: Json = None


def list_fields(start: NodeSpec) -> tuple[Field, ...]:
    """Return the fields that a start node declares, without malformed ones."""
    declared = start.data.get("variables")
    return tuple(
        _read_field(variable)
        for variable in (declared if isinstance(declared, list | tuple) else ())
        if isinstance(variable, Mapping) and isinstance(variable.get("variable"), str)
    )


def check_inputs(fields: Sequence[Field], inputs: Mapping[str, Json]) -> dict[str, Json]:
    """Return a value for every field, and drop undeclared inputs. Raises InputRejected with all problems."""
    values: dict[str, Json] = {}
    problems: list[Problem] = []
    for field in fields:
        try:
            values[field.name] = _read_value(field, inputs)
        except ValueMismatch as mismatch:
            problems.append(Problem("input.invalid", mismatch.message, field=field.name))
    if problems:
        raise InputRejected(problems)
    return values


def check_start_inputs(document: Document, inputs: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values for the fields of a document's start node. Raises InputRejected with all problems."""
    start = next((node for node in document.nodes if node.kind == "start"), None)
    return {} if start is None else check_inputs(list_fields(start), inputs)


def remove_nul(value: Json) -> Json:
    """Return the value without NUL characters, which PostgreSQL cannot store."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, Mapping):
        return {remove_nul(key): remove_nul(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [remove_nul(item) for item in value]
    return value


def _read_field(variable: Mapping[str, Json]) -> Field:
    length, options = variable.get("max_length"), variable.get("options")
    return Field(
        name=variable["variable"],
        type=str(variable.get("type") or "text-input").strip().lower(),
        required=variable.get("required") is True,
        default=variable.get("default"),
        max_length=length if isinstance(length, int) and length > 0 else None,
        options=tuple(map(str, options)) if isinstance(options, list | tuple) else (),
        json_schema=variable.get("json_schema"),
    )


def _read_value(field: Field, inputs: Mapping[str, Json]) -> Json:
    value = inputs.get(field.name)
    if value is None:
        if field.required:
            raise ValueMismatch(f"{field.name} is required in input form")
        value = field.default
        if value is None or (value == "" and field.type not in _FIELDS_WITH_EMPTY_TEXT):
            return None
    return remove_nul(_CHECKS.get(field.type, _check_value_type)(field, value))


def _check_text(field: Field, value: Json) -> Json:
    if not isinstance(value, str):
        raise ValueMismatch(f"(type '{field.type}') {field.name} in input form must be a string")
    if field.max_length is not None and len(value) > field.max_length:
        max_length = field.max_length
        raise ValueMismatch(f"{field.name} in input form must be less than {max_length} characters")
    return value


def _check_select(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None  # a form without a selection sends this value
    if _check_text(field, value) not in field.options:
        allowed = ", ".join(field.options)
        raise ValueMismatch(f"{field.name} in input form must be one of the following: {allowed}")
    return value


def _check_number(field: Field, value: Json) -> Json:
    if matches(value, ValueType.NUMBER):
        return value
    if isinstance(value, str):
        if not value.strip():
            return None
        try:
            return parse_number(value)
        except ValueMismatch:
            pass
    raise ValueMismatch(f"{field.name} in input form must be a valid number")


def _check_checkbox(field: Field, value: Json) -> Json:
    if isinstance(value, str):
        value = _BOOLEAN_TEXTS.get(value.strip().lower(), value)
    if value not in (0, 1):  # False and True among them
        raise ValueMismatch(f"{field.name} in input form must be a boolean value")
    return bool(value)


def _check_file(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.name} in input form must be a file")
    return value


def _check_file_list(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueMismatch(f"{field.name} in input form must be a list of files")
    if field.max_length is not None and len(value) > field.max_length:
        raise ValueMismatch(f"{field.name} in input form must be at most {field.max_length} files")
    return list(value)


def _check_object(field: Field, value: Json) -> Json:
    if isinstance(value, str) and value.strip():
        try:
            value = parse_constant(value, ValueType.OBJECT)
        except ValueMismatch:
            raise ValueMismatch(f"{field.name} in input form must be a JSON object") from None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.name} in input form must be a dict")
    error = find_schema_error(value, field.json_schema)
    if error is not None:
        raise ValueMismatch(f"{field.name} in input form doesn't fit its schema: {error}")
    return value


def _check_value_type(field: Field, value: Json) -> Json:
    """Return the value in the type that an xworkflow document names, into which text is parsed."""
    value_type = parse_type(field.type)
    if value_type is None:
        return value
    try:
        return parse_constant(value, value_type)
    except ValueMismatch as mismatch:
        raise ValueMismatch(f"{field.name} in input form: {mismatch}") from None


_CHECKS: Final[Mapping[str, Callable[[Field, Json], Json]]] = {
    "text-input": _check_text,
    "paragraph": _check_text,
    "string": _check_text,
    "select": _check_select,
    "number": _check_number,
    "checkbox": _check_checkbox,
    "boolean": _check_checkbox,
    "file": _check_file,
    "file-list": _check_file_list,
    "json_object": _check_object,
    "object": _check_object,
    "external_data_tool": _check_text,
}

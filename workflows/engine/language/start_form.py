"""The start form: checks what a run is given before there is a run.

One table from field type to rule, for Dify's form types and for the plain value types xworkflow
writes. Every field is checked, so that a person hears of all mistakes at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import InputRejected, ValueMismatch
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.json_schema import schema_complaint
from workflows.engine.language.problems import Problem
from workflows.engine.language.values import (
    ValueType,
    matches,
    parse_constant,
    parse_number,
    parse_type,
)


# Where anything may be written.
TEXT_FIELDS: Final = frozenset({"text-input", "paragraph", "string"})


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    required: bool = False
    default: Json = None
    max_length: int | None = None
    options: tuple[str, ...] = ()
    json_schema: Json = None


def fields_of(start: NodeSpec) -> tuple[Field, ...]:
    """The fields a start node declares; what isn't shaped like one is left out."""
    declared = start.data.get("variables")
    return tuple(
        _field(variable)
        for variable in (declared if isinstance(declared, list | tuple) else ())
        if isinstance(variable, Mapping) and isinstance(variable.get("variable"), str)
    )


def check_inputs(fields: Sequence[Field], given: Mapping[str, Json]) -> dict[str, Json]:
    """A value for every field. Raises InputRejected with a problem a field; undeclared are dropped."""
    values: dict[str, Json] = {}
    problems: list[Problem] = []
    for field in fields:
        try:
            values[field.name] = _value(field, given)
        except ValueMismatch as mismatch:
            problems.append(Problem("input.invalid", mismatch.message, field=field.name))
    if problems:
        raise InputRejected(problems)
    return values


def check_start(document: Document, given: Mapping[str, Json]) -> dict[str, Json]:
    """The inputs of a document's start node, checked."""
    start = next((node for node in document.nodes if node.kind == "start"), None)
    return {} if start is None else check_inputs(fields_of(start), given)


def _field(variable: Mapping[str, Json]) -> Field:
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


def _value(field: Field, given: Mapping[str, Json]) -> Json:
    value = given.get(field.name)
    if value is None:
        if field.required:
            raise ValueMismatch(f"{field.name} is required in input form")
        value = field.default
        if value is None or (value == "" and field.type not in _TEXT_FIELDS):
            return None
    return without_nul(_rule(field)(field, value))


def without_nul(value: Json) -> Json:
    """NUL can't be stored in PostgreSQL, and no person types it."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, Mapping):
        return {without_nul(key): without_nul(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nul(item) for item in value]
    return value


def _rule(field: Field) -> "Rule":
    return _RULES.get(field.type, _free)


def _text(field: Field, value: Json) -> Json:
    if not isinstance(value, str):
        raise ValueMismatch(f"(type '{field.type}') {field.name} in input form must be a string")
    if field.max_length is not None and len(value) > field.max_length:
        most = field.max_length
        raise ValueMismatch(f"{field.name} in input form must be less than {most} characters")
    return value


def _select(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None  # what a form sends when nothing was chosen
    if _text(field, value) not in field.options:
        allowed = ", ".join(field.options)
        raise ValueMismatch(f"{field.name} in input form must be one of the following: {allowed}")
    return value


def _number(field: Field, value: Json) -> Json:
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


def _checkbox(field: Field, value: Json) -> Json:
    if isinstance(value, str):
        value = _SWITCHES.get(value.strip().lower(), value)
    if value not in (0, 1):  # False and True among them
        raise ValueMismatch(f"{field.name} in input form must be a boolean value")
    return bool(value)


def _file(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.name} in input form must be a file")
    return value


def _file_list(field: Field, value: Json) -> Json:
    if value == "" and not field.required:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueMismatch(f"{field.name} in input form must be a list of files")
    if field.max_length is not None and len(value) > field.max_length:
        raise ValueMismatch(f"{field.name} in input form must be at most {field.max_length} files")
    return list(value)


def _object(field: Field, value: Json) -> Json:
    if isinstance(value, str) and value.strip():
        try:
            value = parse_constant(value, ValueType.OBJECT)
        except ValueMismatch:
            raise ValueMismatch(f"{field.name} in input form must be a JSON object") from None
    if not isinstance(value, Mapping):
        raise ValueMismatch(f"{field.name} in input form must be a dict")
    complaint = schema_complaint(value, field.json_schema)
    if complaint is not None:
        raise ValueMismatch(f"{field.name} in input form doesn't fit its schema: {complaint}")
    return value


def _free(field: Field, value: Json) -> Json:
    """xworkflow names a value type; a form gives text, which is read as that type."""
    kind = parse_type(field.type)
    if kind is None:
        return value
    try:
        return parse_constant(value, kind)
    except ValueMismatch as mismatch:
        raise ValueMismatch(f"{field.name} in input form: {mismatch}") from None


Rule = Callable[[Field, Json], Json]

_SWITCHES: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_TEXT_FIELDS: Final = TEXT_FIELDS | {"select"}
_RULES: Final[Mapping[str, Rule]] = {
    "text-input": _text,
    "paragraph": _text,
    "string": _text,
    "select": _select,
    "number": _number,
    "checkbox": _checkbox,
    "boolean": _checkbox,
    "file": _file,
    "file-list": _file_list,
    "json_object": _object,
    "object": _object,
    "external_data_tool": _text,
}

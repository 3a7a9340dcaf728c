"""The form of a tool's arguments, made from its JSON schema."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from config.http import strict_json
from workflows.engine.language.document import Json
from workflows.forms import InputField


PREFIX: Final = "argument-"  # keeps an argument's name apart from those of the page's own fields
MAX_PARAMETERS: Final = 50  # of an operation that are listed
_CONTROLS: Final[Mapping[str, str]] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "boolean": "select",
}
_TYPE_NAMES: Final[Mapping[str, str]] = {"": "any", "array": "array[any]"}
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Submission:
    """The submitted arguments, and an error for each that can't be read."""

    arguments: Mapping[str, Json]
    errors: Mapping[str, str]


def build_fields(
    parameters: Mapping[str, Any],
    data: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[InputField]:
    """Return the controls for the properties of a schema, filled from the submitted data or their defaults."""
    required = parameters.get("required") or []
    return [
        _build_field(name, schema, name in required, data, (errors or {}).get(name, ""))
        for name, schema in _list_properties(parameters)
    ]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, as the page of its connection lists it. All texts are the server's."""

    name: str
    type: str
    is_required: bool
    description: str


def list_parameters(parameters: Mapping[str, Any]) -> list[Parameter]:
    """Return the parameters of a schema, the required ones first."""
    required = parameters.get("required") or []
    listed = [
        Parameter(
            name,
            _TYPE_NAMES.get(type_ := _find_type(schema), type_),
            name in required,
            str(schema.get("description") or ""),
        )
        for name, schema in _list_properties(parameters)[:MAX_PARAMETERS]
    ]
    return sorted(listed, key=lambda parameter: not parameter.is_required)


def read_arguments(parameters: Mapping[str, Any], data: Mapping[str, str]) -> Submission:
    """Return the values of the fields that aren't empty."""
    arguments: dict[str, Json] = {}
    errors: dict[str, str] = {}
    for name, schema in _list_properties(parameters):
        text = data.get(PREFIX + name, "").replace("\x00", "")
        if not text.strip():
            continue
        try:
            arguments[name] = _read_value(_find_type(schema), text)
        except strict_json.NotStrictJson:
            errors[name] = _("Enter a valid JSON value.")
        except KeyError:
            errors[name] = _("Select a valid choice.")
    return Submission(arguments, errors)


def _list_properties(parameters: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    properties = parameters.get("properties") or {}
    return [(name, schema) for name, schema in properties.items() if isinstance(schema, Mapping)]


def _build_field(
    name: str,
    schema: Mapping[str, Any],
    is_required: bool,
    data: Mapping[str, str] | None,
    error: str,
) -> InputField:
    type_ = _find_type(schema)
    options = _list_options(schema, type_)
    default = schema.get("default")
    text = "" if default is None else default if isinstance(default, str) else json.dumps(default)
    return InputField(
        name=PREFIX + name,
        label=name,
        control="select" if options else _CONTROLS.get(type_, "json"),
        required=is_required,
        value=data.get(PREFIX + name, "") if data is not None else text,
        options=options,
        hint=str(schema.get("description") or ""),
        error=error,
        default=text,
    )


def _list_options(schema: Mapping[str, Any], type_: str) -> tuple[str, ...]:
    if type_ == "boolean":
        return tuple(_BOOLEANS)
    values = schema.get("enum")
    is_text = isinstance(values, list) and all(isinstance(value, str) for value in values)
    return tuple(values) if values and is_text else ()


def _find_type(schema: Mapping[str, Any]) -> str:
    """Return the type that decides on the control; of several, the first that isn't null."""
    type_ = schema.get("type")
    types = [type_] if isinstance(type_, str) else type_ if isinstance(type_, list) else []
    if not types and all(isinstance(value, str) for value in schema.get("enum") or [None]):
        return "string"
    return next((str(item) for item in types if item != "null"), "")


def _read_value(type_: str, text: str) -> Json:
    if type_ == "string":
        return text
    if type_ == "boolean":
        return _BOOLEANS[text]
    value: Json = strict_json.loads(text)
    return value

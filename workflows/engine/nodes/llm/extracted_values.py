"""The values that a model extracts from a text: their types, their JSON schema, and the check of what the model gave.

Check and messages are those of Dify, because workflows compare them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import Field as Bounded
from pydantic import field_validator

from workflows.engine.configuration import ConfigPart
from workflows.engine.language.document import Json
from workflows.engine.language.values import (
    ValueType,
    build_zero_value,
    describe_type,
    matches,
    parse_type,
)
from workflows.engine.model_records import USAGE


SUCCESS: Final = "__is_success"
REASON: Final = "__reason"
ERROR: Final = "__error"
_RESERVED_NAMES: Final = frozenset({SUCCESS, REASON, USAGE, ERROR})
_NO_RESULT: Final = (
    "Failed to extract result from function call or text response, using empty result."
)
_MAX_SHOWN: Final = 500  # characters of a value in a reason
# Name in documents → type. Older documents write ``bool``; a select is a string with options.
TYPES: Final[Mapping[str, ValueType]] = {
    "string": ValueType.STRING,
    "number": ValueType.NUMBER,
    "boolean": ValueType.BOOLEAN,
    "select": ValueType.STRING,
    "array[string]": ValueType.ARRAY_STRING,
    "array[number]": ValueType.ARRAY_NUMBER,
    "array[object]": ValueType.ARRAY_OBJECT,
    "array[boolean]": ValueType.ARRAY_BOOLEAN,
}
_ITEM_TYPES: Final[Mapping[ValueType, ValueType]] = {
    ValueType.ARRAY_STRING: ValueType.STRING,
    ValueType.ARRAY_NUMBER: ValueType.NUMBER,
    ValueType.ARRAY_OBJECT: ValueType.OBJECT,
    ValueType.ARRAY_BOOLEAN: ValueType.BOOLEAN,
}


class Parameter(ConfigPart):
    """A value to extract."""

    name: str = Bounded(min_length=1)
    type: str = "string"
    description: str | None = ""
    required: bool = False
    options: tuple[str, ...] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if name in _RESERVED_NAMES:
            raise ValueError(f"The name {name} is reserved")
        return name

    @field_validator("type")
    @classmethod
    def _check_type(cls, type_name: str) -> str:
        if _find_type(type_name) is None:
            raise ValueError(f"choose one of: {', '.join(TYPES)}")
        return type_name

    @property
    def value_type(self) -> ValueType:
        return _find_type(self.type) or ValueType.STRING

    def find_option(self, value: Json) -> Json:
        """Return the option that a value is, but for case and white space, or else the value itself."""
        if not isinstance(value, str) or value in (self.options or ()):
            return value
        options = {_simplify(option): option for option in reversed(self.options or ())}
        return options.get(_simplify(value), value)

    def build_schema(self, *, may_be_null: bool) -> dict[str, Any]:
        value_type = self.value_type
        schema: dict[str, Any] = {"description": self.description} if self.description else {}
        if value_type in _ITEM_TYPES:
            type_name = "array"
            schema["items"] = {"type": str(_ITEM_TYPES[value_type])}
        else:
            type_name = str(value_type)
            if self.options:
                schema["enum"] = [*self.options, None] if may_be_null else [*self.options]
        return {"type": [type_name, "null"] if may_be_null else type_name, **schema}


def build_schema(parameters: Sequence[Parameter], *, nullable: bool) -> dict[str, Any]:
    """Return the schema of an object with the values. If it is ``nullable``, required values that the text lacks are null.

    A text may lack the other values, which are left out then.
    """
    return {
        "type": "object",
        "properties": {
            parameter.name: parameter.build_schema(may_be_null=nullable and parameter.required)
            for parameter in parameters
        },
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def build_outputs(
    parameters: Sequence[Parameter], values: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return the outputs for the object that a model gave, or for None if it gave no object."""
    reason = None
    if values is None:
        values, reason = _build_empty_values(parameters), _NO_RESULT
    else:
        values = _tidy_values(parameters, values)
    reason = _find_problem(parameters, values) or reason
    return {
        SUCCESS: 0 if reason else 1,
        REASON: reason,
        **{parameter.name: _convert(parameter, values) for parameter in parameters},
    }


def build_failed_outputs(parameters: Sequence[Parameter], error: str) -> dict[str, Json]:
    """Return the outputs after a failed call of the model."""
    return {
        SUCCESS: 0,
        REASON: "Failed to invoke model",
        ERROR: error,
        **{parameter.name: build_zero_value(parameter.value_type) for parameter in parameters},
    }


def _find_type(type_name: str) -> ValueType | None:
    if type_name in TYPES:
        return TYPES[type_name]
    value_type = parse_type(type_name)
    return value_type if value_type in TYPES.values() else None


def _build_empty_values(parameters: Sequence[Parameter]) -> dict[str, Json]:
    """Return the values that Dify checks when there is no result: it leaves out the arrays."""
    types = {parameter.name: parameter.value_type for parameter in parameters}
    return {name: build_zero_value(kind) for name, kind in types.items() if not kind.is_array}


def _tidy_values(parameters: Sequence[Parameter], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values without optional ones that are null, and with options as the author wrote them."""
    by_name = {parameter.name: parameter for parameter in parameters}
    return {
        name: by_name[name].find_option(value) if name in by_name else value
        for name, value in values.items()
        if value is not None or name not in by_name or by_name[name].required
    }


def _find_problem(parameters: Sequence[Parameter], values: Mapping[str, Json]) -> str | None:
    """Return the first reason why the values are not those that were asked for."""
    expected = [each for each in parameters if each.required or each.name in values]
    if len(expected) != len(values):
        return "Invalid number of parameters"
    for parameter in expected:
        if parameter.required and parameter.name not in values:
            return f"Parameter {parameter.name} is required"
        value = values.get(parameter.name)
        if not _is_valid(value, parameter.value_type):
            return (
                f"Invalid value for parameter {parameter.name}, "
                f"expected segment type: {parameter.value_type}, "
                f"actual_type: {describe_type(value)}, "
                f"python_type: {type(value)}, value: {_shorten(str(value))}"
            )
        is_choice = parameter.options and parameter.value_type is ValueType.STRING
        if is_choice and value not in (parameter.options or ()):
            return f"Invalid `select` value for parameter {parameter.name}"
    return None


def _is_valid(value: Json, value_type: ValueType) -> bool:
    """Return whether a value is of the type. As in Dify, true and false are numbers, too."""
    if value_type is ValueType.NUMBER:
        return isinstance(value, int | float)
    if value_type is ValueType.ARRAY_NUMBER:
        return isinstance(value, list) and all(isinstance(item, int | float) for item in value)
    return matches(value, value_type)


def _convert(parameter: Parameter, values: Mapping[str, Json]) -> Json:
    """Return a value as its type, or the zero value of the type; unusable items of a list are left out."""
    value, value_type = values.get(parameter.name), parameter.value_type
    if value_type not in _ITEM_TYPES:
        converted = _CONVERTERS[value_type](value)
        return build_zero_value(value_type) if converted is None else converted
    if not isinstance(value, list):
        return []
    item_type = _ITEM_TYPES[value_type]
    if item_type is ValueType.BOOLEAN:
        return [item for item in value if isinstance(item, bool)]
    items = map(_CONVERTERS[item_type], value)
    return [item for item in items if item is not None]


def _to_number(value: Json) -> Json:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return None


# Type → the function that returns a value of it, or None.
_CONVERTERS: Final[Mapping[ValueType, Callable[[Json], Json]]] = {
    ValueType.STRING: lambda value: value if isinstance(value, str) else None,
    ValueType.NUMBER: _to_number,
    ValueType.BOOLEAN: lambda value: bool(value) if isinstance(value, int) else None,
    ValueType.OBJECT: lambda value: value if isinstance(value, dict) else None,
}


def _simplify(text: str) -> str:
    return "".join(text.split()).casefold()


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"

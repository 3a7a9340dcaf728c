"""Formats pydantic's errors in a node's configuration as messages that name the field as its form does."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import EngineFault
from workflows.engine.field_labels import FieldPlace, find_place
from workflows.engine.language.document import Json
from workflows.engine.language.problems import Problem


Path = tuple[int | str, ...]
Error = Mapping[str, Any]  # as pydantic describes it

# What a kind raises when it is asked about a node that is left half-made, whose problems ``check`` lists.
HALF_MADE: Final = (ValidationError, EngineFault, ValueError, TypeError, KeyError, AttributeError)

_MISSING: Final = "{label}: enter a value"
_MISSING_ITEMS: Final = "{label}: add at least one"
_MISSING_VARIABLE: Final = "{label}: choose a variable"
# The widget of a field that was left out → the message; the default asks for a value.
_MISSING_BY_WIDGET: Final[Mapping[Widget, str]] = {
    Widget.MODEL: "{label}: choose a model",
    **dict.fromkeys(
        (Widget.CHOICE, Widget.SWITCH, Widget.TOOL, Widget.TYPE, Widget.WORKFLOW),
        "{label}: choose one",
    ),
}
# Prefix of pydantic's error type → message; the first match wins. Placeholders come from the error's context.
MESSAGES: Final[Mapping[str, str]] = {
    "missing": _MISSING,
    "string": "{label} must be text",
    "int_from_float": "{label} must be a whole number",
    "int": "{label} must be a whole number",
    "float": "{label} must be a number",
    "decimal": "{label} must be a number",
    "finite_number": "{label} must be a number",
    "bool": "{label} must be true or false",
    "list": "{label} must be a list",
    "tuple": "{label} must be a list",
    "dict": "{label} must be an object",
    "mapping": "{label} must be an object",
    "model": "{label} must be an object",
    "greater_than_equal": "{label} must be at least {ge}",
    "greater_than": "{label} must be more than {gt}",
    "less_than_equal": "{label} must be at most {le}",
    "less_than": "{label} must be less than {lt}",
    "enum": "{label} must be one of: {expected}",
    "literal_error": "{label} must be one of: {expected}",
    "too_short": "{label} must have at least {min_length} items",
    "too_long": "{label} must have at most {max_length} items",
    "string_too_short": "{label} must have at least {min_length} characters",
    "string_too_long": "{label} must have at most {max_length} characters",
}
_SEVERAL_FORMS: Final = "{label} is not valid"
_DEFAULT_MESSAGE: Final = "{label}: {message}"
_TOO_SHORT_ERRORS: Final = frozenset({"too_short", "string_too_short"})
_QUOTED: Final = re.compile(r"'([^']+)'")
# The errors of a pattern or of a value may have any input; others with an empty one mean that nothing was entered.
_ABOUT_VALUES: Final = frozenset({"value_error", "enum", "literal_error"})


def build_config_problems(
    node: str,
    invalid: ValidationError,
    fields: Iterable[Field] = (),
    data: Mapping[str, Json] | None = None,
) -> list[Problem]:
    """Return a problem for each place in the node's data that pydantic rejects, addressed to its field."""
    fields = tuple(fields)
    places: dict[Path, FieldPlace] = {}
    errors: dict[Path, list[Error]] = {}
    for error in invalid.errors(include_url=False):
        path = error["loc"] if data is None else _remove_types(error, data)
        place = find_place(path, fields)
        places.setdefault(place.path, place)
        errors.setdefault(place.path, []).append(error)
    return [
        Problem(
            code="config." + group[0]["type"],
            message=_build_message(group, places[path]),
            node=node,
            field=".".join(map(str, path)) or None,
        )
        for path, group in _drop_outer_paths(errors)
    ]


def describe_missing(field: Field) -> str:
    """Return the message for a field of a form that is empty."""
    return _describe_missing(find_place((field.name,), (field,)))


def _remove_types(error: Error, data: Json) -> Path:
    """Return an error's path without names of types, which pydantic puts between keys where a value has several forms."""
    path: list[int | str] = []
    steps = error["loc"]
    for position, step in enumerate(steps):
        is_key = isinstance(data, Mapping) and step in data
        is_index = isinstance(step, int) and isinstance(data, list | tuple) and step < len(data)
        if is_key or is_index:
            path.append(step)
            data = data[step]
        elif position == len(steps) - 1 and error["type"] == "missing":
            path.append(step)
    return tuple(path)


def _drop_outer_paths(errors: Mapping[Path, list[Error]]) -> Iterator[tuple[Path, list[Error]]]:
    """Yield the errors without those of a value whose parts have errors too: another form of it was meant."""
    outer = {path[:depth] for path in errors for depth in range(1, len(path))}
    for path, group in errors.items():
        if path not in outer:
            yield path, group


def _build_message(errors: list[Error], place: FieldPlace) -> str:
    error = errors[0]
    error_type, context = error["type"], dict(error.get("ctx") or {})
    message = str(error["msg"]).removeprefix("Value error, ")
    if not place.label:
        return message
    if place.is_variable or _is_left_out(error):
        return _describe_missing(place)
    if len(errors) > 1:
        return _SEVERAL_FORMS.format(label=place.label)
    if "expected" in context:
        context["expected"] = _list_choices(place.field, str(context["expected"]))
    fallback = MESSAGES.get(error_type.split("_")[0], _DEFAULT_MESSAGE)
    template = MESSAGES.get(error_type, fallback)
    return template.format_map({"label": place.label, "message": message, **context})


def _is_left_out(error: Error) -> bool:
    error_type, value = error["type"], error.get("input")
    if error_type in _TOO_SHORT_ERRORS:
        return not value
    return error_type == "missing" or (error_type not in _ABOUT_VALUES and value in (None, ""))


def _describe_missing(place: FieldPlace) -> str:
    if place.field is not None and place.field.empty_warning:
        return place.field.empty_warning
    if place.is_variable:
        return _MISSING_VARIABLE.format(label=place.label)
    if place.is_list:
        return _MISSING_ITEMS.format(label=place.label)
    template = _MISSING_BY_WIDGET.get(place.field.widget, _MISSING) if place.field else _MISSING
    return template.format(label=place.label)


def _list_choices(field: Field | None, expected: str) -> str:
    """Return the labels of a field's choices, or the expected values as pydantic names them."""
    if field is not None and field.choices:
        return ", ".join(label or value for value, label in field.choices)
    return ", ".join(_QUOTED.findall(expected)) or expected

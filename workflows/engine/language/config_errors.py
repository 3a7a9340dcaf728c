"""Formats pydantic's errors in a node's configuration as messages that name the field as its form does."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import ValidationError

from workflows.engine.configuration import Field
from workflows.engine.language.problems import Problem


# Prefix of pydantic's error type → message; the first match wins. Placeholders come from the error's context.
MESSAGES: Final[Mapping[str, str]] = {
    "missing": "{label} is missing",
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
_DEFAULT_MESSAGE: Final = "{label}: {message}"
_TOO_SHORT_ERRORS: Final = frozenset({"too_short", "string_too_short"})


def build_config_problems(
    node: str, invalid: ValidationError, fields: Iterable[Field] = ()
) -> list[Problem]:
    """Return a problem for each of pydantic's errors, addressed to its field."""
    fields = tuple(fields)
    return [
        Problem(
            code="config." + error["type"],
            message=_build_message(error, build_field_label(error["loc"], fields)),
            node=node,
            field=".".join(map(str, error["loc"])) or None,
        )
        for error in invalid.errors(include_url=False)
    ]


def build_field_label(path: Iterable[int | str], fields: Iterable[Field]) -> str:
    """Return a field's path in words: labels, names of fields without a label, and the numbers of items from 1."""
    labels: list[str] = []
    for name in path:
        field = next((candidate for candidate in fields if candidate.name == name), None)
        fields = field.fields if field else ()
        labels.append(field.label if field else str(name + 1) if isinstance(name, int) else name)
    return " › ".join(labels)


def _build_message(error: Mapping[str, Any], label: str) -> str:
    error_type, context = error["type"], error.get("ctx") or {}
    if error_type in _TOO_SHORT_ERRORS and not error.get("input"):
        error_type = "missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    if not label:
        return message
    fallback = MESSAGES.get(error_type.split("_")[0], _DEFAULT_MESSAGE)
    template = MESSAGES.get(error_type, fallback)
    return template.format_map({"label": label, "message": message, **context})

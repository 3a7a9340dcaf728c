"""Formats pydantic's errors in a node's configuration as messages that name the field as its form does."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from pydantic import ValidationError

from workflows.engine.language.problems import Problem


class Labelled(Protocol):
    """A field of a form; ``fields`` are its parts."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def fields(self) -> "tuple[Labelled, ...]": ...


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
_EMPTY: Final = frozenset({"too_short", "string_too_short"})


def build_config_problems(
    node: str, invalid: ValidationError, fields: Iterable[Labelled] = ()
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


def build_field_label(path: Iterable[int | str], fields: Iterable[Labelled]) -> str:
    """Return the path to a field with the form's labels, or names for parts without a label, and numbers for items."""
    words: list[str] = []
    for step in path:
        field = next((candidate for candidate in fields if candidate.name == step), None)
        fields = field.fields if field else ()
        words.append(field.label if field else str(step + 1) if isinstance(step, int) else step)
    return " › ".join(words)


def _build_message(error: Mapping[str, Any], label: str) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    if kind in _EMPTY and not error.get("input"):
        kind = "missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    if not label:
        return message
    template = MESSAGES.get(kind) or MESSAGES.get(kind.split("_")[0], _DEFAULT_MESSAGE)
    return template.format_map({"label": label, "message": message, **context})

"""Asks an endpoint for JSON in the strictest way that it accepts, and remembers which way that is."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, Final

import openai

from workflows.engine.language.document import Json
from workflows.engine.language.json_schema import unwrap_schema
from workflows.engine.ports import Message, ModelRequest


class AnswerFormat(IntEnum):
    """The ways to ask for an answer in JSON, from the strictest to the one that any model understands."""

    JSON_SCHEMA = 0  # the endpoint constrains the answer to the schema
    JSON_OBJECT = 1  # the endpoint constrains the answer to JSON; the prompt contains the schema
    INSTRUCTIONS = 2  # only the prompt asks for it


_INSTRUCTIONS: Final = (
    "Answer with one JSON object that fits the following JSON schema, and with nothing else:\n"
)
_MAX_REMEMBERED: Final = 1000
_REFUSAL: Final = re.compile(
    r"response_?format|json_?schema|json_?object|json.mode|structured.?output|guided|grammar", re.I
)
# The endpoint knows schemas, and this one is not to its taste: the next request may have a better one.
_BAD_SCHEMA: Final = re.compile(
    r"invalid schema|schema (error|conversion|is (invalid|not valid))|unsupported schema", re.I
)

# The address of an endpoint and a model → the format that the endpoint accepted. Kept for the life of the process.
_accepted: dict[tuple[str, str], AnswerFormat] = {}


def get_format(address: str, model: str) -> AnswerFormat:
    return _accepted.get((address, model), AnswerFormat.JSON_SCHEMA)


def find_weaker_format(
    error: openai.APIStatusError, current: AnswerFormat
) -> tuple[AnswerFormat, bool] | None:
    """Return the format to try after a refusal, or None if the error has another reason.

    The second value says whether the endpoint refuses the format, and not only this request's schema.
    """
    text = f"{error.message} {error.body!r}"[:4000]
    is_bad_schema = bool(_BAD_SCHEMA.search(text))
    if current is AnswerFormat.INSTRUCTIONS or not (is_bad_schema or _REFUSAL.search(text)):
        return None
    return AnswerFormat(current + 1), not is_bad_schema


def remember_format(address: str, model: str, accepted: AnswerFormat) -> None:
    if len(_accepted) >= _MAX_REMEMBERED:
        del _accepted[next(iter(_accepted))]
    _accepted[address, model] = accepted


def forget_formats() -> None:
    """Forget what endpoints accepted, for tests."""
    _accepted.clear()


def build_response_format(
    request: ModelRequest, answer_format: AnswerFormat
) -> dict[str, Any] | None:
    """Return the ``response_format`` argument of a request, or None if it has none."""
    if request.json_schema:
        return _build_schema_format(request.json_schema, answer_format)
    response_format = request.params.get("response_format")
    if isinstance(response_format, Mapping):
        return dict(response_format)
    return {"type": response_format} if response_format in ("json_object", "text") else None


def add_instructions(
    messages: Sequence[Message], schema: Mapping[str, Json]
) -> tuple[Message, ...]:
    """Return the messages with the schema in the system message."""
    instructions = _INSTRUCTIONS + json.dumps(unwrap_schema(schema), ensure_ascii=False)
    if messages and messages[0].role == "system":
        text = f"{messages[0].text}\n\n{instructions}"
        return (replace(messages[0], text=text), *messages[1:])
    return (Message("system", instructions), *messages)


def _build_schema_format(
    schema: Mapping[str, Json], answer_format: AnswerFormat
) -> dict[str, Any] | None:
    if answer_format is AnswerFormat.INSTRUCTIONS:
        return None
    if answer_format is AnswerFormat.JSON_OBJECT:
        return {"type": "json_object"}
    inner = unwrap_schema(schema)
    settings = {"name": "answer", "strict": is_strict(inner)}
    if inner is not schema:
        return {"type": "json_schema", "json_schema": {**settings, **schema}}
    return {"type": "json_schema", "json_schema": {**settings, "schema": dict(schema)}}


def is_strict(schema: Json) -> bool:
    """Return whether OpenAI accepts a schema in its strict mode: every object lists all its fields as required."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if "properties" in schema or schema.get("type") == "object":
        fields = set(properties) if isinstance(properties, Mapping) else set()
        required = schema.get("required")
        names = set(required) if isinstance(required, list) else set()
        if schema.get("additionalProperties") is not False or names != fields:
            return False
    return all(
        is_strict(value)
        for key, value in schema.items()
        if key not in ("enum", "const", "default", "examples")
    )

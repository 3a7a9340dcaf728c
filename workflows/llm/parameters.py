"""The settings of a model node that are sent to the provider, and their form."""

from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.language.document import Json
from workflows.engine.ports import ModelRequest


# Part of the OpenAI protocol.
_STANDARD: Final = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty",
     "frequency_penalty", "seed", "stop", "logit_bias", "reasoning_effort", "verbosity"}
)  # fmt: skip
# Understood by many compatible servers; the openai package would refuse them as arguments.
_EXTRA: Final = frozenset(
    {"top_k", "min_p", "repetition_penalty", "repeat_penalty", "enable_thinking", "thinking_budget"}
)
_CHAT_ONLY: Final = frozenset({"reasoning_effort", "verbosity", "max_completion_tokens"})


def build_arguments(request: ModelRequest) -> dict[str, Any]:
    """Return the arguments except the model and the messages. Unknown settings are never sent."""
    params = {name: value for name, value in request.params.items() if value is not None}
    arguments = {name: params[name] for name in _STANDARD & params.keys()}
    if request.mode == "completion":
        for name in _CHAT_ONLY & arguments.keys():
            del arguments[name]
    elif response_format := _build_response_format(request, params):
        arguments["response_format"] = response_format
    if extra := {name: params[name] for name in _EXTRA & params.keys()}:
        arguments["extra_body"] = extra
    return arguments


def _build_response_format(
    request: ModelRequest, params: Mapping[str, Json]
) -> dict[str, Any] | None:
    if request.json_schema:
        schema = request.json_schema
        if "type" not in schema and isinstance(schema.get("schema"), Mapping):
            json_schema: dict[str, Any] = {"name": "answer", **schema}
        else:
            json_schema = {"name": "answer", "schema": dict(schema), "strict": True}
        return {"type": "json_schema", "json_schema": json_schema}
    response_format = params.get("response_format")
    if isinstance(response_format, Mapping):
        return dict(response_format)
    return {"type": response_format} if response_format in ("json_object", "text") else None

"""Which settings of a model node reach the provider, and as what."""

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


def arguments_of(request: ModelRequest) -> dict[str, Any]:
    """Everything but the model and the messages. An unknown setting is left out, never sent blind."""
    given = {name: value for name, value in request.params.items() if value is not None}
    arguments = {name: given[name] for name in _STANDARD & given.keys()}
    if request.mode == "completion":
        for name in _CHAT_ONLY & arguments.keys():
            del arguments[name]
    elif wanted := _response_format(request, given):
        arguments["response_format"] = wanted
    if extra := {name: given[name] for name in _EXTRA & given.keys()}:
        arguments["extra_body"] = extra
    return arguments


def _response_format(request: ModelRequest, given: Mapping[str, Json]) -> dict[str, Any] | None:
    if request.json_schema:
        schema = request.json_schema
        if "type" not in schema and isinstance(schema.get("schema"), Mapping):
            named: dict[str, Any] = {"name": "answer", **schema}
        else:
            named = {"name": "answer", "schema": dict(schema), "strict": True}
        return {"type": "json_schema", "json_schema": named}
    wanted = given.get("response_format")
    if isinstance(wanted, Mapping):
        return dict(wanted)
    return {"type": wanted} if wanted in ("json_object", "text") else None

"""Translates a model request into the arguments of the openai package. Unknown settings are never sent."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workflows.engine.ports import ImagePart, Message, ModelRequest
from workflows.engine.tool_calls import ToolSpec
from workflows.llm.response_formats import AnswerFormat, add_instructions, build_response_format
from workflows.llm.sent_parameters import EXTRA_PARAMETERS, STANDARD_PARAMETERS


_CHAT_PARAMETERS: Final = frozenset({"reasoning_effort", "verbosity", "max_completion_tokens"})
# Models that refuse ``max_tokens`` and want its newer name.
_NEW_LIMIT: Final = re.compile(r"(openai/)?(o[1-9]|gpt-5)")
_NO_PARAMETERS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


def build_arguments(
    request: ModelRequest, model: str, answer_format: AnswerFormat
) -> dict[str, Any]:
    """Return the arguments for ``chat.completions.create``, or for ``completions.create`` in completion mode."""
    arguments: dict[str, Any] = {"model": model, "stream": True, **_build_settings(request, model)}
    messages: Sequence[Message] = request.messages
    is_completion = request.mode == "completion"
    if request.json_schema and (is_completion or answer_format is not AnswerFormat.JSON_SCHEMA):
        messages = add_instructions(messages, request.json_schema)
    if is_completion:
        return {**arguments, "prompt": "\n\n".join(message.text for message in messages)}
    if response_format := build_response_format(request, answer_format):
        arguments["response_format"] = response_format
    if request.tools:
        arguments["tools"] = [_build_tool(tool) for tool in request.tools]
        if request.tool_choice != "auto":  # the default
            arguments["tool_choice"] = request.tool_choice
    arguments["messages"] = [_build_message(message) for message in messages]
    return arguments


def _build_settings(request: ModelRequest, model: str) -> dict[str, Any]:
    params = {name: value for name, value in request.params.items() if value is not None}
    settings = {name: params[name] for name in STANDARD_PARAMETERS & params.keys()}
    if _NEW_LIMIT.match(model) and "max_tokens" in settings:
        settings.setdefault("max_completion_tokens", settings.pop("max_tokens"))
    if request.mode == "completion":
        for name in _CHAT_PARAMETERS & settings.keys():
            del settings[name]
    if extra := {name: params[name] for name in EXTRA_PARAMETERS & params.keys()}:
        settings["extra_body"] = extra
    return settings


def _build_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "parameters": dict(tool.parameters or _NO_PARAMETERS)}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _build_message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.tool_calls:
        calls = [
            {"id": call.id, "type": "function",
             "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]  # fmt: skip
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if message.images:
        return {"role": message.role, "content": _build_parts(message.text, message.images)}
    return {"role": message.role, "content": message.text}


def _build_parts(text: str, images: Sequence[ImagePart]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return parts + [
        {"type": "image_url", "image_url": {"url": image.url, "detail": image.detail}}
        for image in images
    ]

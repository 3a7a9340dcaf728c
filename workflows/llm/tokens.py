"""Estimates tokens without a tokenizer, which is accurate enough for display but not for billing."""

import json
import re
from collections.abc import Iterable
from math import ceil

from workflows.engine.ports import Message, ModelRequest
from workflows.engine.tool_calls import ToolSpec


_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CHARACTERS_PER_TOKEN = 4
_OVERHEAD_PER_MESSAGE = 4
_TOKENS_PER_IMAGE = 765  # of a square of 1024 pixels in OpenAI's count


def estimate_text(text: str) -> int:
    """Return one token for each Chinese, Japanese or Korean character, and for every four other characters."""
    cjk_count = len(_CJK.findall(text))
    return cjk_count + ceil((len(text) - cjk_count) / _CHARACTERS_PER_TOKEN)


def estimate_messages(messages: Iterable[Message]) -> int:
    return sum(map(_estimate_message, messages))


def estimate_request(request: ModelRequest) -> int:
    """Return the tokens of the messages, and of the descriptions of the tools that the request offers."""
    return estimate_messages(request.messages) + sum(map(_estimate_tool, request.tools))


def _estimate_message(message: Message) -> int:
    tokens = estimate_text(message.text) + _OVERHEAD_PER_MESSAGE
    if message.tool_calls:
        tokens += sum(estimate_text(call.name + call.arguments) for call in message.tool_calls)
    return tokens + len(message.images) * _TOKENS_PER_IMAGE


def _estimate_tool(tool: ToolSpec) -> int:
    parameters = json.dumps(tool.parameters, ensure_ascii=False, default=str)
    return estimate_text(tool.name + tool.description + parameters) + _OVERHEAD_PER_MESSAGE

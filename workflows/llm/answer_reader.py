"""Reads a streamed answer in the OpenAI protocol: text, reasoning, tool calls, usage and the reason for its end."""

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from workflows.engine.errors import ModelFailed, UnofferedToolCall
from workflows.engine.ports import ModelChunk, ModelRequest, ModelSource, Usage
from workflows.engine.tool_calls import ToolCall
from workflows.llm.failure_messages import CUT_OFF, EMPTY, FILTERED, NO_ROOM
from workflows.llm.tokens import estimate_request, estimate_text
from workflows.llm.tool_call_deltas import ToolCallAssembler


_NOT_OFFERED: Final = "{provider} called the tool {tool!r}, although the request offered no tool. Select another model."
_CALL_CUT_OFF: Final = (
    "The answer of {provider} reached its length limit within a tool call. Raise max_tokens."
)
_MAX_TOKENS: Final = 1_000_000_000
_CALL_REASONS: Final = frozenset({"tool_calls", "function_call"})


class AnswerReader:
    """Reads the events of one streamed answer, in which any field may be missing."""

    def __init__(self, request: ModelRequest, provider: str) -> None:
        self._request, self._provider = request, provider
        self._usage: Usage | None = None
        self._finish_reason: str | None = None
        self._token_count = 0
        self._assembler: ToolCallAssembler | None = None
        self._has_text = False
        self._model = ""

    def read(self, event: Any) -> Iterable[ModelChunk]:
        """Yield the text and the reasoning of an event. Raises ModelFailed if its tool calls are too large."""
        if usage := getattr(event, "usage", None):
            self._usage = _parse_usage(usage)
        self._model = _to_text(getattr(event, "model", None))[:255] or self._model
        for choice in (getattr(event, "choices", None) or [])[:1]:
            self._finish_reason = _read_finish_reason(choice) or self._finish_reason
            text, reasoning = self._read_delta(choice)
            if text or reasoning:
                self._has_text = self._has_text or bool(text.strip())
                self._token_count += estimate_text(text + reasoning)
                yield ModelChunk(text=text, reasoning=reasoning)

    def build_last_chunk(self) -> ModelChunk:
        """Return the chunk that ends the answer. Raises ModelFailed if the provider did not complete it."""
        if self._finish_reason is None:
            raise ModelFailed(CUT_OFF.format(provider=self._provider), retryable=True)
        if self._finish_reason == "content_filter":
            raise ModelFailed(FILTERED.format(provider=self._provider))
        calls = self._assembler.build() if self._assembler else ()
        if calls:
            self._check_calls(calls)
        elif not self._has_text:
            self._raise_empty()
        reason = self._finish_reason
        if calls or reason in _CALL_REASONS:  # the calls decide; not every server names them
            reason = "tool_calls" if calls else "stop"
        usage = self._usage or self._estimate_usage(calls)
        version = self._model if self._model != self._request.model else ""
        source = ModelSource(self._provider, self._request.model, version)
        return ModelChunk(tool_calls=calls, finish_reason=reason, usage=usage, source=source)

    def _raise_empty(self) -> NoReturn:
        if self._finish_reason == "length":
            raise ModelFailed(NO_ROOM.format(provider=self._provider))
        raise ModelFailed(EMPTY.format(provider=self._provider), retryable=True)

    def _read_delta(self, choice: Any) -> tuple[str, str]:
        """Return an event's text and reasoning, and keep its pieces of tool calls."""
        delta = getattr(choice, "delta", None)
        if delta is None:  # completion mode
            return str(getattr(choice, "text", None) or ""), ""
        if pieces := getattr(delta, "tool_calls", None):
            self._open_assembler().add(pieces)
        elif function := getattr(delta, "function_call", None):
            self._open_assembler().add_function_call(function)
        reasoning = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        content = getattr(delta, "content", None) or getattr(delta, "refusal", None)
        if isinstance(content, list):
            text, thinking = _read_parts(content)
            return text, _to_text(reasoning) + thinking
        return _to_text(content), _to_text(reasoning)

    def _open_assembler(self) -> ToolCallAssembler:
        if self._assembler is None:
            earlier_calls = sum(len(message.tool_calls) for message in self._request.messages)
            self._assembler = ToolCallAssembler(self._provider, earlier_calls)
        return self._assembler

    def _check_calls(self, calls: tuple[ToolCall, ...]) -> None:
        if not self._request.tools or self._request.tool_choice == "none":
            message = _NOT_OFFERED.format(provider=self._provider, tool=calls[0].name[:80])
            raise UnofferedToolCall(message, retryable=True)
        if self._finish_reason == "length" and not _is_json(calls[-1].arguments):
            raise ModelFailed(_CALL_CUT_OFF.format(provider=self._provider))

    def _estimate_usage(self, calls: tuple[ToolCall, ...]) -> Usage:
        written = sum(estimate_text(call.name + call.arguments) for call in calls)
        return Usage(estimate_request(self._request), self._token_count + written)


def _read_finish_reason(choice: Any) -> str | None:
    reason = getattr(choice, "finish_reason", None)
    return reason if reason is None or isinstance(reason, str) else "stop"


def _read_parts(parts: list[Any]) -> tuple[str, str]:
    """Return the text and the reasoning of a content that is a list of parts, as Mistral's models write it."""
    text = reasoning = ""
    for part in parts:
        if not isinstance(part, dict):
            text += _to_text(part)
        elif isinstance(thinking := part.get("thinking"), list):
            reasoning += _read_parts(thinking)[0]
        else:
            text += _to_text(part.get("text"))
            reasoning += _to_text(thinking)
    return text, reasoning


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _parse_usage(usage: Any) -> Usage:
    counts = (getattr(usage, name, 0) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(*(_to_count(count) for count in counts))


def _to_count(value: Any) -> int:
    # The limit is beyond any model, and fits into the database.
    return min(max(value, 0), _MAX_TOKENS) if isinstance(value, int) else 0


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

"""An answer of the model: received from its stream, and recorded so that it can be read again."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from workflows.engine.errors import ModelFailed, UnofferedToolCall
from workflows.engine.language.document import Json
from workflows.engine.model_records import describe_source, describe_usage, read_source
from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.engine.ports import ClockPort, Message, ModelChunk, ModelSource, Usage
from workflows.engine.text_rendering import remove_unstorable
from workflows.engine.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    label: str = ""  # what people are told about the answer, beside its text
    source: ModelSource | None = None

    @property
    def is_cut_off(self) -> bool:
        """Return whether the time of the agent was up before the model had finished."""
        return self.finish_reason == "timeout"

    @property
    def message(self) -> Message:
        return Message("assistant", self.text, tool_calls=self.tool_calls)

    def to_outputs(self) -> dict[str, Json]:
        """Return the outputs under which the call is recorded."""
        return {
            "text": self.text,
            "reasoning": self.reasoning,
            "tool_calls": [describe_call(call) for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "usage": describe_usage(self.usage),
            "seconds": self.seconds,
            **({"label": self.label} if self.label else {}),
            **({"model": describe_source(self.source)} if self.source else {}),
        }


def describe_call(call: ToolCall) -> dict[str, Json]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def read_answer(outputs: Mapping[str, Any]) -> ModelAnswer:
    """Return the answer that a call was recorded with."""
    usage = outputs["usage"]
    return ModelAnswer(
        outputs["text"],
        outputs["reasoning"],
        tuple(
            ToolCall(call["id"], call["name"], call["arguments"]) for call in outputs["tool_calls"]
        ),
        outputs["finish_reason"],
        Usage(usage["prompt_tokens"], usage["completion_tokens"], usage.get("cost")),
        outputs["seconds"],
        outputs.get("label", ""),
        read_source(outputs["model"]) if outputs.get("model") else None,
    )


async def receive_answer(
    chunks: AsyncIterator[ModelChunk],
    emit: Callable[[str], None],
    clock: ClockPort,
    seconds: float | None,
    stop_pattern: re.Pattern[str] | None = None,
    *,
    ignores_calls: bool = False,
) -> ModelAnswer:
    """Receive an answer to its end, to a match of ``stop_pattern`` at the beginning of a line, or until the time is up.

    With ``ignores_calls``, an answer that calls a tool is only its text. Raises ModelFailed if the model broke off.
    """
    started = clock.monotonic()
    receiver = _Receiver(emit, stop_pattern)
    try:
        async with asyncio.timeout(seconds) as scope, aclosing(chunks):  # type: ignore[type-var]
            async for chunk in chunks:
                if receiver.add(chunk):
                    break
    except TimeoutError:
        if not scope.expired():
            raise
        receiver.finish_reason = "timeout"
        receiver.tool_calls = ()
    except UnofferedToolCall:
        if not ignores_calls:
            raise
        receiver.finish_reason = "stop"
    if ignores_calls:
        receiver.tool_calls = ()
    receiver.end()
    if receiver.finish_reason == "error":
        raise ModelFailed("The model's answer was cut off", retryable=True)
    return receiver.build_answer(clock.monotonic() - started)


# A stop pattern matches a label in so many characters from the beginning of a line.
_MAX_LABEL: Final = 200
_OTHER_TEXT: Final = "."  # stands for a line that begins with something else


class _Receiver:
    """Collects the chunks of one answer."""

    def __init__(self, emit: Callable[[str], None], stop_pattern: re.Pattern[str] | None) -> None:
        self._emit, self._stop_pattern = emit, stop_pattern
        self._splitter = ReasoningSplitter(tagged=False)
        self._line = ""  # as much of the present line as a stop pattern needs
        self.tool_calls: tuple[ToolCall, ...] = ()
        self.finish_reason: str | None = None
        self._usage: Usage | None = None
        self._label = ""
        self._source: ModelSource | None = None

    def add(self, chunk: ModelChunk) -> bool:
        """Add a chunk, and return whether the rest of the answer is not needed."""
        if text := self._splitter.feed(chunk.text, chunk.reasoning):
            self._emit(text)
        self.tool_calls = chunk.tool_calls or self.tool_calls
        self._usage = chunk.usage or self._usage
        self._label = chunk.label or self._label
        self._source = chunk.source or self._source
        self.finish_reason = chunk.finish_reason or self.finish_reason
        return bool(text) and self._finds_stop(text)

    def _finds_stop(self, text: str) -> bool:
        """Return whether the pattern matches in the line that is being written, or in one that follows."""
        if self._stop_pattern is None:
            return False
        lines = self._line + text
        if self._stop_pattern.search(lines):
            return True
        line = lines[lines.rfind("\n") + 1 :]
        # The beginning of a long line decides; the rest of it isn't searched again with every chunk.
        self._line = line if len(line) <= _MAX_LABEL else _OTHER_TEXT
        return False

    def end(self) -> None:
        if rest := self._splitter.end():
            self._emit(rest)

    def build_answer(self, seconds: float) -> ModelAnswer:
        text = remove_unstorable("".join(self._splitter.text))
        reasoning = remove_unstorable("".join(self._splitter.reasoning)).strip()
        # A stream that was closed early never reported its usage.
        usage = self._usage or Usage(0, (len(text) + len(reasoning)) // 4)
        calls = tuple(
            ToolCall(call.id or f"call_{number}", call.name, call.arguments)
            for number, call in enumerate(self.tool_calls, start=1)
        )
        return ModelAnswer(
            text,
            reasoning,
            calls,
            self.finish_reason,
            usage,
            seconds,
            self._label,
            self._source,
        )


def describe_messages(messages: Sequence[Message], previous: Sequence[Message]) -> list[Json]:
    """Describe the messages that are new since the previous call, for the record of a call."""
    count = 0
    for message, earlier in zip(messages, previous, strict=False):
        if message is not earlier and message != earlier:
            break
        count += 1
    return [describe_message(message) for message in messages[count:]]


def describe_message(message: Message) -> dict[str, Json]:
    description: dict[str, Json] = {"role": message.role, "text": message.text}
    if message.tool_calls:
        description["tool_calls"] = [describe_call(call) for call in message.tool_calls]
    if message.tool_call_id:
        description["tool_call_id"] = message.tool_call_id
    return description

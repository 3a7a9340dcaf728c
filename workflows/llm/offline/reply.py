"""The reply of the offline provider, and the ids of the tool calls in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from workflows.engine.ports import ModelRequest
from workflows.engine.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer: text, reasoning, or calls of tools."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    label: str = ""  # see ``ports.ModelChunk``


def build_call_ids(request: ModelRequest) -> Iterator[str]:
    """Yield ids for the next calls of a conversation; equal requests have equal ids."""
    earlier_calls = sum(len(message.tool_calls) for message in request.messages)
    return (f"call_{number}" for number in count(earlier_calls + 1))

"""A tool that the server offers: what clients are told about it, and the function that carries out its calls."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp import types

from workflows.mcp_server.callers import Caller
from workflows.mcp_server.progress import Progress
from workflows.tools.mcp import REPLAYED_META


Json = Any  # JSON
Arguments = Mapping[str, Json]
# The result, a question for the person in front of the client, or a task that is fetched later.
Result = types.CallToolResult | types.InputRequiredResult | dict[str, Json]


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and what its client can do. ``answers`` are those to the questions of the call's earlier result.

    ``can_ask``: the client shows forms to a person. ``can_poll``: it fetches the result of a task later. ``state`` is
    what the earlier result said.
    """

    caller: Caller
    arguments: Arguments
    progress: Progress
    can_ask: bool = False
    can_poll: bool = False
    answers: Mapping[str, types.InputResponse] = field(default_factory=dict)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ServedTool:
    """One tool of the server with its function."""

    tool: types.Tool
    call: Callable[[Call], Awaitable[Result]]


def build_result(value: Mapping[str, Json], text: str | None = None) -> types.CallToolResult:
    """Return a value as the result of a tool; ``text`` is what models read instead of its JSON."""
    readable = json.dumps(value, ensure_ascii=False, default=str) if text is None else text
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=readable)], structured_content=dict(value)
    )


def build_error(message: str, **details: Json) -> types.CallToolResult:
    """Return an error that the model is told, so that it can go on without the tool or call it better."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)],
        structured_content={"error": message, **details},
        is_error=True,
    )


def mark_replayed(result: Result) -> Result:
    """Return a result that says that an earlier call with the same key has started what it tells of."""
    mark = {REPLAYED_META: True}
    if isinstance(result, dict):
        return {**result, "_meta": {**result.get("_meta", {}), **mark}}
    return result.model_copy(update={"meta": {**(result.meta or {}), **mark}})


def build_schema(
    required: tuple[str, ...] = (), **properties: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the JSON schema of arguments."""
    return {
        "type": "object",
        "properties": {name: dict(value) for name, value in properties.items()},
        "required": [*required],
        "additionalProperties": False,
    }

"""A tool that the server offers: what clients are told about it, and the function that carries out its calls."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from workflows.mcp_server.callers import Caller
from workflows.mcp_server.progress import Progress


Json = Any  # JSON
Call = Callable[[Caller, Mapping[str, Json], Progress], Awaitable[types.CallToolResult]]


@dataclass(frozen=True, slots=True)
class ServedTool:
    """One tool of the server with its function."""

    tool: types.Tool
    call: Call


def build_result(value: Mapping[str, Json], text: str | None = None) -> types.CallToolResult:
    """Return a value as the result of a tool; ``text`` is what models read instead of its JSON."""
    readable = json.dumps(value, ensure_ascii=False, default=str) if text is None else text
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=readable)], structuredContent=dict(value)
    )


def build_error(message: str, **details: Json) -> types.CallToolResult:
    """Return an error that the model is told, so that it can go on without the tool or call it better."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)],
        structuredContent={"error": message, **details},
        isError=True,
    )


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

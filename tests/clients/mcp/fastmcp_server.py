"""Runs in the environment of fastmcp: serves tools on a port of this machine, which the first argument names."""

import json
import sys
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp import types


server = FastMCP("shop")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def refuse() -> str:
    raise ToolError("not today")


@server.tool
async def order(context: Context) -> Any:
    """Order something, of a size that a person chooses."""
    if not context.input_responses:
        schema = {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["S", "L"]}},
            "required": ["size"],
        }
        form = types.ElicitRequestFormParams(message="Which size?", requested_schema=schema)
        requests: Any = {"size": types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=requests, request_state="basket 7")
    answer: Any = context.input_responses["size"]
    return f"{context.request_state}: {answer.action} {answer.content}"


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    server.run(
        transport="http", host="127.0.0.1", port=arguments["port"], path="/mcp", show_banner=False
    )

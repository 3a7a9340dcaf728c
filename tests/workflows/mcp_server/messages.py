"""Sends JSON-RPC messages to the MCP server, as a client without the official package would."""

import json
from itertools import count
from typing import Any

from django.test import Client


ADDRESS = "/mcp/"
_ids = count(1)


def post(client: Client, body: Any, address: str = ADDRESS, **headers: str) -> Any:
    """Send any body, and return the HTTP response."""
    data = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(
        address,
        data,
        content_type="application/json",
        headers={"Accept": "application/json, text/event-stream", **headers},
    )


def ask(client: Client, method: str, address: str = ADDRESS, **params: Any) -> Any:
    """Send a request, and return the whole answer of the server."""
    body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
    response = post(client, body, address)
    assert response.status_code == 200, (response.status_code, response.content)
    answer = response.json()
    assert answer["id"] == body["id"]
    return answer


def call(client: Client, tool: str, address: str = ADDRESS, **arguments: Any) -> Any:
    """Call a tool, and return its result."""
    return ask(client, "tools/call", address, name=tool, arguments=arguments)["result"]


def list_tool_names(client: Client) -> list[str]:
    return [tool["name"] for tool in ask(client, "tools/list")["result"]["tools"]]

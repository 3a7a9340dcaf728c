"""Sends JSON-RPC messages to the MCP server, as a client without the official package would."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from django.test import Client


ADDRESS = "/mcp/"
NEW = "2026-07-28"
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


def ask_new(
    client: Client,
    method: str,
    /,
    *,
    capabilities: Mapping[str, Any] | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    meta: Mapping[str, Any] | None = None,
    **params: Any,
) -> Any:
    """Send a request of the revision 2026-07-28, and return the result or, with another status, the error."""
    meta = {
        **(meta or {}),
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    given = {"MCP-Protocol-Version": NEW, "Mcp-Method": method}
    if name := params.get("name") or params.get("uri"):
        given["Mcp-Name"] = str(name)
    body = {
        "jsonrpc": "2.0",
        "id": next(_ids),
        "method": method,
        "params": {**params, "_meta": meta},
    }
    response = post(client, body, **{**given, **(headers or {})})
    assert response.status_code == status, (response.status_code, response.content)
    answer = response.json()
    return answer["result"] if status == 200 and "result" in answer else answer["error"]


def call(client: Client, tool: str, address: str = ADDRESS, **arguments: Any) -> Any:
    """Call a tool, and return its result."""
    return ask(client, "tools/call", address, name=tool, arguments=arguments)["result"]


def list_tool_names(client: Client) -> list[str]:
    return [tool["name"] for tool in ask(client, "tools/list")["result"]["tools"]]

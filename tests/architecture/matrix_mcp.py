"""Rows of the MCP server, which only keys open. What its tools may do is asked in tests/workflows/mcp_server."""

from __future__ import annotations

from tests.architecture.matrix_core import Maker, Row


OBJECTS: dict[str, Maker] = {}

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ROWS: list[Row] = [Row("POST", "mcp/", "- - - - - 200", body=LIST)]

"""Calls of built-in tools at a fixed time, over a fake server."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

from workflows.engine.ports import HttpPort
from workflows.engine.runtime.local_ports import SystemClock
from workflows.engine.testing.fake_server import FakeServer
from workflows.engine.tool_calls import ToolReference, ToolResult
from workflows.engine.tools.port import LocalTools


NOW = datetime(2026, 3, 28, 11, 30, tzinfo=UTC)


class FixedClock(SystemClock):
    def now(self) -> datetime:
        return NOW


class CallTool(Protocol):
    async def __call__(self, name: str, /, **arguments: Any) -> ToolResult: ...


async def call_builtin(
    name: str, arguments: Mapping[str, Any], http: HttpPort | None = None
) -> ToolResult:
    tools = LocalTools(clock=FixedClock(), http=http)
    (tool,) = await tools.find([ToolReference("builtin", name)])
    return await tools.call(tool, arguments, idempotency_key="key")


@pytest.fixture
def server() -> FakeServer:
    """A server that answers with what a test puts into its responses."""
    return FakeServer([])


@pytest.fixture
def call(server: FakeServer) -> CallTool:
    async def call_tool(name: str, /, **arguments: Any) -> ToolResult:
        return await call_builtin(name, arguments, server)

    return call_tool

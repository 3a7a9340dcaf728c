"""The streamable HTTP transport of MCP over the guarded client."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.client.streamable_http import streamable_http_client

from config import net
from workflows.engine.errors import ToolFailed
from workflows.tools.mcp.streams import Streams


MAX_RESPONSE: Final = 4 * 1024 * 1024
MAX_REQUESTS: Final = 60  # of one session; a server can make the package ask again and again


@asynccontextmanager
async def open_http(
    url: str,
    seconds: float,
    header: tuple[str, str] | None = None,
    *,
    stop: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Open the streams of a session. ``header`` shows the credential; redirects to other sites are not followed.

    ``stop`` is called with the reason why no answer will come, for which the package would wait until its time is up.
    """

    def explain_end(error: Exception | None) -> None:
        failure = net.describe_failure(error, url) if error else None
        stop(str(failure) if failure else "The MCP server closed the connection before it answered")

    async def watch(response: Any) -> None:  # httpx.Response: only config.net imports httpx
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            net.watch_body(response, explain_end)

    async with net.build_client(timeout=seconds, max_body=MAX_RESPONSE) as client:
        if header:
            client.headers[header[0]] = header[1]
        client.event_hooks = {"request": [_Budget(url).check], "response": [watch]}
        async with streamable_http_client(url, http_client=client) as (reading, writing, _get_id):
            yield reading, writing


class _Budget:
    """Counts the requests of a session.

    The package opens a second, endless stream by GET for notifications, which nobody here reads: it is refused.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._remaining = MAX_REQUESTS

    async def check(self, request: Any) -> None:  # httpx.Request: only config.net imports httpx
        self._remaining -= 1
        if request.method == "GET":
            raise net.NetFault("Streams of notifications are not read.", request=request)
        if self._remaining < 0:
            raise ToolFailed("The MCP server needs too many requests")

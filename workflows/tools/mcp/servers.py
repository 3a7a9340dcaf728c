"""The address of an MCP server, and the transport that leads there."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from workflows.tools.call_limits import CallLimit, build_call_limit
from workflows.tools.mcp.commands import STDIO_SCHEME
from workflows.tools.mcp.http import open_http, open_sse
from workflows.tools.mcp.stdio import open_stdio
from workflows.tools.mcp.streams import Spent, Streams


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server, its credential as a header or as a variable of the process, and how long its calls may take.

    ``name`` is that of its connection, which people who are asked something read.
    """

    url: str
    header: tuple[str, str] | None = field(default=None, repr=False)
    variable: tuple[str, str] | None = field(default=None, repr=False)
    limit: CallLimit = field(default_factory=build_call_limit)
    name: str = field(default="", compare=False)

    @property
    def is_process(self) -> bool:
        return self.url.startswith(STDIO_SCHEME)

    def open(
        self, spent: Spent, seconds: float, stop: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Streams]:
        if self.is_process:
            name = self.url.removeprefix(STDIO_SCHEME)
            return open_stdio(name, spent, self.variable)
        return open_http(self.url, spent, seconds, self.header, stop=stop)

    def open_old(
        self, spent: Spent, seconds: float, stop: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Streams]:
        """Open the transport of 2024-11-05, HTTP with a stream of events, which few servers still have."""
        return open_sse(self.url, spent, seconds, self.header, stop=stop)

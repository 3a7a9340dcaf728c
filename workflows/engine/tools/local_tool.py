"""A tool whose code runs in this process: a built-in tool, or one of a plug-in or caller."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import ClockPort, HttpPort
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.web.services import AccountPort


# The length of a result. A longer text is cut, because it would fill a model's context.
MAX_RESULT_CHARACTERS: Final = 100_000


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The services that a tool may use. ``idempotency_key`` is the same when a call is repeated after a crash."""

    clock: ClockPort
    http: HttpPort | None = None
    idempotency_key: str = ""
    accounts: AccountPort | None = None

    def require_http(self) -> HttpPort:
        if self.http is None:
            raise ToolFailed("The tool needs HTTP, which this runner does not have")
        return self.http


RunTool = Callable[[Mapping[str, Json], ToolServices], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class LocalTool:
    """A tool and the function that runs it.

    ``run`` gets arguments that fit the schema of ``spec``. It returns a result with ``is_error`` for what it refuses,
    and raises ``engine.errors.ToolFailed`` if a service that it needs does not answer.
    """

    spec: ToolSpec
    run: RunTool
    title: str = ""
    is_untrusted: bool = True
    needs_approval: bool = False
    service: str = ""  # of ``tools.web.services``, which it calls
    # What a result says at most that the call has spent: 0 for a tool that calls no model. None: it isn't known.
    most_tokens: int | None = None
    most_cost: float | None = None  # USD


def build_error(message: str) -> ToolResult:
    """Return the result of a call that the tool refuses, or that went wrong."""
    return ToolResult(message, is_error=True)


def limit_text(text: str, limit: int = MAX_RESULT_CHARACTERS) -> str:
    """Return the text, cut to the limit with a note that says so."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: {len(text) - limit:,} more characters]"

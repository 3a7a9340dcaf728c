"""Says to people why an MCP server can't be used, in the words of the client or else of the protocol."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from config import net
from workflows.engine.errors import ToolFailed
from workflows.tools.mcp.streams import Busy, Spent
from workflows.tools.operations import clean_text


# With these, a server of 2024-11-05 refuses the transport of later revisions.
_REFUSES_TRANSPORT: Final = frozenset({400, 404, 405})
_INVALID: Final = "The MCP server sent an answer that is not valid"
# What the package's transport answers in place of the server → what it means.
_OF_TRANSPORT: Final[Mapping[str, str]] = {
    "Failed to parse": _INVALID,
    "Unexpected content type": _INVALID,
    "server answered a request with 202": _INVALID,
    "Redirect to": "The MCP server redirects to another address",
    "Session terminated": "The MCP server has ended the session",
    "Server returned an error response": "The MCP server answered with the status {status}",
    "Not Found": "The MCP server answered with the status {status}",
}


class ServerBusy(ToolFailed):
    """The server has no time for a call, which it hasn't carried out."""


def build_busy(busy: Busy) -> ServerBusy:
    """Return the error of a call that the server has no time for. A node with retries waits as long as the server asks."""
    seconds = busy.retry_after
    message = f"The MCP server answered with the status {busy.status}"
    advice = "" if seconds is None else f" and asks to wait for {seconds:g} seconds"
    return ServerBusy(f"{message}{advice}", retryable=True, retry_after=seconds)


def is_refusal_of_transport(spent: Spent) -> bool:
    """Return whether the server refused the last exchange as one that knows only the transport of 2024-11-05."""
    return spent.refusal in _REFUSES_TRANSPORT


def is_ended_session(error: MCPError) -> bool:
    """Return whether the server doesn't know the session any more, and so has not carried out the call."""
    return error.code == types.INVALID_REQUEST and error.message == "Session terminated"


def is_ended_state(error: MCPError) -> bool:
    """Return whether the server doesn't take back any more what it sent with a question, and so has not carried out the call."""
    text = f"{error.message} {error.error.data}".replace("_", "").lower()
    return error.code == types.INVALID_PARAMS and "requeststate" in text


def explain_transport(error: MCPError, spent: Spent) -> str:
    """Return what it means that the transport answered with this error, or nothing if the server did."""
    for beginning, meaning in _OF_TRANSPORT.items():
        if error.message.startswith(beginning) and (spent.refusal or "{status}" not in meaning):
            return meaning.format(status=spent.refusal)
    return ""


def describe_error(error: BaseException, url: str, spent: Spent) -> Exception:
    """Return the error for people; an unexpected one is returned as it is."""
    leaves = list(_iter_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, ToolFailed):
            return leaf
        if isinstance(leaf, Exception) and (failure := net.describe_failure(leaf, url)):
            return ToolFailed(str(failure), retryable=failure.retryable)
    for leaf in leaves:
        if isinstance(leaf, MCPError) and leaf.error.code == types.CONNECTION_CLOSED:
            return ToolFailed("The MCP server closed the connection", retryable=True)
        if isinstance(leaf, MCPError):
            refusal = f"The MCP server refused: {clean_text(leaf.message, 300)}"
            return ToolFailed(explain_transport(leaf, spent) or refusal)
        if isinstance(leaf, ValidationError | RuntimeError):
            return ToolFailed(_INVALID)
    return error if isinstance(error, Exception) else ToolFailed(_INVALID)


def _iter_leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _iter_leaves(inner)
    else:
        yield error

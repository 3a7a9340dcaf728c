"""The transports of MCP over HTTP, with the guarded client."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.client.sse import sse_client
from mcp.client.streamable_http import LAST_EVENT_ID, streamable_http_client
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import CONNECTION_CLOSED
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from config import net
from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import Challenge
from workflows.tools.mcp.streams import Busy, Spent, Streams, find_stream


MAX_RESPONSE: Final = 4 * 1024 * 1024
MAX_EXCHANGES: Final = 60  # of one call; a server can make the package ask again and again
SSE_SECONDS: Final = 3600.0  # of the one stream on which a server of 2024-11-05 sends everything
MAX_STREAM: Final = 64 * 1024 * 1024
BUSY_STATUSES: Final = frozenset({429, 503})
MAX_FIELD: Final = 2000  # characters of a field of a challenge

_CLOSED: Final = "The MCP server closed the connection before it answered"

Header = tuple[str, str]


@asynccontextmanager
async def open_http(
    url: str,
    spent: Spent,
    seconds: float,
    header: Header | None = None,
    *,
    stop: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Open the streams of a session. ``header`` shows the credential; redirects to other sites are not followed.

    ``stop`` is called with the reason why no answer will come to what opens the session; a call hears it alone.
    The package would open a second, endless stream by GET for notifications, which nobody here reads: it is refused. With
    servers of earlier revisions, which may end the stream of a call and send the rest later, it goes on by GET.
    """

    async def watch(response: Any) -> None:  # httpx2.Response: only config.net imports httpx2
        spent.challenge = read_challenge(response)
        spent.busy = read_busy(response) or spent.busy
        if response.status_code >= 400:
            spent.refusal = response.status_code
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            stream = find_stream()
            note = stream.note if stream else lambda fault: stop(str(fault))
            net.watch_body(response, _explain_end(url, note))
        elif stream := find_stream():
            # The package would end the session, with all its calls.
            build_answer = partial(_build_answer, response.request, _explain_end(url, stream.note))
            net.replace_broken_body(response, build_answer)

    async def check(request: Any) -> None:  # httpx2.Request
        if request.method == "GET" and not _is_resumption(request):
            raise net.NetFault("Only the streams of calls are read.", request=request)
        _count(spent)

    async with net.build_client(timeout=seconds, max_body=MAX_RESPONSE, for_mcp=True) as client:
        if header:
            client.headers[header[0]] = header[1]
        client.event_hooks = {"request": [check], "response": [watch]}
        async with streamable_http_client(
            url, http_client=client, max_sse_event_size=MAX_RESPONSE
        ) as streams:
            yield streams


@asynccontextmanager
async def open_sse(
    url: str,
    spent: Spent,
    seconds: float,
    header: Header | None = None,
    *,
    stop: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Open the streams of a session as servers of 2024-11-05 have them: requests by POST, and all answers by one GET."""

    async def watch(response: Any) -> None:  # httpx2.Response
        spent.challenge = read_challenge(response)
        spent.busy = read_busy(response) or spent.busy
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            net.watch_body(response, _explain_end(url, lambda fault: stop(str(fault))))
        elif response.status_code >= 400:
            spent.refusal = response.status_code
            stop(f"The MCP server answered with the status {response.status_code}")

    async def check(_request: Any) -> None:
        _count(spent)

    def build_client(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        client = net.build_client(
            timeout=SSE_SECONDS, idle=SSE_SECONDS, max_body=MAX_STREAM, for_mcp=True
        )
        client.headers.update(headers or {})
        client.event_hooks = {"request": [check], "response": [watch]}
        return client

    headers = {header[0]: header[1]} if header else None
    async with sse_client(
        url, headers, timeout=seconds, httpx_client_factory=build_client
    ) as streams:
        yield streams


def read_challenge(response: Any) -> Challenge | None:  # httpx2.Response
    """Return what a response says about the sign-in that the server wants, or None if it wants none."""
    lacks_scope = (
        response.status_code == 403
        and extract_field_from_www_auth(response, "error") == "insufficient_scope"
    )
    if response.status_code != 401 and not lacks_scope:
        return None
    metadata_url = extract_resource_metadata_from_www_auth(response) or ""
    scope = extract_scope_from_www_auth(response) or ""
    return Challenge(metadata_url[:MAX_FIELD], scope[:MAX_FIELD], lacks_scope)


def read_busy(response: Any) -> Busy | None:  # httpx2.Response
    """Return what a response says about how busy the server is, or None if it isn't too busy to answer."""
    if response.status_code not in BUSY_STATUSES:
        return None
    seconds = net.parse_retry_after(response.headers.get("retry-after", ""))
    return Busy(response.status_code, seconds)


def _count(spent: Spent) -> None:
    spent.exchanges += 1
    if spent.exchanges > MAX_EXCHANGES:
        raise ToolFailed("The MCP server needs too many requests")


def _is_resumption(request: Any) -> bool:  # httpx2.Request
    """Return whether a request asks for the rest of a call's stream, as it may in revisions before 2026-07-28.

    What was stopped here, because it was too large, does not go on.
    """
    stream = find_stream()
    is_modern = request.headers.get(MCP_PROTOCOL_VERSION_HEADER) in MODERN_PROTOCOL_VERSIONS
    if stream is None or is_modern or LAST_EVENT_ID not in request.headers:
        return False
    return stream.fault is None or stream.fault.retryable


def _build_answer(
    request: Any, explain: Callable[[Exception | None], None], error: Exception
) -> bytes:
    """Return an answer to the one call whose answer can't be read, as if its connection was closed."""
    explain(error)
    try:
        request_id = json.loads(request.content).get("id")
    except (ValueError, AttributeError):
        request_id = None
    fault = {"code": CONNECTION_CLOSED, "message": _CLOSED}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": fault}).encode()


def _explain_end(
    url: str, note: Callable[[ToolFailed], None]
) -> Callable[[Exception | None], None]:
    def explain(error: Exception | None) -> None:
        failure = net.describe_failure(error, url) if error else None
        if failure:
            note(ToolFailed(str(failure), retryable=failure.retryable))
        else:
            note(ToolFailed(_CLOSED, retryable=True))

    return explain

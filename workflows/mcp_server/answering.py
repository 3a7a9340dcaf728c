"""The answers of ``/mcp/``: the transport "streamable HTTP" of MCP, in which each request is answered by itself.

A call whose client wants progress is answered with an event stream, everything else with JSON. There are no sessions, and
the server begins no streams of its own: GET and DELETE are answered with 405, as the specification says for that.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _
from mcp import types
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import ValidationError

from accounts.errors import NotAllowed
from config.http import strict_json
from config.http.context import get_base_url
from config.http.event_streams import PING_FRAME, EventStream
from workflows.mcp_server.callers import read_caller
from workflows.mcp_server.exchange import Outgoing, exchange
from workflows.mcp_server.server import build_server


VERSION_HEADER: Final = "MCP-Protocol-Version"
PING_SECONDS: Final = 15.0


async def answer(request: HttpRequest) -> HttpResponseBase:
    """Answer one JSON-RPC message: with JSON, or with an event stream where the client wants progress."""
    _check_origin(request)
    message = _read_message(request)
    if isinstance(message, HttpResponse):
        return message
    if not isinstance(message.root, types.JSONRPCRequest):
        return HttpResponse(status=202)  # notifications and responses need no answer
    server = build_server(read_caller(request, get_base_url(request)))
    answers = exchange(server, message.root)
    if _wants_progress(request, message.root):
        return EventStream(_build_frames(answers), reconnects=False)
    return JsonResponse(_to_json(await _take_response(answers)))


def _check_origin(request: HttpRequest) -> None:
    """Raise NotAllowed for a page of another site, whose browser may have been led here by a changed address."""
    origin = request.headers.get("Origin")
    if origin and urlsplit(origin).netloc != request.get_host():
        raise NotAllowed(_("Pages of other sites can't use this address."))


def _read_message(request: HttpRequest) -> types.JSONRPCMessage | HttpResponse:
    version = request.headers.get(VERSION_HEADER)
    if version is not None and version not in SUPPORTED_PROTOCOL_VERSIONS:
        return _refuse(types.INVALID_REQUEST, f"{VERSION_HEADER}: {version} isn't supported.")
    try:
        body = strict_json.loads(request.body)
    except ValueError as error:
        return _refuse(types.PARSE_ERROR, str(error))
    try:
        return types.JSONRPCMessage.model_validate(body)
    except ValidationError:
        return _refuse(types.INVALID_REQUEST, _("This is no JSON-RPC message."))


def _refuse(code: int, message: str) -> JsonResponse:
    error = types.JSONRPCError(
        jsonrpc="2.0", id="", error=types.ErrorData(code=code, message=message)
    )
    return JsonResponse(_to_json(types.JSONRPCMessage(error)) | {"id": None}, status=400)


def _wants_progress(request: HttpRequest, message: types.JSONRPCRequest) -> bool:
    if message.method != "tools/call" or "text/event-stream" not in request.headers.get(
        "Accept", ""
    ):
        return False
    meta = (message.params or {}).get("_meta")
    return isinstance(meta, dict) and meta.get("progressToken") is not None


async def _take_response(answers: AsyncIterator[Outgoing]) -> Outgoing:
    """Return the last message, which is the response. Notifications have no place in a response of JSON."""
    *_others, response = [message async for message in answers]
    return response


async def _build_frames(answers: AsyncIterator[Outgoing]) -> AsyncIterator[bytes]:
    """Yield a frame for each message, and a comment whenever nothing comes for a while."""
    following = asyncio.ensure_future(anext(answers, None))
    try:
        while True:
            finished, _waiting = await asyncio.wait({following}, timeout=PING_SECONDS)
            if not finished:
                yield PING_FRAME
                continue
            message = following.result()
            if message is None:
                return
            yield b"event: message\ndata: " + _dump(message) + b"\n\n"
            following = asyncio.ensure_future(anext(answers, None))
    finally:
        following.cancel()


def _to_json(message: Outgoing) -> dict[str, Any]:  # Any: JSON
    body: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return body


def _dump(message: Outgoing) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_none=True).encode()

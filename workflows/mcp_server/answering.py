"""The answers of ``/mcp/``: the transport "streamable HTTP" of MCP, in which each request is answered by itself.

Both generations of the protocol have this address. A request of the revision 2026-07-28 says in itself who asks and what
the client can do; clients of earlier revisions begin with ``initialize``. Neither gets a session, and the server begins no
streams of its own: GET and DELETE are answered with 405, as the specification says for that.

A call whose client wants progress is answered with an event stream if there is something to tell before its result,
everything else with JSON.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _
from mcp import types
from mcp.server.connection import Connection
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from accounts.errors import NotAllowed
from config.http import strict_json
from config.http.context import get_base_url
from config.http.event_streams import PING_FRAME, EventStream
from workflows.mcp_server.callers import read_caller
from workflows.mcp_server.exchange import Outgoing, exchange, read_progress_token
from workflows.mcp_server.server import build_server


Json = Any  # JSON

VERSION_HEADER: Final = "MCP-Protocol-Version"
PING_SECONDS: Final = 15.0


async def answer(request: HttpRequest) -> HttpResponseBase:
    """Answer one JSON-RPC message: with JSON, or with an event stream where the client wants progress."""
    _check_origin(request)
    try:
        body = strict_json.loads(request.body)
    except ValueError as error:
        return _refuse(types.PARSE_ERROR, str(error))
    version = request.headers.get(VERSION_HEADER)
    is_modern = version in MODERN_PROTOCOL_VERSIONS or _has_envelope(body)
    if not is_modern and version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return _refuse_version(version)
    try:
        message = types.jsonrpc_message_adapter.validate_python(body, by_name=False)
    except ValidationError:
        return _refuse(types.INVALID_REQUEST, _("This is no JSON-RPC message."))
    if not isinstance(message, types.JSONRPCRequest):
        return HttpResponse(status=202)  # notifications and responses need no answer
    connection = _describe_client(request, body) if is_modern else _describe_old_client(version)
    if isinstance(connection, InboundLadderRejection):
        return _refuse(connection.code, connection.message, connection.data, message.id)
    server = build_server(read_caller(request, get_base_url(request)))
    return await _respond(request, message, exchange(server, message, connection), is_modern)


def _check_origin(request: HttpRequest) -> None:
    """Raise NotAllowed for a page of another site, whose browser may have been led here by a changed address."""
    origin = request.headers.get("Origin")
    if origin and urlsplit(origin).netloc != request.get_host():
        raise NotAllowed(_("Pages of other sites can't use this address."))


def _has_envelope(body: Json) -> bool:
    """Return whether the message says its revision in itself, which only messages of 2026-07-28 and later do."""
    params = body.get("params") if isinstance(body, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta


def _describe_client(
    request: HttpRequest, body: Mapping[str, Json]
) -> Connection | InboundLadderRejection:
    """Return what a request of 2026-07-28 says of its client, or why its headers and its body don't fit together."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    route = classify_inbound_request(body, headers=headers)
    if isinstance(route, InboundLadderRejection):
        return route
    return Connection.from_envelope(
        route.protocol_version, route.client_info, route.client_capabilities
    )


def _describe_old_client(version: str | None) -> Connection:
    return Connection.from_envelope(version or types.DEFAULT_NEGOTIATED_VERSION, None, None)


def _refuse_version(version: str) -> JsonResponse:
    supported = [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS]
    message = f"{VERSION_HEADER}: {version} isn't supported."
    data = {"supported": supported, "requested": version}
    return _refuse(types.UNSUPPORTED_PROTOCOL_VERSION, message, data)


def _refuse(
    code: int, message: str, data: Json = None, id_: str | int | None = None
) -> JsonResponse:
    """Return the error of a message that no server was asked about."""
    error = types.ErrorData(code=code, message=message, data=data)
    body = _to_json(types.JSONRPCError(jsonrpc="2.0", id=id_, error=error))
    return JsonResponse({**body, "id": id_}, status=ERROR_CODE_HTTP_STATUS.get(code, 400))


async def _respond(
    request: HttpRequest,
    message: types.JSONRPCRequest,
    answers: AsyncIterator[Outgoing],
    is_modern: bool,
) -> HttpResponseBase:
    """Return the response as JSON, or an event stream that begins with the first notification."""
    wants_progress = (
        message.method == "tools/call"
        and read_progress_token(message.params) is not None
        and "text/event-stream" in request.headers.get("Accept", "")
    )
    async for sent in answers:
        if not isinstance(sent, types.JSONRPCNotification):
            return JsonResponse(_to_json(sent), status=_choose_status(sent, is_modern))
        if wants_progress:
            return EventStream(_build_frames(sent, answers), reconnects=False)
    raise AssertionError("An exchange ends with a response.")


def _choose_status(sent: Outgoing, is_modern: bool) -> int:
    """Return the status of the answer. Clients of earlier revisions read errors from answers with 200."""
    if is_modern and isinstance(sent, types.JSONRPCError):
        return ERROR_CODE_HTTP_STATUS.get(sent.error.code, 200)
    return 200


async def _build_frames(first: Outgoing, answers: AsyncIterator[Outgoing]) -> AsyncIterator[bytes]:
    """Yield a frame for each message, and a comment whenever nothing comes for a while."""
    yield _build_frame(first)
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
            yield _build_frame(message)
            following = asyncio.ensure_future(anext(answers, None))
    finally:
        following.cancel()


def _build_frame(message: Outgoing) -> bytes:
    text = message.model_dump_json(by_alias=True, exclude_none=True)
    return f"event: message\ndata: {text}\n\n".encode()


def _to_json(message: Outgoing) -> dict[str, Json]:
    body: dict[str, Json] = message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return body

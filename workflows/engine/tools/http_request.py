"""The tool ``http_request``: sends one request through the guarded client and returns the response as text."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from workflows.engine.errors import HttpFailed, NodeFailed
from workflows.engine.http_responses import build_file, decode_text, is_file_answer
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.local_tool import LocalTool, ToolServices, build_error, limit_text


METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
MAX_URL_LENGTH: Final = 8192
MAX_HEADERS: Final = 50
MAX_BODY_BYTES: Final = 1024 * 1024
TIMEOUT_SECONDS: Final = 30.0
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# The client sets these, and a wrong value would let one request look like two.
_OWN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "trailer"}
)


class RequestInvalid(Exception):
    """The request can't be sent."""


async def send_request(arguments: Mapping[str, Json], services: ToolServices) -> ToolResult:
    try:
        request = _build_request(arguments, services)
        response = await services.require_http().send(request)
    except (RequestInvalid, HttpFailed, NodeFailed) as failed:
        # NodeFailed: the response is larger than allowed.
        return build_error(str(failed))
    return _describe(response)


def check_url(url: str) -> str:
    """Return the URL without surrounding spaces. Raises RequestInvalid."""
    url = url.strip()
    if not url.lower().startswith(("http://", "https://")):
        raise RequestInvalid("The url must start with http:// or https://")
    if len(url) > MAX_URL_LENGTH or re.search(r"[\x00-\x20\x7f]", url):
        raise RequestInvalid("The url is too long, or contains spaces or line breaks")
    return url


def _build_request(arguments: Mapping[str, Json], services: ToolServices) -> HttpRequest:
    method = arguments.get("method", "GET")
    body, headers = arguments.get("body"), tuple(_list_headers(arguments.get("headers") or {}))
    is_json = body is not None and not isinstance(body, str)
    size = len(json.dumps(body) if is_json else body or "")
    if size > MAX_BODY_BYTES:
        raise RequestInvalid(f"The body is larger than {MAX_BODY_BYTES:,} bytes")
    if is_json and all(name.lower() != "content-type" for name, _value in headers):
        headers = (*headers, ("Content-Type", "application/json"))
    return HttpRequest(
        method,
        check_url(arguments["url"]),
        headers,
        [(name, _as_text(value)) for name, value in (arguments.get("params") or {}).items()]
        or None,
        content=body.encode("utf-8", "replace") if isinstance(body, str) and body else None,
        json_value=body if is_json else None,
        has_json=is_json,
        timeout_seconds=TIMEOUT_SECONDS,
        idempotency_key=None if method in _SAFE_METHODS else services.idempotency_key or None,
    )


def _list_headers(headers: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    if len(headers) > MAX_HEADERS:
        raise RequestInvalid(f"The request has more than {MAX_HEADERS} headers")
    for name, value in headers.items():
        text = _as_text(value)
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise RequestInvalid(f"The header {name[:60]!r} can't be set")
        if _CONTROL_CHARACTER.search(text):
            raise RequestInvalid(f"The header {name} contains a control character")
        yield name, text


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _describe(response: HttpResponse) -> ToolResult:
    is_error = response.status >= 400
    if response.body and is_file_answer(response):
        file = build_file(response, response.url)
        text = f"HTTP {response.status}: a file {file['name']} ({file['mime_type']}, {file['size']:,} bytes)"
        return ToolResult(text, files=(file,), is_error=is_error)
    body = limit_text(decode_text(response))
    data = {"status_code": response.status, "headers": dict(response.headers), "body": body}
    return ToolResult(f"HTTP {response.status}\n\n{body}", data=(data,), is_error=is_error)


HTTP_REQUEST: Final = LocalTool(
    ToolSpec(
        "http_request",
        gettext_noop(
            "Send an HTTP request to a public address and return the status and the body of the response."
        ),
        {
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": gettext_noop("Starts with http:// or https://"),
                },
                "method": {"type": "string", "enum": [*METHODS], "default": "GET"},
                "headers": {
                    "type": "object",
                    "description": gettext_noop("Header names and values"),
                },
                "params": {
                    "type": "object",
                    "description": gettext_noop("Parameters to add to the url"),
                },
                "body": {"description": gettext_noop("Text, or a value that is sent as JSON")},
            },
            "required": ["url"],
            "additionalProperties": False,
        },
    ),
    send_request,
    title=gettext_noop("HTTP request"),
)

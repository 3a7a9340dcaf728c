"""Calls one operation of an API: builds the request, sends it through the guarded client, and reads the response."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from config import net
from workflows.engine.errors import ToolFailed
from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult
from workflows.tools.openapi.security import Security
from workflows.tools.operations import Operation
from workflows.tools.results import build_http_result


SECONDS: Final = 30.0
MAX_RESPONSE: Final = 1024 * 1024
MAX_REQUEST: Final = 1024 * 1024

# Methods whose repetition does nothing more, so that they need no idempotency key.
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class _Request:
    """A request that grows by one argument at a time."""

    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    members: dict[str, Json] = field(default_factory=dict)
    whole: list[Json] = field(default_factory=list)  # empty, or the whole body


class ArgumentInvalid(ValueError):
    """An argument can't be sent; the message names it."""


async def call_operation(
    operation: Operation,
    arguments: Mapping[str, Json],
    *,
    base_url: str,
    security: Security,
    secret: str | None,
    idempotency_key: str = "",
    clean: Callable[[str], str] | None = None,
) -> ToolResult:
    """Call an operation. ``clean`` removes the secret from the response before that is cut to size.

    Raise ``ToolFailed`` if the API can't be reached; all else that goes wrong is a result.
    """
    if error := operation.find_argument_error(arguments):
        return ToolResult(f"Invalid arguments: {error}", is_error=True)
    try:
        request = _build_request(operation, arguments)
        body = _build_body(request, str(operation.call["body_type"]))
    except ArgumentInvalid as error:
        return ToolResult(f"Invalid arguments: {error}", is_error=True)
    method = str(operation.call["method"])
    if idempotency_key and method not in _SAFE_METHODS:
        request.headers.append(("Idempotency-Key", idempotency_key))
    if secret:
        _attach_secret(request, security, secret)
    try:
        exchange = await net.send_request(
            method,
            base_url + request.path,
            headers=[("Accept", "application/json, text/*;q=0.9, */*;q=0.5"), *request.headers],
            params=request.query,
            limit=lambda _headers: MAX_RESPONSE,
            max_body=MAX_RESPONSE,
            timeout=SECONDS,
            **body,
        )
    except net.ExchangeFailed as failure:
        if failure.too_large:
            return ToolResult(str(failure), is_error=True)
        raise ToolFailed(str(failure), retryable=failure.retryable) from None
    # A long answer is read in a thread, because other runs go on meanwhile.
    return await asyncio.to_thread(
        build_http_result, exchange.status, exchange.headers, exchange.body, clean
    )


def _build_request(operation: Operation, arguments: Mapping[str, Json]) -> _Request:
    request = _Request(str(operation.call["path"]))
    places: Any = operation.call[
        "arguments"
    ]  # argument → [place, name, style], as signatures.py writes it
    for argument, value in arguments.items():
        if argument not in places:
            raise ArgumentInvalid(f"there is no argument {argument[:100]!r}")
        place, name, style = places[argument]
        if value is None and place != "body":
            continue
        _WRITERS[place](request, name, value, style)
    if "{" in request.path:
        raise ArgumentInvalid("a part of the path is missing")
    return request


def _write_path(request: _Request, name: str, value: Json, style: str) -> None:
    text = _format_list(value, style)
    if text in ("", ".", ".."):
        # It would change which operation is called.
        raise ArgumentInvalid(f"{name!r} must not be empty or dots")
    request.path = request.path.replace(f"{{{name}}}", quote(text, safe=""))


def _write_query(request: _Request, name: str, value: Json, style: str) -> None:
    request.query.extend(_iter_query(name, value, style))


def _iter_query(name: str, value: Json, style: str) -> Iterator[tuple[str, str]]:
    if style == "deep" and isinstance(value, Mapping):
        yield from ((f"{name}[{key}]", _format(member)) for key, member in value.items())
    elif style == "repeat" and isinstance(value, list):
        yield from ((name, _format(member)) for member in value)
    elif style == "repeat" and isinstance(value, Mapping):
        yield from ((key, _format(member)) for key, member in value.items())
    else:
        yield name, _format_list(value, style)


def _write_header(request: _Request, name: str, value: Json, style: str) -> None:
    text = _format_list(value, style)
    if not text.isascii() or not text.isprintable():
        raise ArgumentInvalid(f"{name!r} contains characters that a header can't contain")
    request.headers.append((name, text))


def _write_member(request: _Request, name: str, value: Json, _style: str) -> None:
    request.members[name] = value


def _write_whole(request: _Request, _name: str, value: Json, _style: str) -> None:
    request.whole = [value]


_WRITERS: Final[Mapping[str, Callable[[_Request, str, Json, str], None]]] = {
    "path": _write_path,
    "query": _write_query,
    "header": _write_header,
    "body": _write_member,
    "whole": _write_whole,
}


def _build_body(request: _Request, body_type: str) -> dict[str, Any]:
    """Return the parameters of ``send_request`` for the body."""
    value = request.whole[0] if request.whole else request.members
    if not body_type or (not request.whole and not request.members):
        return {}
    if body_type in ("form", "multipart"):
        if not isinstance(value, Mapping):
            raise ArgumentInvalid("the body must be an object")
        form = [
            pair for name, member in value.items() for pair in _iter_query(name, member, "repeat")
        ]
        _check_size(sum(len(name) + len(text) for name, text in form))
        if body_type == "form":
            request.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
        return {"form": form, "multipart": body_type == "multipart"}
    if body_type == "text":
        content = _format(value).encode()
        request.headers.append(("Content-Type", "text/plain; charset=utf-8"))
    else:
        content = json.dumps(value, ensure_ascii=False).encode()
        request.headers.append(("Content-Type", "application/json"))
    _check_size(len(content))
    return {"content": content}


def _check_size(size: int) -> None:
    if size > MAX_REQUEST:
        raise ArgumentInvalid(f"the body is larger than {MAX_REQUEST >> 20} MB")


def _attach_secret(request: _Request, security: Security, secret: str) -> None:
    """Attach the secret, and remove what an argument may have written in its place."""
    if header := security.build_header(secret):
        name = header[0].lower()
        request.headers = [pair for pair in request.headers if pair[0].lower() != name] + [header]
    if query := security.build_query(secret):
        request.query = [pair for pair in request.query if pair[0] != query[0]] + [query]


def _format_list(value: Json, style: str) -> str:
    if style != "json" and isinstance(value, list):
        separator = style if style in (" ", "|") else ","
        return separator.join(map(_format, value))
    return _format(value)


def _format(value: Json) -> str:
    """Return the value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

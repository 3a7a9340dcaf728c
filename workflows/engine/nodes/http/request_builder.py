"""Builds an HTTP request from its description in a document: references filled in, checked, authorized."""

import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.errors import NodeFailed
from workflows.engine.language.document import Json
from workflows.engine.language.templating import render_text
from workflows.engine.language.values import get_file_attribute, is_file
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.http.graphql import QUERY
from workflows.engine.nodes.http.json_body import build_json
from workflows.engine.nodes.http.json_repair import NotJson
from workflows.engine.nodes.http.request_config import (
    METHODS,
    Authorization,
    Body,
    BodyItem,
    HttpConfig,
    KeyValue,
    get_timeouts,
    parse_pairs,
)
from workflows.engine.nodes.http.url_values import render_url
from workflows.engine.nodes.http.written_texts import render_field, render_header
from workflows.engine.ports import HttpFile, HttpRequest


CONTENT_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "x-www-form-urlencoded": "application/x-www-form-urlencoded",
    "raw-text": "text/plain",
}
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_GRAPHQL: Final = "application/graphql"
_MAX_URL: Final = 8192
# Methods without effects, which are safe to repeat.
SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

ReadFile = Callable[[Mapping[str, Json]], Awaitable[bytes]]
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The variables that fill in a request, the function that reads the content of files, and the content type if one is set."""

    pool: VariablePool
    read_file: ReadFile
    content_type: str = ""

    def render(self, template: str) -> str:
        return render_text(template, self.pool)

    def render_pair(self, key: str, value: str) -> tuple[str, str]:
        """Return the name and the text of a parameter or field."""
        name = self.render(key)
        return name, render_field(value, self.pool, name.strip())


@dataclass(frozen=True, slots=True)
class _RequestBody:
    content: bytes | None = None
    json_value: Json = None
    has_json: bool = False
    form: tuple[tuple[str, str], ...] | None = None
    files: tuple[HttpFile, ...] = ()
    is_repaired: bool = False


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """A request, and whether its body is another JSON than its author wrote, because that was malformed."""

    request: HttpRequest
    is_repaired: bool = False


async def build_request(
    config: HttpConfig, context: RequestContext, idempotency_key: str
) -> BuiltRequest:
    """Return the request with its references filled in. Raises NodeFailed if a part of it is invalid."""
    method = _check_method(config.method)
    url = _check_url(render_url(config.url, context.pool))
    params = _render_params(config.params, context)
    headers = _render_headers(config.headers, context)
    _authorize(config.authorization, context, headers, params)
    context = replace(context, content_type=_get_content_type(headers))
    body = await _BODY_BUILDERS[config.body.type](config.body, context)
    _add_content_type(config.body.type, headers)
    connect, idle, total = get_timeouts(config.timeout)
    request = HttpRequest(
        method,
        url,
        tuple(_check_header(name, value) for name, value in headers.items()),
        tuple(params) or None,
        content=body.content,
        json_value=body.json_value,
        has_json=body.has_json,
        form=body.form,
        files=body.files,
        multipart=config.body.type == "form-data",
        timeout_seconds=total,
        connect_seconds=connect,
        idle_seconds=idle,
        verify_tls=config.ssl_verify,
        idempotency_key=None if method in SAFE_METHODS else idempotency_key,
    )
    return BuiltRequest(request, body.is_repaired)


def _check_method(name: str) -> str:
    method = name.strip().upper()
    if method not in METHODS:
        raise NodeFailed("InvalidHttpMethodError", f"Invalid HTTP method {name}")
    return method


def _check_url(url: str) -> str:
    url = url.strip()
    if not url:
        raise NodeFailed("InvalidURLError", "url is required")
    if not url.lower().startswith(("http://", "https://")):
        raise NodeFailed("InvalidURLError", "url should start with http:// or https://")
    if len(url) > _MAX_URL or re.search(r"[\x00-\x20\x7f]", url):
        raise NodeFailed("InvalidURLError", "url is too long, or holds spaces or line breaks")
    return url


def _render_params(params: str | tuple[KeyValue, ...], context: RequestContext) -> Pairs:
    """Render the parameters. Lines are split before references are filled in, so that values may have line breaks."""
    return [context.render_pair(key, value) for key, value in parse_pairs(params) if key]


def _render_headers(headers: str | tuple[KeyValue, ...], context: RequestContext) -> dict[str, str]:
    """Render the headers. The text of a variable adds none, unless its line has no colon: then it may have some."""
    if not isinstance(headers, str):
        return {
            context.render(k): render_header(v, context.pool) for k, v in parse_pairs(headers) if k
        }
    rendered: dict[str, str] = {}
    for line in headers.splitlines():
        rendered |= dict(_render_header_line(line, context))
    return rendered


def _render_header_line(line: str, context: RequestContext) -> Iterator[tuple[str, str]]:
    if ":" not in line:
        yield from ((key, value) for key, value in parse_pairs(context.render(line)) if key)
    for key, value in parse_pairs(line) if ":" in line else ():
        if key:
            yield context.render(key).strip(), render_header(value, context.pool).strip()


def _authorize(
    authorization: Authorization, context: RequestContext, headers: dict[str, str], params: Pairs
) -> None:
    """Add the credentials to ``headers`` or ``params``. Raises NodeFailed if they are incomplete."""
    if authorization.type == "custom-headers":
        headers.update(_render_headers(authorization.headers, context))
    elif authorization.type == "in-query":
        name = context.render(authorization.key).strip()
        params.append((name, _check_api_key(context.render(authorization.value))))
    elif authorization.type == "api-key":
        config = authorization.config
        if config is None:
            raise NodeFailed("AuthorizationConfigError", "authorization config is required")
        name = context.render(config.header).strip() or "Authorization"
        api_key = _check_api_key(context.render(config.api_key))
        value = _AUTH_HEADERS[config.type or "custom"](api_key)
        for header in [header for header in headers if header.lower() == name.lower()]:
            del headers[header]
        headers[name] = value


def _check_api_key(api_key: str) -> str:
    if not api_key.strip():
        raise NodeFailed("AuthorizationConfigError", "api_key is required")
    return api_key.strip()


def _encode_basic(api_key: str) -> str:
    # A key without a colon is already encoded.
    encoded = base64.b64encode(api_key.encode()).decode() if ":" in api_key else api_key
    return f"Basic {encoded}"


_AUTH_HEADERS: Final[Mapping[str, Callable[[str], str]]] = {
    "basic": _encode_basic,
    "bearer": "Bearer {}".format,
    "custom": str,
}


async def _build_no_body(_body: Body, _context: RequestContext) -> _RequestBody:
    return _RequestBody()


async def _build_raw_text(body: Body, context: RequestContext) -> _RequestBody:
    name = QUERY if context.content_type == _GRAPHQL else ""
    text = render_field(_get_template(body), context.pool, name)
    return _RequestBody(content=text.encode("utf-8", "replace"))


async def _build_json(body: Body, context: RequestContext) -> _RequestBody:
    source = _get_template(body)
    try:
        built = build_json(source, context.pool)
    except NotJson as error:
        message = f"Failed to parse JSON: {error}; it begins {source[:60]!r}"
        raise NodeFailed("RequestBodyError", message) from None
    return _RequestBody(json_value=built.value, has_json=True, is_repaired=built.is_repaired)


async def _build_binary(body: Body, context: RequestContext) -> _RequestBody:
    if len(body.items) != 1 or not body.items[0].file:
        raise NodeFailed("RequestBodyError", "binary body type should have exactly one file")
    files = await _fetch_files(body.items[0], context)
    return _RequestBody(content=files[0].content)


async def _build_urlencoded(body: Body, context: RequestContext) -> _RequestBody:
    return _RequestBody(form=tuple(_render_form_fields(body, context)))


async def _build_form(body: Body, context: RequestContext) -> _RequestBody:
    files: list[HttpFile] = []
    for item in body.items:
        if item.type == "file":
            files += await _fetch_files(item, context)
    return _RequestBody(form=tuple(_render_form_fields(body, context)), files=tuple(files))


_BODY_BUILDERS: Final[Mapping[str, Callable[[Body, RequestContext], Awaitable[_RequestBody]]]] = {
    "none": _build_no_body,
    "raw-text": _build_raw_text,
    "json": _build_json,
    "binary": _build_binary,
    "x-www-form-urlencoded": _build_urlencoded,
    "form-data": _build_form,
}


def _get_template(body: Body) -> str:
    if isinstance(body.data, str):
        return body.data
    if len(body.data) != 1:
        raise NodeFailed("RequestBodyError", f"{body.type} body type should have exactly one item")
    return body.data[0].value


def _render_form_fields(body: Body, context: RequestContext) -> Pairs:
    """Return the rendered text fields of a form, which old exports write as ``key:value`` lines."""
    if isinstance(body.data, str):
        return [context.render_pair(key, value) for key, value in parse_pairs(body.data) if key]
    return [
        context.render_pair(item.key, item.value)
        for item in body.data
        if item.type == "text" and item.key.strip()
    ]


async def _fetch_files(item: BodyItem, context: RequestContext) -> list[HttpFile]:
    value = context.pool.get_or_none(tuple(item.file))
    files = [value] if is_file(value) else value if isinstance(value, list) else []
    if not files or not all(map(is_file, files)):
        raise NodeFailed("FileFetchError", f"There is no file at {'.'.join(item.file)}")
    name = context.render(item.key)
    return [await _fetch_file(name, file, context) for file in files]


async def _fetch_file(field: str, file: Mapping[str, Json], context: RequestContext) -> HttpFile:
    name = str(get_file_attribute(file, "name") or "file")
    media_type = str(get_file_attribute(file, "mime_type") or "application/octet-stream")
    return HttpFile(field, name, await context.read_file(file), media_type)


def _get_content_type(headers: Mapping[str, str]) -> str:
    """Return the type of the body that the author set, without its parameters, or an empty text."""
    values = (value for name, value in headers.items() if name.lower() == "content-type")
    return next(values, "").partition(";")[0].strip().lower()


def _add_content_type(body_type: str, headers: dict[str, str]) -> None:
    """Add the content type of the body unless the author set one. For multipart forms the client always sets it."""
    names = [name for name in headers if name.lower() == "content-type"]
    if body_type == "form-data":
        for name in names:
            del headers[name]
    elif not names and body_type in CONTENT_TYPES:
        headers["Content-Type"] = CONTENT_TYPES[body_type]


def _check_header(name: str, value: str) -> tuple[str, str]:
    if not _HEADER_NAME.fullmatch(name):
        raise NodeFailed("InvalidHeaderError", f"{name[:60]!r} can't be the name of a header")
    if _CONTROL_CHARACTER.search(value):
        raise NodeFailed("InvalidHeaderError", f"The header {name} holds a control character")
    return name, value

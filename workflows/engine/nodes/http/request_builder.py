"""From what a document says of a request to the request: references filled in, checked, authorized."""

import base64
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workflows.engine.document import Json, Selector
from workflows.engine.errors import NodeFailed
from workflows.engine.http_config import (
    METHODS,
    Authorization,
    Body,
    BodyItem,
    HttpConfig,
    KeyValue,
    lines_of,
    seconds,
)
from workflows.engine.json_repair import NotJson, read_json
from workflows.engine.ports import HttpFile, HttpRequest
from workflows.engine.templating import render_text
from workflows.engine.values import file_attribute, is_file
from workflows.engine.variables import VariablePool


CONTENT_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "x-www-form-urlencoded": "application/x-www-form-urlencoded",
    "raw-text": "text/plain",
}
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAX_URL: Final = 8192
# What repeating changes nothing.
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

Fetch = Callable[[str], Awaitable[bytes]]
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Building:
    """A request that is being made: the variables to fill in, and how a file's content is got."""

    pool: VariablePool
    fetch: Fetch

    def text(self, written: str) -> str:
        return render_text(written, self.pool)


async def build_request(config: HttpConfig, building: Building, key: str) -> HttpRequest:
    """Raises NodeFailed with the type of what is wrong, before anything is sent."""
    method = _method(config.method)
    url = _url(building.text(config.url))
    params = _params(config.params, building)
    headers = _headers(config.headers, building)
    _authorize(config.authorization, building, headers, params)
    body = await _body(config.body, building)
    _add_content_type(config.body.type, body, headers)
    connect, idle, total = seconds(config.timeout)
    return HttpRequest(
        method,
        url,
        tuple(_checked_header(name, value) for name, value in headers.items()),
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
        idempotency_key=None if method in _SAFE_METHODS else key,
    )


@dataclass(frozen=True, slots=True)
class _Body:
    content: bytes | None = None
    json_value: Json = None
    has_json: bool = False
    form: tuple[tuple[str, str], ...] | None = None
    files: tuple[HttpFile, ...] = ()


def _method(written: str) -> str:
    method = written.strip().upper()
    if method not in METHODS:
        raise NodeFailed("InvalidHttpMethodError", f"Invalid HTTP method {written}")
    return method


def _url(url: str) -> str:
    url = url.strip()
    if not url:
        raise NodeFailed("InvalidURLError", "url is required")
    if not url.lower().startswith(("http://", "https://")):
        raise NodeFailed("InvalidURLError", "url should start with http:// or https://")
    if len(url) > _MAX_URL or re.search(r"[\x00-\x20\x7f]", url):
        raise NodeFailed("InvalidURLError", "url is too long, or holds spaces or line breaks")
    return url


def _params(written: str | tuple[KeyValue, ...], building: Building) -> Pairs:
    """Split into lines first, so that a value with a line break stays one value."""
    return [(building.text(key), building.text(value)) for key, value in lines_of(written) if key]


def _headers(written: str | tuple[KeyValue, ...], building: Building) -> dict[str, str]:
    """Filled in first: a variable may hold several lines, and with them several headers."""
    if isinstance(written, str):
        return {key: value for key, value in lines_of(building.text(written)) if key}
    return {building.text(key): building.text(value) for key, value in lines_of(written) if key}


def _authorize(
    authorization: Authorization, building: Building, headers: dict[str, str], params: Pairs
) -> None:
    if authorization.type == "custom-headers":
        headers.update(_headers(authorization.headers, building))
    elif authorization.type == "in-query":
        name = building.text(authorization.key).strip()
        params.append((name, _key(building.text(authorization.value))))
    elif authorization.type == "api-key":
        config = authorization.config
        if config is None:
            raise NodeFailed("AuthorizationConfigError", "authorization config is required")
        name = building.text(config.header).strip() or "Authorization"
        value = _AUTHORIZED[config.type or "custom"](_key(building.text(config.api_key)))
        for written in [written for written in headers if written.lower() == name.lower()]:
            del headers[written]
        headers[name] = value


def _key(text: str) -> str:
    if not text.strip():
        raise NodeFailed("AuthorizationConfigError", "api_key is required")
    return text.strip()


def _basic(key: str) -> str:
    # Without a colon it is taken as encoded already.
    return "Basic " + (base64.b64encode(key.encode()).decode() if ":" in key else key)


_AUTHORIZED: Final[Mapping[str, Callable[[str], str]]] = {
    "basic": _basic,
    "bearer": "Bearer {}".format,
    "custom": str,
}


async def _body(body: Body, building: Building) -> _Body:
    return await _BODIES[body.type](body, building)


async def _no_body(_body: Body, _building: Building) -> _Body:
    return _Body()


async def _raw_text(body: Body, building: Building) -> _Body:
    return _Body(content=building.text(_only_text(body)).encode("utf-8", "replace"))


async def _json(body: Body, building: Building) -> _Body:
    text = building.text(_only_text(body))
    try:
        return _Body(json_value=read_json(text), has_json=True)
    except NotJson as wrong:
        raise NodeFailed(
            "RequestBodyError", f"Failed to parse JSON: {wrong}; it begins {text[:60]!r}"
        ) from None


async def _binary(body: Body, building: Building) -> _Body:
    items = body.data if not isinstance(body.data, str) else ()
    if len(items) != 1 or not items[0].file:
        raise NodeFailed("RequestBodyError", "binary body type should have exactly one file")
    files = await _files(items[0], building)
    return _Body(content=files[0].content)


async def _urlencoded(body: Body, building: Building) -> _Body:
    return _Body(form=tuple(_rows(body, building)))


async def _form(body: Body, building: Building) -> _Body:
    files: list[HttpFile] = []
    for item in body.data:
        if isinstance(item, BodyItem) and item.type == "file":
            files += await _files(item, building)
    return _Body(form=tuple(_rows(body, building)), files=tuple(files))


_BODIES: Final[Mapping[str, Callable[[Body, Building], Awaitable[_Body]]]] = {
    "none": _no_body,
    "raw-text": _raw_text,
    "json": _json,
    "binary": _binary,
    "x-www-form-urlencoded": _urlencoded,
    "form-data": _form,
}


def _only_text(body: Body) -> str:
    if isinstance(body.data, str):
        return body.data
    if len(body.data) != 1:
        raise NodeFailed("RequestBodyError", f"{body.type} body type should have exactly one item")
    return body.data[0].value


def _rows(body: Body, building: Building) -> Pairs:
    """Old exports write a form as ``key:value`` lines."""
    if isinstance(body.data, str):
        return [(building.text(k), building.text(v)) for k, v in lines_of(body.data) if k]
    return [
        (building.text(item.key), building.text(item.value))
        for item in body.data
        if item.type == "text" and item.key.strip()
    ]


async def _files(item: BodyItem, building: Building) -> list[HttpFile]:
    value = building.pool.get_or_none(tuple(item.file))
    found = [value] if is_file(value) else value if isinstance(value, list) else []
    if not found or not all(map(is_file, found)):
        raise NodeFailed("FileFetchError", f"There is no file at {'.'.join(item.file)}")
    name = building.text(item.key)
    return [await _fetched(name, file, item.file, building) for file in found]


async def _fetched(
    field: str, file: Mapping[str, Json], selector: Selector | tuple[str, ...], building: Building
) -> HttpFile:
    url = file_attribute(file, "url")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        message = (
            f"The content of the file at {'.'.join(selector)} can't be read: it has no address"
        )
        raise NodeFailed("FileFetchError", message)
    name = str(file_attribute(file, "name") or "file")
    kind = str(file_attribute(file, "mime_type") or "application/octet-stream")
    return HttpFile(field, name, await building.fetch(url), kind)


def _add_content_type(body_type: str, body: _Body, headers: dict[str, str]) -> None:
    """The type of the body, unless the author gave one; a form of parts is its client's to name."""
    given = [name for name in headers if name.lower() == "content-type"]
    if body_type == "form-data":
        for name in given:
            del headers[name]
    elif not given and body_type in CONTENT_TYPES:
        headers["Content-Type"] = CONTENT_TYPES[body_type]


def _checked_header(name: str, value: str) -> tuple[str, str]:
    if not _NAME.fullmatch(name):
        raise NodeFailed("InvalidHeaderError", f"{name[:60]!r} can't be the name of a header")
    if _CONTROL.search(value):
        raise NodeFailed("InvalidHeaderError", f"The header {name} holds a control character")
    return name, value

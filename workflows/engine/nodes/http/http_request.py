"""HTTP request: sends a request to a URL, through the guarded client."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import HttpFailed, HTTPResponseCodeError, NodeFailed, PortMissing
from workflows.engine.files.ports import FilePort, NewFile
from workflows.engine.http_responses import (
    build_file,
    decode_text,
    find_exceeded_limit,
    is_file_answer,
)
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import Template, list_references
from workflows.engine.language.values import get_file_attribute
from workflows.engine.nodes.http.json_body import find_json_slip
from workflows.engine.nodes.http.request_builder import (
    SAFE_METHODS,
    BuiltRequest,
    RequestContext,
    build_request,
)
from workflows.engine.nodes.http.request_config import (
    METHODS,
    Body,
    HttpConfig,
    has_failure_handling,
)
from workflows.engine.ports import HttpRequest, HttpResponse, Ports
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


# Headers whose value isn't shown, in addition to the header that the authorization names.
_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token"}
)
_MASK: Final = "*" * 20
_MAX_SHOWN_BYTES: Final = 20_000
_MAX_SHOWN_LINE: Final = 60  # characters
_REPAIRED: Final = "The JSON of the body was malformed and has been repaired: check what was sent"


@dataclass(frozen=True, slots=True)
class Prepared:
    config: HttpConfig
    fails_on_status: bool


class HttpRequestNode(NodeKind[HttpConfig, Prepared]):
    name = "http-request"
    title = gettext_noop("HTTP request")
    description = gettext_noop("Sends an HTTP request")
    group = "data"
    palette_order = 50
    icon = "http"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = HttpConfig
    has_effect = True
    calls_outside = True
    retry = Retry(max_retries=3, interval_ms=1000)
    has_untrusted_outputs = True
    fields = (
        Field("method", gettext_noop("Method"), Widget.CHOICE, required=True, default="GET",
              choices=tuple((method, method) for method in METHODS)),
        Field("url", gettext_noop("URL"), Widget.TEMPLATE, required=True,
              help=gettext_noop("Must start with http:// or https://.")),
        Field("authorization", gettext_noop("Authorization"), Widget.AUTHORIZATION,
              default={"type": "no-auth", "config": None}, choices=(
                  ("no-auth", gettext_noop("None")),
                  ("basic", gettext_noop("Basic")),
                  ("bearer", gettext_noop("Bearer token")),
                  ("custom", gettext_noop("Custom header")),
              )),
        Field("headers", gettext_noop("Headers"), Widget.KEY_VALUES, default=""),
        Field("params", gettext_noop("Parameters"), Widget.KEY_VALUES, default="",
              help=gettext_noop("Added to the URL.")),
        Field("body", gettext_noop("Body"), Widget.BODY, default={"type": "none", "data": []},
              choices=(
                  ("none", gettext_noop("None")),
                  ("json", "JSON"),
                  ("raw-text", gettext_noop("Text")),
                  ("form-data", gettext_noop("Form data (multipart)")),
                  ("x-www-form-urlencoded", gettext_noop("Form (URL-encoded)")),
                  ("binary", gettext_noop("Binary file")),
              )),
        Field("timeout", gettext_noop("Timeouts"), Widget.TIMEOUT, default={}, fields=(
            Field("connect", gettext_noop("Connect timeout (seconds)"), Widget.NUMBER, default=10),
            Field("read", gettext_noop("Read timeout (seconds)"), Widget.NUMBER, default=600),
            Field("write", gettext_noop("Write timeout (seconds)"), Widget.NUMBER, default=600),
        )),
        Field("ssl_verify", gettext_noop("Verify TLS certificate"), Widget.SWITCH, default=True),
        Field("fail_on_error_status", gettext_noop("Fail on error status"), Widget.SWITCH,
              default=False,
              help=gettext_noop("Always on when retries or error handling are set.")),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        url = as_text(data.get("url"))
        return [f"{as_text(data.get('method') or 'get').upper()} {url}"] if url else []

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        return Prepared(config, config.fail_on_error_status or has_failure_handling(spec.data))

    def check(self, spec: NodeSpec) -> list[Problem]:
        return super().check(spec) or [*_find_problems(spec, self.configure(spec))]

    def find_text_output(self, spec: NodeSpec) -> str:
        return "body"

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("status_code", "number", example=200),
            Output("body", "string", example='{"id": 4711}'),
            Output("headers", "object"),
            Output("files", "array[file]"),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        items = self.configure(spec).body.items
        return tuple(item.file for item in items if item.type == "file" and item.file)

    def only_reads(self, prepared: Prepared, ctx: NodeContext) -> bool:
        method = Template.of(prepared.config.method).render_text(ctx.pool)
        return method.strip().upper() in SAFE_METHODS

    def sends_outside(self, spec: NodeSpec) -> bool:
        return True

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        if ctx.ports.http is None:
            raise PortMissing("http")
        context = RequestContext(ctx.pool, partial(_read_file, ctx.ports))
        built = await build_request(prepared.config, context, ctx.origin.idempotency_key)
        request = built.request
        ctx.record_inputs(_describe_exchange(prepared, built, None))
        response = await ctx.ports.http.send(request)
        ctx.record_inputs(_describe_exchange(prepared, built, response))
        if megabytes := find_exceeded_limit(response):
            raise NodeFailed("ResponseSizeError", f"The response is larger than {megabytes} MB")
        if prepared.fails_on_status and not 200 <= response.status < 300:
            raise HTTPResponseCodeError(f"Request failed with status code {response.status}")
        return NodeResult(await _build_outputs(response, request, ctx.ports.files))

    async def preview_inputs(self, prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
        context = RequestContext(ctx.pool, _skip_content)
        try:
            built = await build_request(prepared.config, context, ctx.origin.idempotency_key)
        except NodeFailed as fault:
            return {"request_error": fault.message}
        return _describe_exchange(prepared, built, None)


async def _read_file(ports: Ports, file: Mapping[str, Json]) -> bytes:
    """Return the content of a file to send: from the store, or else from its address."""
    if ports.files is not None:
        return await ports.files.read(file)
    url = get_file_attribute(file, "url")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        name = get_file_attribute(file, "name") or "the file"
        message = f"The content of {name} can't be read: it has no address"
        raise NodeFailed("FileFetchError", message)
    if ports.http is None:
        raise PortMissing("http")
    response = await ports.http.send(HttpRequest("GET", url, timeout_seconds=60, idle_seconds=30))
    if not 200 <= response.status < 300:
        message = f"The file URL returned status code {response.status}"
        raise HttpFailed(message, retryable=response.status >= 500)
    return response.body


async def _skip_content(_file: Mapping[str, Json]) -> bytes:
    return b""


async def _build_outputs(
    response: HttpResponse, request: HttpRequest, store: FilePort | None
) -> dict[str, Json]:
    is_file = is_file_answer(response) and bool(response.body)
    return {
        "status_code": response.status,
        "body": "" if is_file else decode_text(response),
        "headers": {name: _clean_header(value) for name, value in response.headers.items()},
        "files": [await _keep_file(response, request, store)] if is_file else [],
    }


async def _keep_file(
    response: HttpResponse, request: HttpRequest, store: FilePort | None
) -> dict[str, Json]:
    """Return the file of a response, stored if there is a store: its address may give another one the next time."""
    file = build_file(response, response.url or request.url)
    if store is None:
        return file
    return await store.store(NewFile(response.body, file["name"] + _get_suffix(file), file["url"]))


def _get_suffix(file: Mapping[str, Json]) -> str:
    return "" if "." in file["name"] else file["extension"]


def _describe_exchange(
    prepared: Prepared, built: BuiltRequest, response: HttpResponse | None
) -> dict[str, Json]:
    """Describe the request for display, with its secrets masked, and what the server received once it answered."""
    request = built.request
    secret_headers = _list_secret_headers(prepared.config)
    description: dict[str, Json] = {
        "method": request.method,
        "url": request.url,
        "headers": {
            name: _MASK if name.lower() in secret_headers else value
            for name, value in request.headers
        },
    }
    if request.params:
        authorization = prepared.config.authorization
        secret_name = authorization.key if authorization.type == "in-query" else None
        description["params"] = [
            [name, _MASK if name == secret_name else value] for name, value in request.params
        ]
    if (body := _describe_body(request)) is not None:
        description["body"] = body
    if built.is_repaired:
        description["body_note"] = _REPAIRED
    if response is not None and response.recorded_request is not None:
        description["sent"] = dict(response.recorded_request)
    return description


def _list_secret_headers(config: HttpConfig) -> frozenset[str]:
    authorization = config.authorization
    names = {item.key.strip().lower() for item in authorization.headers}
    if authorization.config is not None:
        names.add(authorization.config.header.strip().lower())
    return _SECRET_HEADERS | names


def _describe_body(request: HttpRequest) -> Json:
    if request.has_json:
        return request.json_value
    if request.form is not None:
        files = [[f.field, {"name": f.name, "size": len(f.content)}] for f in request.files]
        return [*map(list, request.form), *files]
    if request.content is None:
        return None
    try:
        return request.content[:_MAX_SHOWN_BYTES].decode()
    except UnicodeDecodeError:
        return {"size": len(request.content)}


def _clean_header(value: str) -> str:
    return value.encode("utf-8", "replace").decode().replace("\x00", "")


def _find_problems(spec: NodeSpec, config: HttpConfig) -> Iterator[Problem]:
    """Yield the problems that can be found without a run. Values with references are not checked."""
    method = config.method.strip().upper()
    if method and method not in METHODS and not list_references(method):
        message = f"Method must be one of: {', '.join(METHODS)}"
        yield build_warning("http.method", message, node=spec.id, field="method")
    url = config.url.strip()
    if url and not url.lower().startswith(("http://", "https://", "{{#")):
        message = "The URL must start with http:// or https://"
        yield build_warning("http.url", message, node=spec.id, field="url")
    credentials = config.authorization.config
    has_key = credentials is not None and credentials.api_key.strip()
    if config.authorization.type == "api-key" and not has_key:
        message, field = "The authorization has no API key", "authorization.config.api_key"
        yield build_warning("http.authorization", message, node=spec.id, field=field)
    yield from _find_body_problems(spec, config)


def _find_body_problems(spec: NodeSpec, config: HttpConfig) -> Iterator[Problem]:
    body, method = config.body, config.method.strip().upper()
    if body.type != "none" and method in SAFE_METHODS:
        message = f"A {method} request is usually sent without a body; choose POST to send one"
        yield build_warning("http.method_body", message, node=spec.id, field="method")
    if body.type in ("json", "raw-text"):
        yield from _find_text_problems(spec, body)
    if body.type == "binary" and not body.items:
        message = "Body › File: choose a variable"
        yield build_warning("http.file", message, node=spec.id, field="body.data")
    for index, item in enumerate(body.items):
        if (item.type == "file" or body.type == "binary") and not item.file:
            message = f"Body › File {index + 1}: choose a variable"
            yield build_warning("http.file", message, node=spec.id, field=f"body.data.{index}.file")


def _find_text_problems(spec: NodeSpec, body: Body) -> Iterator[Problem]:
    """Yield the problems of a body that is one text: nothing in it, several texts, or no JSON where JSON is sent."""
    texts = [body.data] if isinstance(body.data, str) else [item.value for item in body.items]
    if not any(text.strip() for text in texts):
        yield build_warning("http.body", "The body is empty", node=spec.id, field="body.data")
    elif len(texts) > 1:
        message = f"A body of type {body.type} must have exactly one item"
        yield build_warning("http.body", message, node=spec.id, field="body.data")
    elif body.type == "json" and (slip := find_json_slip(texts[0])):
        line = texts[0].splitlines()[slip.line - 1 : slip.line]
        text = " ".join(line).strip()[:_MAX_SHOWN_LINE] or "…"
        ending = "; it is repaired when it is sent" if slip.is_repaired else ""
        code = "http.json_repaired" if slip.is_repaired else "http.json"
        message = f"Line {slip.line} of the body is no valid JSON: {text}{ending}"
        field = "body.data" if isinstance(body.data, str) else "body.data.0.value"
        yield build_warning(code, message, node=spec.id, field=field)

"""Makes a tool of an HTTP call to a service: builds the request, sends it, and reads the answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.errors import HttpFailed, NodeFailed
from workflows.engine.http_responses import decode_text
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.http_request import RequestInvalid, check_url
from workflows.engine.tools.local_tool import (
    LocalTool,
    RunTool,
    ToolServices,
    build_error,
)
from workflows.engine.tools.web.services import SERVICES, Account, WebService


TIMEOUT_SECONDS: Final = 60.0
MAX_BYTES: Final = 2 * 1024 * 1024
_MAX_ERROR: Final = 500
# What services answer to a missing or wrong key.
_REFUSALS: Final = frozenset({401, 403})

Values = Mapping[str, Json]
Pairs = Sequence[tuple[str, str]]


class AnswerInvalid(Exception):
    """The service answered something else than its protocol says."""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP call. ``path`` is appended to the service's address; a ``body`` is sent as JSON."""

    path: str
    method: str = "GET"
    params: Pairs = ()
    headers: Pairs = ()
    body: Json = None
    form: Mapping[str, str] | None = None
    base_url: str = ""  # instead of the service's


@dataclass(frozen=True, slots=True)
class WebTool:
    """A tool of a service. ``unused`` are parameters of another product's tool that have no effect here."""

    name: str
    title: str
    description: str
    service: str
    parameters: Mapping[str, Json]
    build: Callable[[Values], Call]
    read: Callable[[HttpResponse, Values], ToolResult]
    required: tuple[str, ...] = ("query",)
    unused: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)


def build_local_tool(tool: WebTool) -> LocalTool:
    """Return the tool. It accepts arguments beyond its parameters, since other products' documents set some."""
    schema = {
        "type": "object",
        "properties": dict(tool.parameters),
        "required": list(tool.required),
    }
    spec = ToolSpec(tool.name, tool.description, schema)
    return LocalTool(spec, _build_run(tool), title=tool.title, service=tool.service)


def _build_run(tool: WebTool) -> RunTool:
    service = SERVICES[tool.service]

    async def run(arguments: Values, services: ToolServices) -> ToolResult:
        account = await _find_account(service, services)
        if account is None:
            return build_error(describe_missing_account(service))
        try:
            request = _build_request(service, account, tool.build(arguments), arguments)
            response = await services.require_http().send(request)
            if response.status >= 400:
                return build_error(_describe_status(service, response, account))
            return tool.read(response, arguments)
        except (RequestInvalid, HttpFailed, NodeFailed, AnswerInvalid, ValueError) as failed:
            return build_error(_hide(f"{service.title}: {failed}", account))

    return run


async def _find_account(service: WebService, services: ToolServices) -> Account | None:
    """Return the account, an empty one for a service that needs none, or None."""
    account = await services.accounts.find(service.name) if services.accounts else None
    if account is None:
        return None if service.needs_account else Account()
    has_key = account.secret or service.key != "required"
    return account if has_key and (account.base_url or service.base_url) else None


def describe_missing_account(service: WebService) -> str:
    if service.base_url:
        return f"{service.title} needs an API key; enter it on the page Tools"
    return f"{service.title} needs the URL of a server; enter it on the page Tools"


def _build_request(
    service: WebService, account: Account, call: Call, arguments: Values
) -> HttpRequest:
    base = account.base_url or call.base_url or service.base_url
    base = base.replace("{language}", _clean_language(arguments.get("language")))
    is_json = call.body is not None
    headers = (
        *call.headers,
        *service.build_headers(account.secret),
        *([("Content-Type", "application/json")] if is_json else []),
    )
    return HttpRequest(
        call.method,
        check_url(f"{base.rstrip('/')}{call.path}"),
        headers,
        (*call.params, *service.build_params(account.secret)) or None,
        form=[*call.form.items()] if call.form else None,
        json_value=call.body,
        has_json=is_json,
        timeout_seconds=TIMEOUT_SECONDS,
        max_text_bytes=MAX_BYTES,
        max_binary_bytes=MAX_BYTES,
    )


def _clean_language(value: Json) -> str:
    text = str(value or "en").strip().lower()
    return text if text.replace("-", "").isalpha() and text.isascii() and len(text) <= 12 else "en"


def _describe_status(service: WebService, response: HttpResponse, account: Account) -> str:
    if response.status in _REFUSALS and service.key != "none":
        return f"{service.title} refused the API key (HTTP {response.status})"
    text = " ".join(decode_text(response).split())[:_MAX_ERROR]
    return _hide(f"{service.title} answered with HTTP {response.status}: {text}", account)


def _hide(text: str, account: Account) -> str:
    """Return the text without the key, which a service may repeat."""
    return text.replace(account.secret, "[secret]") if account.secret else text


def read_json(response: HttpResponse) -> Json:
    try:
        return json.loads(decode_text(response))
    except (ValueError, RecursionError) as error:
        raise AnswerInvalid("the answer is not JSON") from error


def list_objects(value: Json, key: str = "") -> list[Mapping[str, Json]]:
    """Return the objects in a list, or in the list under a key."""
    if key:
        value = value.get(key) if isinstance(value, Mapping) else None
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def format_hits(hits: Sequence[Mapping[str, Json]], *, link: str, text: str) -> str:
    """Return search results as text: title, address and excerpt of each."""
    parts = (
        "\n".join(filter(None, (str(hit.get(key) or "").strip() for key in ("title", link, text))))
        for hit in hits
    )
    return "\n\n".join(filter(None, parts)) or "No results"


def is_on(value: Json) -> bool:
    """Return whether a switch of a document is on, which may be written as a number or a text."""
    return str(value).strip().lower() in ("true", "1", "yes", "on")


def split_list(value: Json) -> list[str]:
    """Return the items of a list, or of a text with commas."""
    items = value if isinstance(value, list | tuple) else str(value or "").split(",")
    return [text for item in items if (text := str(item).strip())]


def read_count(value: Json, default: int, most: int) -> int:
    """Return a number of results within bounds; the default for what is no number."""
    try:
        return min(max(int(float(str(value))), 1), most)
    except (ValueError, OverflowError):
        return default

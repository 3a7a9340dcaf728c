"""The tool ``web_page``: fetches a page and returns its title and main text, in parts if it is long."""

import asyncio
from collections.abc import Mapping
from typing import Final

from workflows.engine.errors import HttpFailed, NodeFailed
from workflows.engine.http_responses import decode_text, get_media_type
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.html_text import PageText, extract_text
from workflows.engine.tools.http_request import RequestInvalid, check_url
from workflows.engine.tools.local_tool import LocalTool, ToolServices, build_error


MAX_PAGE_BYTES: Final = 1024 * 1024
MAX_CHARACTERS: Final = 50_000
DEFAULT_CHARACTERS: Final = 10_000
TIMEOUT_SECONDS: Final = 30.0
_HTML: Final = frozenset({"text/html", "application/xhtml+xml", ""})


async def read_page(arguments: Mapping[str, Json], services: ToolServices) -> ToolResult:
    try:
        response = await services.require_http().send(_build_request(arguments))
        page = await _read_text(response)
    except (RequestInvalid, HttpFailed, NodeFailed) as failed:
        return build_error(str(failed))
    return _cut(page, response, arguments)


def _build_request(arguments: Mapping[str, Json]) -> HttpRequest:
    agent = " ".join(str(arguments.get("user_agent") or "").split())[:300]
    return HttpRequest(
        "GET",
        check_url(arguments["url"]),
        (
            ("Accept", "text/html, text/plain;q=0.9, */*;q=0.1"),
            *([("User-Agent", agent)] if agent.isascii() and agent else []),
        ),
        timeout_seconds=TIMEOUT_SECONDS,
        max_text_bytes=MAX_PAGE_BYTES,
        max_binary_bytes=MAX_PAGE_BYTES,
    )


async def _read_text(response: HttpResponse) -> PageText:
    if response.status >= 400:
        raise RequestInvalid(f"The page answered with status {response.status}")
    media_type = get_media_type(response.headers)
    if media_type in _HTML:
        # Parsing a large page takes long enough to hold up other runs.
        return await asyncio.to_thread(extract_text, decode_text(response))
    if media_type.startswith("text/") or media_type.endswith(("json", "xml")):
        return PageText("", decode_text(response))
    raise RequestInvalid(f"The address has no page but a file of type {media_type[:80]}")


def _cut(page: PageText, response: HttpResponse, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the part of the page that was asked for, and where the next part begins."""
    start = int(arguments.get("start", 0))
    end = start + int(arguments.get("max_characters", DEFAULT_CHARACTERS))
    part = page.text[start:end]
    more = (
        f"\n\n[The page goes on: start={end} of {len(page.text)}]" if end < len(page.text) else ""
    )
    title = f"# {page.title}\n\n" if page.title and not start else ""
    data = {
        "title": page.title,
        "text": part,
        "url": response.url,
        "start": start,
        "characters": len(page.text),
    }
    return ToolResult(f"{title}{part}{more}" or "The page has no text", data=(data,))


WEB_PAGE: Final = LocalTool(
    ToolSpec(
        "web_page",
        gettext_noop("Fetch a web page and return its title and main text."),
        {
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": gettext_noop("Starts with http:// or https://"),
                },
                "start": {
                    "type": "integer",
                    "minimum": 0,
                    "description": gettext_noop("Where to begin in the text of a long page"),
                    "default": 0,
                },
                "user_agent": {
                    "type": "string",
                    "description": gettext_noop("The browser that the request names"),
                },
                "max_characters": {
                    "type": "integer",
                    "minimum": 100,
                    "maximum": MAX_CHARACTERS,
                    "default": DEFAULT_CHARACTERS,
                },
            },
            "required": ["url"],
            "additionalProperties": False,
        },
    ),
    read_page,
    title=gettext_noop("Web page"),
)

"""The services that read web pages: Jina Reader and Firecrawl."""

import json
from collections.abc import Mapping
from typing import Final

from workflows.engine.http_responses import decode_text
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpResponse
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult
from workflows.engine.tools.http_request import check_url
from workflows.engine.tools.web.calls import (
    Call,
    Values,
    WebTool,
    is_on,
    read_json,
    split_list,
)


_URL: Final = {"type": "string", "description": gettext_noop("Starts with http:// or https://")}
_SEARCH_URL: Final = "https://s.jina.ai"

# -- Jina -----------------------------------------------------------------------------------------

# The settings of a document → the headers of the service; a switch is sent as true.
_JINA_TEXTS: Final = {
    "target_selector": "X-Target-Selector",
    "wait_for_selector": "X-Wait-For-Selector",
    "remove_selector": "X-Remove-Selector",
    "retain_images": "X-Retain-Images",
    "proxy_server": "X-Proxy-Url",
}
_JINA_SWITCHES: Final = {
    "image_caption": "X-With-Generated-Alt",
    "gather_all_links_at_the_end": "X-With-Links-Summary",
    "gather_all_images_at_the_end": "X-With-Images-Summary",
    "no_cache": "X-No-Cache",
    "with_iframe": "X-With-Iframe",
}


def _build_jina_headers(values: Values) -> list[tuple[str, str]]:
    headers = [
        (header, str(values[name]).strip())
        for name, header in _JINA_TEXTS.items()
        if values.get(name) not in (None, "", "true", True)
    ]
    headers += [
        (header, "true") for name, header in _JINA_SWITCHES.items() if is_on(values.get(name))
    ]
    return headers


def _read_page(values: Values) -> Call:
    return Call(f"/{check_url(str(values['url']))}", headers=_build_jina_headers(values))


def _search_jina(values: Values) -> Call:
    headers = _build_jina_headers(values)
    return Call("/", params=[("q", str(values["query"]))], headers=headers, base_url=_SEARCH_URL)


def _read_text(response: HttpResponse, _values: Values) -> ToolResult:
    return ToolResult(decode_text(response) or "No content")


# -- Firecrawl ------------------------------------------------------------------------------------

_LISTS: Final = ("includeTags", "excludeTags")
_NUMBERS: Final = ("waitFor", "timeout")


def _scrape(values: Values) -> Call:
    body: dict[str, Json] = {
        "url": check_url(str(values["url"])),
        "formats": split_list(values.get("formats")) or ["markdown"],
    }
    if values.get("onlyMainContent") not in (None, ""):
        body["onlyMainContent"] = is_on(values["onlyMainContent"])
    for name in _LISTS:
        if items := split_list(values.get(name)):
            body[name] = items
    for name in _NUMBERS:
        if str(values.get(name) or "").strip().isdigit():
            body[name] = int(str(values[name]))
    if isinstance(headers := _parse_object(values.get("headers")), Mapping):
        body["headers"] = headers
    options = {
        "schema": _parse_object(values.get("schema")),
        "systemPrompt": values.get("systemPrompt"),
        "prompt": values.get("prompt"),
    }
    if extract := {name: value for name, value in options.items() if value}:
        body["extract"] = extract
    return Call("/v1/scrape", "POST", body=body)


def _parse_object(value: Json) -> Json:
    if not isinstance(value, str) or not value.strip():
        return value or None
    return json.loads(value)


def _map(values: Values) -> Call:
    body: dict[str, Json] = {"url": check_url(str(values["url"]))}
    if values.get("search"):
        body["search"] = str(values["search"])
    for name in ("ignoreSitemap", "includeSubdomains"):
        if values.get(name) not in (None, ""):
            body[name] = is_on(values[name])
    if str(values.get("limit") or "").strip().isdigit():
        body["limit"] = int(str(values["limit"]))
    return Call("/v1/map", "POST", body=body)


def _read_scrape(response: HttpResponse, _values: Values) -> ToolResult:
    answer = read_json(response)
    data = answer.get("data") if isinstance(answer, dict) else None
    page = data if isinstance(data, dict) else {}
    text = next((str(page[key]) for key in ("markdown", "html", "rawHtml") if page.get(key)), "")
    return ToolResult(text or json.dumps(page, ensure_ascii=False), data=(page,))


def _read_map(response: HttpResponse, _values: Values) -> ToolResult:
    answer = read_json(response)
    links = answer.get("links") if isinstance(answer, dict) else None
    text = "\n".join(map(str, links)) if isinstance(links, list) else ""
    return ToolResult(text or "No pages", data=(answer,))


TOOLS: Final = (
    WebTool(
        "jina_reader", gettext_noop("Jina Reader"),
        gettext_noop("Read a web page as Markdown with Jina Reader."), "jina",
        {"url": _URL, **{name: {} for name in (*_JINA_TEXTS, *_JINA_SWITCHES)}},
        _read_page, _read_text, required=("url",),
        unused={"summary": ("false", "0"), "max_retries": (3, "3"), "request_params": ()},
    ),
    WebTool(
        "jina_search", gettext_noop("Jina search"),
        gettext_noop("Search the web with Jina and read the pages found."), "jina",
        {"query": {"type": "string", "description": gettext_noop("What to search for")},
         **{name: {} for name in (*_JINA_TEXTS, *_JINA_SWITCHES)}},
        _search_jina, _read_text, unused={"max_retries": (3, "3")},
    ),
    WebTool(
        "scrape", gettext_noop("Firecrawl scrape"),
        gettext_noop("Read a web page as Markdown or data with Firecrawl."), "firecrawl",
        {"url": _URL, "formats": {}, "onlyMainContent": {}, "includeTags": {}, "excludeTags": {},
         "headers": {}, "waitFor": {}, "timeout": {}, "schema": {}, "systemPrompt": {},
         "prompt": {}},
        _scrape, _read_scrape, required=("url",),
    ),
    WebTool(
        "map", gettext_noop("Firecrawl map"),
        gettext_noop("List the pages of a website with Firecrawl."), "firecrawl",
        {"url": _URL, "search": {}, "ignoreSitemap": {}, "includeSubdomains": {}, "limit": {}},
        _map, _read_map, required=("url",),
    ),
)  # fmt: skip

"""The search engines: Tavily, Google by SerpApi, SearXNG, DuckDuckGo and Wikipedia."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qs, urlsplit

from workflows.engine.http_responses import decode_text
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpResponse
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolResult
from workflows.engine.tools.web.calls import (
    Call,
    Values,
    WebTool,
    format_hits,
    is_on,
    list_objects,
    read_count,
    read_json,
    split_list,
)


_QUERY: Final = {"type": "string", "description": gettext_noop("What to search for")}
_COUNT: Final = {"description": gettext_noop("The number of results")}
MAX_RESULTS: Final = 50


# -- Tavily ---------------------------------------------------------------------------------------


def _search_tavily(values: Values) -> Call:
    body: dict[str, Json] = {
        "query": values["query"],
        "search_depth": values.get("search_depth") or "basic",
        "topic": values.get("topic") or "general",
        "max_results": read_count(values.get("max_results"), 5, 20),
        "include_answer": is_on(values.get("include_answer")),
        "include_images": is_on(values.get("include_images")),
        "include_raw_content": is_on(values.get("include_raw_content")),
    }
    for name in ("include_domains", "exclude_domains"):
        if domains := split_list(values.get(name)):
            body[name] = domains
    for name in ("days", "time_range", "country"):
        if values.get(name) not in (None, "", "not_specified"):
            body[name] = values[name]
    return Call("/search", "POST", body=body)


def _read_tavily(response: HttpResponse, _values: Values) -> ToolResult:
    answer = read_json(response)
    hits = list_objects(answer, "results")
    summary = str(answer.get("answer") or "") if isinstance(answer, dict) else ""
    text = format_hits(hits, link="url", text="content")
    return ToolResult("\n\n".join(filter(None, (summary, text))), data=(answer,))


def _extract_tavily(values: Values) -> Call:
    body = {
        "urls": split_list(values["urls"]),
        "extract_depth": values.get("extract_depth") or "basic",
        "include_images": is_on(values.get("include_images")),
    }
    return Call("/extract", "POST", body=body)


def _read_extract(response: HttpResponse, _values: Values) -> ToolResult:
    answer = read_json(response)
    texts = [str(page.get("raw_content") or "") for page in list_objects(answer, "results")]
    return ToolResult("\n\n".join(filter(None, texts)) or "No content", data=(answer,))


# -- Google ---------------------------------------------------------------------------------------


def _search_google(values: Values) -> Call:
    params = [("engine", "google"), ("q", str(values["query"]))]
    names = ("location", "google_domain", "gl", "hl", "num", "start")
    params += [(name, str(values[name])) for name in names if values.get(name) not in (None, "")]
    return Call("/search", params=params)


def _read_google(response: HttpResponse, _values: Values) -> ToolResult:
    hits = [
        {key: hit.get(key) for key in ("title", "link", "snippet")}
        for hit in list_objects(read_json(response), "organic_results")
    ]
    return ToolResult(format_hits(hits, link="link", text="snippet"), data=tuple(hits))


# -- SearXNG --------------------------------------------------------------------------------------

# Dify's names of what is searched → the categories of SearXNG.
_CATEGORIES: Final = {"page": "general", "image": "images", "video": "videos"}


def _search_searxng(values: Values) -> Call:
    kind = str(values.get("search_type") or "general").strip().lower()
    params = [
        ("q", str(values["query"])),
        ("format", "json"),
        ("categories", _CATEGORIES.get(kind, kind)),
    ]
    if time_range := str(values.get("time_range") or ""):
        params.append(("time_range", time_range))
    return Call("/search", params=params)


def _read_searxng(response: HttpResponse, values: Values) -> ToolResult:
    count = read_count(values.get("num_results") or values.get("topK"), 10, MAX_RESULTS)
    hits = list_objects(read_json(response), "results")[:count]
    if str(values.get("result_type") or "").lower() == "link":
        text = "\n".join(str(hit.get("url") or "") for hit in hits) or "No results"
    else:
        text = format_hits(hits, link="url", text="content")
    return ToolResult(text, data=tuple(hits))


# -- DuckDuckGo -----------------------------------------------------------------------------------


class _ResultPage(HTMLParser):
    """Reads the results from the page for browsers without scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.hits: list[dict[str, str]] = []
        self._part = ""  # of the result that is being read: title, body, or none

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            return
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if "result__a" in classes:
            self.hits.append({"title": "", "href": _read_target(values["href"]), "body": ""})
            self._part = "title"
        elif "result__snippet" in classes and self.hits:
            self._part = "body"

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._part = ""

    def handle_data(self, data: str) -> None:
        if self._part:
            self.hits[-1][self._part] += data


def _read_target(link: str) -> str:
    """Return the address behind a link, which leads through the search engine."""
    targets = parse_qs(urlsplit(link).query).get("uddg")
    return targets[0] if targets else link


def _search_duckduckgo(values: Values) -> Call:
    headers = (("User-Agent", "Mozilla/5.0 (compatible; Mnemoflow)"),)
    return Call("/html/", "POST", form={"q": str(values["query"])}, headers=headers)


def _read_duckduckgo(response: HttpResponse, values: Values) -> ToolResult:
    page = _ResultPage()
    page.feed(decode_text(response))
    count = read_count(values.get("max_results"), 5, MAX_RESULTS)
    hits = [
        {name: " ".join(text.split()) for name, text in hit.items()} for hit in page.hits[:count]
    ]
    return ToolResult(format_hits(hits, link="href", text="body"), data=tuple(hits))


# -- Wikipedia ------------------------------------------------------------------------------------


def _search_wikipedia(values: Values) -> Call:
    params = [
        ("action", "query"),
        ("format", "json"),
        ("generator", "search"),
        ("gsrsearch", str(values["query"])[:300]),
        ("gsrlimit", "3"),
        ("prop", "extracts"),
        ("exintro", "1"),
        ("explaintext", "1"),
        ("exlimit", "3"),
    ]
    return Call("/w/api.php", params=params, headers=(("User-Agent", "Mnemoflow"),))


def _read_wikipedia(response: HttpResponse, _values: Values) -> ToolResult:
    answer = read_json(response)
    query = answer.get("query") if isinstance(answer, dict) else None
    pages = query.get("pages") if isinstance(query, dict) else None
    rows = list_objects([*pages.values()] if isinstance(pages, dict) else pages)
    rows.sort(key=_get_rank)
    text = "\n\n".join(
        f"Page: {row.get('title')}\nSummary: {row.get('extract') or ''}".strip() for row in rows
    )
    data = tuple({"title": row.get("title"), "summary": row.get("extract")} for row in rows)
    return ToolResult(text or "No good Wikipedia Search Result was found", data=data)


def _get_rank(row: Mapping[str, Json]) -> int:
    index = row.get("index")
    return index if isinstance(index, int) else MAX_RESULTS


TOOLS: Final = (
    WebTool(
        "tavily_search", gettext_noop("Tavily search"),
        gettext_noop("Search the web with Tavily, which returns the content of the pages."),
        "tavily",
        {
            "query": _QUERY,
            "search_depth": {"type": "string", "enum": ["basic", "advanced"]},
            "topic": {"type": "string"},
            "max_results": _COUNT,
            **{name: {} for name in ("include_answer", "include_images", "include_raw_content")},
            **{name: {} for name in ("include_domains", "exclude_domains", "days", "time_range")},
        },
        _search_tavily, _read_tavily,
    ),
    WebTool(
        "tavily_extract", gettext_noop("Tavily extract"),
        gettext_noop("Read the content of web pages with Tavily."), "tavily",
        {"urls": {"description": gettext_noop("One URL, or several with commas")},
         "extract_depth": {}, "include_images": {}},
        _extract_tavily, _read_extract, required=("urls",),
    ),
    WebTool(
        "google_search", gettext_noop("Google search"),
        gettext_noop("Search the web with Google, through SerpApi."), "google",
        {"query": _QUERY, **{name: {} for name in ("location", "gl", "hl", "num", "start")}},
        _search_google, _read_google, unused={"result_type": ("text", "link")},
    ),
    WebTool(
        "searxng_search", gettext_noop("SearXNG search"),
        gettext_noop("Search the web with your own SearXNG server."), "searxng",
        {"query": _QUERY, "search_type": {}, "result_type": {}, "num_results": _COUNT,
         "time_range": {}},
        _search_searxng, _read_searxng,
    ),
    WebTool(
        "ddgo_search", gettext_noop("DuckDuckGo search"),
        gettext_noop("Search the web with DuckDuckGo."), "duckduckgo",
        {"query": _QUERY, "max_results": _COUNT},
        _search_duckduckgo, _read_duckduckgo,
        unused={"require_summary": ("false", "0", 0)},
    ),
    WebTool(
        "wikipedia_search", "Wikipedia",
        gettext_noop("Find the introductions of Wikipedia's pages about something."), "wikipedia",
        {"query": _QUERY, "language": {"description": gettext_noop("Such as en or zh")}},
        _search_wikipedia, _read_wikipedia,
    ),
)  # fmt: skip

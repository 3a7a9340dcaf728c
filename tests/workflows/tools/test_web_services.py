"""The tools that call services on the web, against servers that speak the real protocols."""

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.serving import serving
from workflows.engine.tool_calls import ToolReference, ToolResult
from workflows.engine.tools.port import LocalTools
from workflows.engine.tools.web.services import SERVICES, Account
from workflows.engine.tools.web.table import UNUSED_ARGUMENTS, WEB_TOOLS
from workflows.execution.ports.http import GuardedHttp


KEY = "key-0123456789"
HITS = [{"title": "One", "url": "https://one.example", "content": "First"}]
DUCK = """
<div class="result"><h2><a rel="nofollow" class="result__a"
href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa&amp;rut=1">One <b>two</b></a></h2>
<a class="result__snippet" href="x">First
 text</a></div>
<div class="result"><a class="result__a" href="https://two.example">Two</a></div>
"""
# path → the answer of the service there
ANSWERS: Mapping[str, Any] = {
    "POST /tavily/search": {"query": "cats", "answer": "Cats are animals.", "results": HITS},
    "POST /tavily/extract": {"results": [{"url": "https://one.example", "raw_content": "Whole"}]},
    "GET /google/search": {"organic_results": [
        {"title": "One", "link": "https://one.example", "snippet": "First", "position": 1}]},
    "GET /searxng/search": {"results": [*HITS, {"title": "Two", "url": "https://two.example"}]},
    "POST /duckduckgo/html/": DUCK,
    "GET /wikipedia/w/api.php": {"query": {"pages": {
        "7": {"index": 2, "title": "Dog", "extract": "A dog."},
        "8": {"index": 1, "title": "Cat", "extract": "A cat."}}}},
    "GET /jina/https://one.example/a": "# One",
    "GET /jina/": "[1] Title: One",
    "POST /firecrawl/v1/scrape": {"success": True, "data": {"markdown": "# One", "metadata": {}}},
    "POST /firecrawl/v1/map": {"success": True, "links": ["https://one.example/a"]},
    "POST /broken/search": "no JSON",
    "POST /refused/search": (401, f"Invalid key {KEY}"),
    "POST /faulty/search": (500, f"Out of order, {KEY}"),
}  # fmt: skip


class Server(ThreadingHTTPServer):
    """A fake of every service; ``requests`` are those it received."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_args: Any) -> None:
        """Keep the output of the tests free of requests."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        url = urlsplit(self.path)
        is_json = self.headers.get("Content-Type", "").startswith("application/json")
        self.server.requests.append(
            {
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "params": {name: values[0] for name, values in parse_qs(url.query).items()},
                "body": json.loads(body) if is_json and body else parse_qs(body),
            }
        )
        answer = ANSWERS.get(f"{self.command} {url.path}", (404, "nothing here"))
        status, content = answer if isinstance(answer, tuple) else (200, answer)
        text = content if isinstance(content, str) else json.dumps(content)
        self.send_response(status)
        kind = "text/plain" if isinstance(content, str) else "application/json"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    fake = Server()
    with serving(fake):
        yield fake


class Accounts:
    """The accounts of a team, whose services are all the fake server."""

    def __init__(self, url: str, secret: str = KEY, path: str = "") -> None:
        self.url, self.secret, self.path = url, secret, path

    async def find(self, service: str) -> Account | None:
        return Account(f"{self.url}/{self.path or service}", self.secret)


async def call(accounts: Any, name: str, **arguments: Any) -> ToolResult:
    allowed = [urlsplit(accounts.url).netloc] if isinstance(accounts, Accounts) else []
    tools = LocalTools(http=GuardedHttp(allow=allowed), accounts=accounts)
    (tool,) = await tools.find([ToolReference("builtin", name)])
    return await tools.call(tool, arguments, idempotency_key="key")


# the tool, its arguments as documents have them, its text, and what the service was sent
CALLS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("tavily_search",
     {"query": "cats", "search_depth": "advanced", "max_results": "3", "include_answer": 1,
      "include_domains": "a.example, b.example", "exclude_domains": ""},
     "Cats are animals.\n\nOne\nhttps://one.example\nFirst",
     {"body": {"query": "cats", "search_depth": "advanced", "topic": "general", "max_results": 3,
               "include_answer": True, "include_images": False, "include_raw_content": False,
               "include_domains": ["a.example", "b.example"]}}),
    ("tavily_extract", {"urls": "https://one.example"}, "Whole",
     {"body": {"urls": ["https://one.example"], "extract_depth": "basic",
               "include_images": False}}),
    ("google_search", {"query": "cats", "hl": "de"}, "One\nhttps://one.example\nFirst",
     {"params": {"engine": "google", "q": "cats", "hl": "de", "api_key": KEY}}),
    ("searxng_search",
     {"query": "cats", "search_type": "Page", "result_type": "link", "num_results": 1},
     "https://one.example", {"params": {"q": "cats", "format": "json", "categories": "general"}}),
    ("ddgo_search", {"query": "cats", "max_results": 1, "require_summary": "0"},
     "One two\nhttps://one.example/a\nFirst text", {"body": {"q": ["cats"]}}),
    ("wikipedia_search", {"query": "cats", "language": "de"},
     "Page: Cat\nSummary: A cat.\n\nPage: Dog\nSummary: A dog.", {}),
    ("jina_reader",
     {"url": "https://one.example/a", "target_selector": "#main", "no_cache": 1,
      "image_caption": "0", "max_retries": 3}, "# One", {}),
    ("jina_search", {"query": "cats"}, "[1] Title: One", {"params": {"q": "cats"}}),
    ("scrape",
     {"url": "https://one.example", "formats": "markdown,links", "onlyMainContent": "true",
      "waitFor": "100", "excludeTags": "nav", "prompt": "", "headers": '{"X-A": "1"}'}, "# One",
     {"body": {"url": "https://one.example", "formats": ["markdown", "links"],
               "onlyMainContent": True, "waitFor": 100, "excludeTags": ["nav"],
               "headers": {"X-A": "1"}}}),
    ("map", {"url": "https://one.example", "limit": 5}, "https://one.example/a",
     {"body": {"url": "https://one.example", "limit": 5}}),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize(("name", "arguments", "text", "sent"), CALLS, ids=[c[0] for c in CALLS])
async def test_tool_speaks_the_protocol_of_its_service(
    server: Server, name: str, arguments: dict[str, Any], text: str, sent: dict[str, Any]
) -> None:
    result = await call(Accounts(server.url), name, **arguments)

    assert (result.is_error, result.text) == (False, text)
    received = server.requests[-1]
    for part, expected in sent.items():
        assert received[part] == expected
    service = next(tool.service for tool in WEB_TOOLS if tool.spec.name == name)
    has_header = received["headers"].get("authorization") == f"Bearer {KEY}"
    assert has_header is (service != "google")


def test_every_tool_is_tried() -> None:
    assert {tool.spec.name for tool in WEB_TOOLS} == {case[0] for case in CALLS}
    assert set(UNUSED_ARGUMENTS) == {case[0] for case in CALLS}


@pytest.mark.asyncio
async def test_settings_of_jina_are_headers(server: Server) -> None:
    await call(Accounts(server.url), "jina_reader", **CALLS[6][1])

    headers = server.requests[-1]["headers"]
    assert (headers["x-target-selector"], headers["x-no-cache"]) == ("#main", "true")
    assert "x-with-generated-alt" not in headers


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("refused", "Tavily refused the API key (HTTP 401)"),
        ("faulty", "Tavily answered with HTTP 500: Out of order, [secret]"),
        ("broken", "Tavily: the answer is not JSON"),
    ],
)
async def test_failures_are_results_that_hide_the_key(
    server: Server, path: str, message: str
) -> None:
    result = await call(Accounts(server.url, path=path), "tavily_search", query="cats")

    assert (result.is_error, result.text) == (True, message)


class NoAccounts:
    async def find(self, service: str) -> Account | None:
        return None


@pytest.mark.asyncio
@pytest.mark.parametrize("accounts", [None, NoAccounts()])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tavily_search", "Tavily needs an API key; enter it on the page Tools"),
        ("searxng_search", "SearXNG needs the URL of a server; enter it on the page Tools"),
    ],
)
async def test_tool_without_the_account_that_it_needs_says_what_to_do(
    accounts: Any, name: str, message: str
) -> None:
    result = await call(accounts, name, query="cats")

    assert (result.is_error, result.text) == (True, message)


def test_services_without_an_account_have_an_address() -> None:
    assert all(service.base_url for service in SERVICES.values() if not service.needs_account)


@pytest.mark.asyncio
async def test_address_inside_the_network_is_not_asked() -> None:
    tools = LocalTools(http=GuardedHttp(), accounts=Accounts("http://127.0.0.1:9"))
    (tool,) = await tools.find([ToolReference("builtin", "tavily_search")])

    result = await tools.call(tool, {"query": "cats"}, idempotency_key="key")

    assert result.is_error

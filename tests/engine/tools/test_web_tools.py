"""The tools that fetch from the web: what they make of pages and responses, and how large these may be."""

from typing import Any

import pytest

from tests.engine.tools.conftest import CallTool
from tests.support.processor_time import limit_cpu
from workflows.engine.testing.fake_server import FakeServer
from workflows.engine.tools.html_text import extract_text


URL = "https://example.test/page"
ARTICLE = "A long sentence of the article. " * 10
PAGE = f"""<!doctype html><html><head><title> The
 title </title><style>p {{}}</style></head><body><nav><a href="/">Home</a></nav>
<main><h1>Heading</h1><p>One<br>two &amp; <b>three</b></p><ul><li>first</li><li>second</li></ul>
<table><tr><td>a</td><td>b</td></tr></table><pre>x
  y</pre><p>{ARTICLE}</p><script>alert("<p>no</p>")</script></main>
<footer>Imprint</footer></body></html>"""


def html(body: str, **headers: str) -> dict[str, Any]:
    return {
        "status": 200,
        "headers": {"content-type": "text/html; charset=utf-8", **headers},
        "body": body,
    }


async def test_page_is_its_title_and_its_main_text(call: CallTool, server: FakeServer) -> None:
    server.responses = [html(PAGE)]

    result = await call("web_page", url=URL)

    assert result.text.startswith("# The title\n\n# Heading\n\nOne\ntwo & three\n")
    assert "- first" in result.text
    assert "| a | b" in result.text
    assert "x\ny" in result.text
    assert ARTICLE.strip() in result.text
    for word in ("Home", "Imprint", "alert", "{}"):
        assert word not in result.text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>Short page", "Short page"),
        ("<nav>Only links</nav>", "Only links"),
        ("<main>tiny</main><p>The rest of the page</p>", "tiny\n\nThe rest of the page"),
        ("<head><body>The head has no end", "The head has no end"),
        ("<div hidden><p>a<p>b</div>", "a\nb"),
        ("just text", "just text"),
        ("", ""),
    ],
)
def test_text_of_incomplete_pages(body: str, text: str) -> None:
    assert extract_text(body).text == text


async def test_long_page_comes_in_parts(call: CallTool, server: FakeServer) -> None:
    server.responses = [html(f"<p>{'abcdefghi ' * 100}</p>")]

    first = await call("web_page", url=URL, max_characters=100)
    rest = await call("web_page", url=URL, start=950, max_characters="100")

    assert first.text.endswith("[The page goes on: start=100 of 999]")
    assert rest.text == "abcdefghi " * 4 + "abcdefghi"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status": 404, "body": "gone"}, "status 404"),
        ({"status": 200, "headers": {"content-type": "image/png"}, "body": "x"}, "type image/png"),
        ({"network_error": "The address is not allowed"}, "The address is not allowed"),
    ],
)
async def test_page_that_can_not_be_read_is_a_result(
    call: CallTool, server: FakeServer, response: dict[str, Any], reason: str
) -> None:
    server.responses = [response]

    result = await call("web_page", url=URL)

    assert result.is_error
    assert reason in result.text


@pytest.mark.parametrize("name", ["web_page", "http_request"])
@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.b/", "//a.b", "https://a b", "javascript:1", "https://a/" + "x" * 9000])  # fmt: skip
async def test_url_is_checked(call: CallTool, server: FakeServer, name: str, url: str) -> None:
    server.responses = [html("never")]

    result = await call(name, url=url)

    assert result.is_error
    assert "url" in result.text
    assert server.requests == []


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000,
        "<!--" * 250_000,
        "<![CDATA[" * 100_000,
        "<a " * 300_000 + ">",
        "<a href='" * 100_000,
        "</" * 500_000 + ">",
        "<p>&#" + "9" * 900_000 + ";",
        "<script>" + "</scrip" * 140_000,
        "&" * 1_000_000,
        "&#" * 500_000,
        "<p>" + "\n" * 1_000_000,
        "<?" * 500_000 + ">",
        "<!" * 500_000,
        "<title>" + "x" * 1_000_000,
    ],
)
@pytest.mark.timed  # regular expressions can't be counted
def test_hostile_page_ends_soon(body: str) -> None:
    with limit_cpu(10):
        page = extract_text(body)
    assert len(page.title) <= 500


async def test_request_is_sent_as_the_arguments_say(call: CallTool, server: FakeServer) -> None:
    server.responses = [
        {"status": 201, "headers": {"content-type": "application/json"}, "body": '{"id": 7}'}
    ]

    result = await call(
        "http_request",
        url=" https://example.test/pets ",
        method="POST",
        headers={"X-A": "1"},
        params={"page": 2},
        body={"name": "Rex"},
    )

    (request,) = server.requests
    assert (request.method, request.url) == ("POST", "https://example.test/pets")
    assert request.headers == (("X-A", "1"), ("Content-Type", "application/json"))
    assert (request.json_value, request.params) == ({"name": "Rex"}, [("page", "2")])
    assert request.idempotency_key == "key"
    assert result.text == 'HTTP 201\n\n{"id": 7}'
    assert result.data[0]["status_code"] == 201


async def test_error_status_is_an_error_with_the_body(call: CallTool, server: FakeServer) -> None:
    server.responses = [
        {"status": 422, "headers": {"content-type": "text/plain"}, "body": "no such pet"}
    ]

    result = await call("http_request", url=URL)

    assert (result.is_error, result.text) == (True, "HTTP 422\n\nno such pet")
    assert server.requests[0].idempotency_key is None


async def test_file_is_described_and_not_shown(call: CallTool, server: FakeServer) -> None:
    server.responses = [
        {"status": 200, "headers": {"content-type": "application/pdf"}, "body": "%PDF"}
    ]

    result = await call("http_request", url=URL)

    assert result.text == "HTTP 200: a file page (application/pdf, 4 bytes)"
    assert result.files[0]["remote_url"] == URL


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"headers": {"Host": "internal"}}, "'Host' can't be set"),
        ({"headers": {"A\r\nB": "1"}}, "can't be set"),
        ({"headers": {"A": "1\r\nB: 2"}}, "control character"),
        ({"headers": {f"h{n}": "1" for n in range(51)}}, "more than 50 headers"),
        ({"method": "TRACE"}, "method is not one of"),
        ({"body": "x" * 1_100_000}, "larger than 1,048,576 bytes"),
        ({"headers": "Authorization: x"}, "headers is not of type object"),
    ],
)
async def test_request_that_can_not_be_sent_is_named(
    call: CallTool, server: FakeServer, arguments: dict[str, Any], reason: str
) -> None:
    result = await call("http_request", url=URL, **arguments)

    assert result.is_error
    assert reason in result.text
    assert server.requests == []


async def test_large_result_is_cut(call: CallTool, server: FakeServer) -> None:
    server.responses = [
        {"status": 200, "headers": {"content-type": "text/plain"}, "body": "x" * 900_000}
    ]

    result = await call("http_request", url=URL)

    assert len(result.text) < 101_000
    assert "more characters]" in result.text

"""APIs and OpenAPI documents of somebody who means harm: each attack is bounded, and nothing inside is contacted."""

import gzip
import itertools
import json
import socket
from typing import Any

import pytest

from config import net
from tests.config.test_net_hostile import contacts
from tests.fakes.hostile_http import HostileHttp, chunked
from tests.fakes.http_server import FakeHttp, Reply
from tests.support.steps import count_steps
from workflows.engine.errors import ToolFailed
from workflows.tools.openapi import calls
from workflows.tools.openapi.calls import call_operation
from workflows.tools.openapi.documents import MAX_URL, read_description
from workflows.tools.openapi.security import Security
from workflows.tools.operations import MAX_OPERATIONS, Operation
from workflows.tools.results import MAX_TEXT


__all__ = ["contacts"]  # a fixture

SECRET = "s3cret-0123456789"
TOO_LONG = "took too long"
USUAL_SECONDS = calls.SECONDS

GET = Operation(
    "get",
    parameters={"type": "object", "properties": {}},
    call={"method": "GET", "path": "/x", "arguments": {}, "body_type": ""},
)
FIND = Operation(
    "find",
    parameters={
        "type": "object",
        "properties": {"id": {"type": "string"}, "q": {}, "X-Trace": {"type": "string"}},
    },
    call={
        "method": "GET",
        "path": "/books/{id}/pages",
        "arguments": {
            "id": ["path", "id", ","],
            "q": ["query", "q", ","],
            "X-Trace": ["header", "X-Trace", ","],
        },
        "body_type": "",
    },
)
WRITE = Operation(
    "write",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}},
    call={
        "method": "POST",
        "path": "/x",
        "arguments": {"text": ["body", "text", ""]},
        "body_type": "json",
    },
)


async def call(
    base_url: str, operation: Operation = GET, security: Security | None = None, **arguments: Any
) -> Any:
    """Call an operation. No attack uses up the time of a call, unless the test expects it."""
    try:
        return await call_operation(
            operation,
            arguments,
            base_url=base_url,
            security=security or Security(),
            secret=SECRET if security else None,
            idempotency_key="run:1",
        )
    except ToolFailed as failed:
        if TOO_LONG in str(failed) and calls.SECONDS == USUAL_SECONDS:
            pytest.fail("the attack used up the time of the call")
        raise


# -- answers without an end, or far too large -----------------------------------------------------

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
ENDLESS = itertools.repeat(b"x" * 65536)


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        pytest.param(OK + b"\r\n", ENDLESS, id="until it closes"),
        pytest.param(OK + b"transfer-encoding: chunked\r\n\r\n", chunked(ENDLESS), id="chunked"),
        pytest.param(OK + b"content-length: 104857600\r\n\r\n", ENDLESS, id="100 MB"),
        pytest.param(
            OK.replace(b"text/plain", b"text/event-stream") + b"\r\n",
            itertools.repeat(b"data: x\n\n" * 5000),
            id="event stream",
        ),
        pytest.param(
            OK + b"content-encoding: gzip\r\n\r\n",
            [gzip.compress(b"\0" * 50_000_000)],
            id="compressed",
        ),
    ],
)
async def test_answer_that_is_too_large_is_cut_off(head: bytes, body: Any) -> None:
    with HostileHttp(head, body) as server:
        answer = await call(server.base_url)

        assert (answer.is_error, answer.text) == (True, "The response is larger than 1 MB")
        assert server.sent < 20_000_000  # what the buffers of the sockets took


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n", itertools.repeat(b"x: y\r\n"), id="headers"),
        pytest.param(OK + b"content-length: 1000\r\n\r\n", itertools.repeat(b"x"), id="body"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", itertools.repeat(b""), id="silence"),
        pytest.param(
            b"", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), id="endless interim answers"
        ),
    ],
)
async def test_slow_answer_is_given_up(
    head: bytes, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "SECONDS", 0.4)

    with (
        HostileHttp(head, body, pause=0.05) as server,
        pytest.raises(ToolFailed, match=TOO_LONG) as failure,
    ):
        await call(server.base_url)

    assert failure.value.retryable


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "head",
    [
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort",
        b"",
    ],
)
async def test_answer_that_is_no_http_is_told(head: bytes) -> None:
    with HostileHttp(head) as server, pytest.raises(ToolFailed):
        await call(server.base_url)


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": ' + b"9" * 500_000 + b"}",
        b'{"a": 1e999999}',
        b'"' + b"\\ud800" * 100_000 + b'"',
        b'{"' + b"\\u0000" * 100_000 + b'": 1}',
        b"\xff\xfe" * 400_000,
        b'{"a": 1, "a": 2}',
    ],
)
async def test_json_that_breaks_parsers_is_only_text(body: bytes) -> None:
    with FakeHttp() as server:
        server.answers(Reply(200, body, {"content-type": "application/json"}))
        answer = await call(server.base_url)

    assert list(answer.data) == []
    assert len(answer.text) < MAX_TEXT + 100
    answer.text.encode()
    assert "\x00" not in answer.text


# -- ways inside ----------------------------------------------------------------------------------

INWARD = [
    "http://127.0.0.1:1/", "http://127.0.0.1/", "http://[::1]/", "http://localhost/",
    "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/",
    "http://[::ffff:169.254.169.254]/", "http://2852039166/", "http://10.0.0.1/", "//10.0.0.1/",
    "http://user:password@127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x",
    "http://rebound.test/", "javascript:alert(1)", "http://[",
]  # fmt: skip


def allow(monkeypatch: pytest.MonkeyPatch, *servers: str) -> None:
    allowed = net.parse_allowed([url.removeprefix("http://") for url in servers])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let every name resolve to the addresses, one after the other. Return the names that are asked."""
    asked: list[str] = []
    answers = iter(addresses)
    resolve = socket.getaddrinfo

    def answer(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        if str(host).endswith(".test"):
            asked.append(str(host))
            host = next(answers)
        return resolve(host, port, *more, **options)

    monkeypatch.setattr("config.net.backends.socket.getaddrinfo", answer)
    return asked


@pytest.mark.parametrize("target", INWARD)
async def test_redirect_inward_is_not_followed(
    target: str, monkeypatch: pytest.MonkeyPatch, contacts: list[Any]
) -> None:
    with FakeHttp() as server:
        allow(monkeypatch, server.base_url)
        resolve_to(monkeypatch, "169.254.169.254")
        server.answers(Reply(302, b"", {"location": target}))
        with pytest.raises(ToolFailed) as failure:
            await call(server.base_url, security=Security("header", "X-Key"))

        assert len(server.requests) == 1
        assert {port for _host, port in contacts} == {int(server.address.split(":")[1])}
        assert SECRET not in str(failure.value)


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "10.0.0.5", "fe80::1", "::1"])
async def test_name_that_was_public_once_is_checked_at_each_call(
    address: str, monkeypatch: pytest.MonkeyPatch, contacts: list[Any]
) -> None:
    asked = resolve_to(monkeypatch, address)

    with pytest.raises(ToolFailed, match="NET_ALLOW"):
        await call("http://rebound.test", security=Security("bearer"))

    assert asked == ["rebound.test"]
    assert contacts == []


@pytest.mark.usefixtures("loopback")
async def test_redirects_without_an_end_are_given_up() -> None:
    with FakeHttp() as server:
        server.answers(Reply(302, b"", {"location": "/x"}))
        with pytest.raises(ToolFailed, match="redirects too often"):
            await call(server.base_url)

        assert len(server.requests) == 6


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "security",
    [
        Security("bearer"),
        Security("basic"),
        Security("header", "X-Key"),
        Security("query", "key"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_credential_and_body_stay_with_the_server_they_are_for(
    security: Security, status: int
) -> None:
    with FakeHttp() as other, FakeHttp() as server:
        server.answers(Reply(status, b"", {"location": f"{other.base_url}/steal"}))
        if status in (307, 308):
            with pytest.raises(ToolFailed, match="body to another site"):
                await call(server.base_url, WRITE, security, text="private text")
        else:
            await call(server.base_url, WRITE, security, text="private text")
        [first] = server.requests

        assert "private text" in str(first.body)
        for request in other.requests:
            assert (request.path, request.body) == ("/steal", b"")
            assert request.headers.keys() <= {
                "host", "accept", "accept-encoding", "user-agent", "connection", "content-type",
            }  # fmt: skip


# -- arguments that would become another request --------------------------------------------------


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "value",
    [
        "../admin", "a/../../admin", "..%2fadmin", "%2e%2e", "..;/admin", "a?admin=1", "a#b", "a\\b",
        "//evil.test", "@evil.test", "http://evil.test/", "{id}", "{q}", "a b", "a%00b", "用户", "a&b=c",
    ],
)  # fmt: skip
async def test_value_in_the_path_stays_one_segment(value: str) -> None:
    with FakeHttp() as server:
        await call(server.base_url, FIND, id=value)
        [request] = server.requests

    _empty, books, segment, pages = request.path.split("/")
    assert (books, pages) == ("books", "pages")
    assert not set(segment) & set("?#\\@ {}")
    assert request.headers["host"] == server.address


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "value", ["1&admin=1", "1#x", "1\r\nX-Evil: 1", "1;admin=1", "1%26admin=1", "?", "\x00"]
)
async def test_value_in_the_query_stays_one_parameter(value: str) -> None:
    with FakeHttp() as server:
        await call(server.base_url, FIND, id="1", q=value)
        [request] = server.requests

    assert request.path.startswith("/books/1/pages?q=")
    assert not set(request.path.partition("?q=")[2]) & set("&#;\r\n")
    assert "x-evil" not in request.headers


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "arguments",
    [
        {"id": ".."}, {"id": "."}, {"id": ""}, {"id": "\ud800"}, {"id": "1", "q": "\udfff"},
        {"id": "1", "X-Trace": "1\r\nX-Evil: 1"}, {"id": "1", "X-Trace": "é"},
        {"id": "1", "X-Trace": "\x00"}, {"id": "1", "host": "evil.test"}, {"id": "1", "X-Trace": None, "z": 1},
    ],
)  # fmt: skip
async def test_value_that_cannot_be_sent_safely_is_not_sent(arguments: dict[str, Any]) -> None:
    with FakeHttp() as server:
        answer = await call(server.base_url, FIND, **arguments)

        assert (answer.is_error, server.requests) == (True, [])
        assert answer.text.startswith("Invalid arguments")


@pytest.mark.usefixtures("loopback")
async def test_body_that_is_no_text_is_not_sent() -> None:
    with FakeHttp() as server:
        answer = await call(server.base_url, WRITE, text="\ud800")

        assert (answer.is_error, server.requests) == (True, [])


@pytest.mark.usefixtures("loopback")
async def test_argument_cannot_replace_the_headers_of_the_request() -> None:
    names = ("Host", "Content-Length", "Transfer-Encoding", "Connection", "Authorization", "Cookie")
    parameters = [{"name": name, "in": "header", "schema": {"type": "string"}} for name in names]
    document = {"openapi": "3.0.0", "paths": {"/x": {"get": {"parameters": parameters}}}}
    [operation] = read_description(json.dumps(document)).operations
    arguments = dict.fromkeys(operation.parameters["properties"], "7")

    with FakeHttp() as server:
        await call(server.base_url, operation, Security("bearer"), **arguments)
        [request] = server.requests

    assert "7" not in request.headers.values()
    assert request.headers["authorization"] == f"Bearer {SECRET}"


# -- documents that take long, or fill the memory --------------------------------------------------

SCHEMAS: dict[str, Any] = {  # A has 60 fields of B, each with 60 of C
    "A": {"properties": {f"p{k}": {"$ref": "#/components/schemas/B"} for k in range(60)}},
    "B": {"properties": {f"p{k}": {"$ref": "#/components/schemas/C"} for k in range(60)}},
}
BODY = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}
OPERATIONS = {f"/{number}": {"post": {"requestBody": BODY}} for number in range(MAX_OPERATIONS)}
SHARED = {f"/{number}": {"$ref": "#/x-shared"} for number in range(MAX_OPERATIONS)}


def with_schema(schema: Any, **more: Any) -> dict[str, Any]:
    return {"paths": OPERATIONS, "components": {"schemas": SCHEMAS | {"C": schema}}} | more


BOMBS: dict[str, dict[str, Any]] = {
    "references to references": with_schema({"$ref": "#/components/schemas/A"}),
    "long reference": with_schema({"$ref": "#" + "/x" * 125_000}),
    "many keys beside it": with_schema({}, **{f"x-{n}": 1 for n in range(12_500)}),
    "wide object": with_schema({"properties": {f"p{n}": {} for n in range(12_500)}}),
    "many required names": with_schema({"properties": {"a": {}}, "required": ["b"] * 50_000}),
    "many types": with_schema({"type": ["string"] * 25_000}),
    "many choices": with_schema({"anyOf": [{}] * 50_000, "enum": ["x"] * 25_000}),
    "many parameters": {
        "paths": SHARED,
        "x-shared": {"get": {}, "parameters": [{"name": "a", "in": "query"}] * 8_000},
    },
    "many forms of the body": {
        "paths": SHARED,
        "x-shared": {"post": {"requestBody": {"content": {f"x/{n}": {} for n in range(10_000)}}}},
    },
    "ten thousand operations": {
        "paths": {f"/{n}": {"get": {}, "post": {}} for n in range(5000)},
    },
    "equal names": {"paths": {f"/{n}": {"get": {"operationId": "x"}} for n in range(5000)}},
    "growing server": {
        "paths": {"/x": {"get": {}}},
        "servers": [{"url": "{a}" * 50_000, "variables": {"a": {"default": "x" * 225_000}}}],
    },
    "doubling server": {
        "paths": {"/x": {"get": {}}},
        "servers": [
            {
                "url": "https://{a0}",
                "variables": {f"a{n}": {"default": f"{{a{n + 1}}}" * 600} for n in range(20)},
            }
        ],
    },
    "many security schemes": {
        "paths": {"/x": {"get": {}}},
        "security": [{"key": []}] * 25_000,
        "components": {"securitySchemes": {"key": {"type": "mutualTLS"}}},
    },
}


@pytest.mark.parametrize("name", BOMBS)
def test_document_that_explodes_is_read_quickly(name: str) -> None:
    text = json.dumps({"openapi": "3.1.0", **BOMBS[name]})
    with count_steps(10_000_000):
        api = read_description(text)
    assert len(api.operations) <= MAX_OPERATIONS
    assert len(api.base_url) <= MAX_URL
    sizes = [len(json.dumps(operation.to_json())) for operation in api.operations]
    assert max(sizes) < 50_000

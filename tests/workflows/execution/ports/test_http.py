"""HTTP nodes over the guarded client, against a real server on loopback which the test allows."""

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttp, Reply
from tests.support.documents import document, end, node, start
from tests.support.local_files import LocalFiles
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.backends import InProcessBackend, Outcome, Request
from workflows.execution.ports.http import GuardedHttp


FILE = {"dify_model_identity": "__dify__file__", "type": "image", "transfer_method": "remote_url",
        "filename": "a.png", "mime_type": "image/png"}  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as fake:
        yield fake


async def run(server: FakeHttp, *, inputs: Any = None, allow: Any = None, **data: Any) -> Outcome:
    request = node("h", "http-request", **{"method": "get", "url": f"{server.base_url}/x", **data})
    outputs = {name: ["h", name] for name in ("status_code", "body", "headers", "files")}
    made = document([start("q", "f"), request, end("end", **outputs)], ["start -> h", "h -> end"])
    allowed = (server.address,) if allow is None else allow
    backend = InProcessBackend(http=GuardedHttp(allow=allowed))
    return await backend.run(Request(made, inputs=inputs or {"q": "v"}, checked=True))


async def test_request_goes_out_as_written(server: FakeHttp) -> None:
    server.answers(Reply())

    outcome = await run(
        server,
        method="POST",
        url=f"{server.base_url}/a/{{{{#start.q#}}}}?x=1",
        params="p: {{#start.q#}}\np: é&=\nbare",
        headers="X-One: {{#start.q#}}\nX-Two : two:2",
        authorization={"type": "api-key", "config": {"type": "bearer", "api_key": "k-{{#start.q#}}"}},
        body={"type": "json", "data": [{"type": "text", "value": '{"a": {{#start.q#}}, "b": [1,],}'}]},
    )  # fmt: skip

    (sent,) = server.requests
    assert (outcome.status, outcome.outputs["status_code"], outcome.outputs["body"]) == (
        "succeeded", 200, "hi",
    )  # fmt: skip
    assert sent.method == "POST"
    assert sent.path == "/a/v?x=1&p=v&p=%C3%A9%26%3D&bare="
    assert sent.headers["x-one"] == "v"
    assert sent.headers["x-two"] == "two:2"
    assert sent.headers["authorization"] == "Bearer k-v"
    assert sent.headers["content-type"] == "application/json"
    assert len(sent.headers["idempotency-key"]) > 10
    assert json.loads(sent.body) == {"a": "v", "b": [1]}


@pytest.mark.parametrize(
    ("body", "content_type", "content"),
    [
        ({"type": "none", "data": []}, None, b""),
        ({"type": "raw-text", "data": "a {{#start.q#}}"}, "text/plain", b"a v"),
        ({"type": "x-www-form-urlencoded", "data": [{"type": "text", "key": "a b", "value": "é"}]},
         "application/x-www-form-urlencoded", b"a+b=%C3%A9"),
        ({"type": "x-www-form-urlencoded", "data": "a:{{#start.q#}}\nb:2"},
         "application/x-www-form-urlencoded", b"a=v&b=2"),
    ],
)  # fmt: skip
async def test_body_has_its_type(
    server: FakeHttp, body: Any, content_type: str | None, content: bytes
) -> None:
    server.answers(Reply())

    await run(server, method="post", body=body)

    assert server.requests[0].headers.get("content-type") == content_type
    assert server.requests[0].body == content


async def test_form_holds_texts_and_files(server: FakeHttp) -> None:
    server.answers(Reply(200, PNG, {"content-type": "image/png"}), Reply())
    file = {**FILE, "remote_url": f"{server.base_url}/a.png"}
    data = [{"type": "text", "key": "t", "value": "{{#start.q#}}"},
            {"type": "file", "key": "up", "file": ["start", "f"]}]  # fmt: skip

    outcome = await run(
        server, method="post", inputs={"q": "v", "f": file}, headers="Content-Type: wrong/type",
        body={"type": "form-data", "data": data},
    )  # fmt: skip

    assert outcome.status == "succeeded", outcome.error
    fetched, sent = server.requests
    assert fetched.path == "/a.png"
    assert sent.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="t"\r\n\r\nv\r\n' in sent.body
    assert b'name="up"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n' + PNG in sent.body


async def test_binary_body_is_the_file(server: FakeHttp) -> None:
    server.answers(Reply(200, PNG, {"content-type": "image/png"}), Reply())
    file = {**FILE, "remote_url": f"{server.base_url}/a.png"}

    await run(
        server, method="put", inputs={"q": "v", "f": file},
        body={"type": "binary", "data": [{"type": "file", "file": ["start", "f"]}]},
    )  # fmt: skip

    assert server.requests[1].body == PNG


async def test_binary_answer_is_a_file_and_no_text(server: FakeHttp) -> None:
    server.answers(Reply(200, PNG, {"content-type": "image/png"}))

    outcome = await run(server, url=f"{server.base_url}/pics/cat%20one.png?x=1")

    (file,) = outcome.outputs["files"]
    assert outcome.outputs["body"] == ""
    assert (file["name"], file["mime_type"], file["size"], file["type"]) == (
        "cat one.png", "image/png", len(PNG), "image",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "body", "is_file"),
    [
        ({"content-type": "text/plain", "content-disposition": 'attachment; filename="a.txt"'}, b"x", True),
        ({"content-type": "application/vnd.api+json"}, b"{}", False),
        ({"content-type": "application/unheard-of"}, b"plain text", False),
        ({"content-type": "application/unheard-of"}, b"\x00\x01\x02", True),
        ({}, b"plain", False),
        ({}, b"\xff\xfe\x00", True),
        ({"content-type": "application/pdf"}, b"%PDF", True),
        ({"content-type": "application/pdf"}, b"", False),
    ],
)  # fmt: skip
async def test_headers_or_else_the_content_decide_what_an_answer_is(
    server: FakeHttp, headers: dict[str, str], body: bytes, is_file: bool
) -> None:
    server.answers(Reply(200, body, headers))

    outcome = await run(server)

    assert bool(outcome.outputs["files"]) is is_file


async def test_text_is_read_in_its_charset(server: FakeHttp) -> None:
    server.answers(
        Reply(200, "café".encode("latin-1"), {"content-type": "text/plain; charset=latin-1"})
    )

    assert (await run(server)).outputs["body"] == "café"


@pytest.mark.parametrize(
    ("content_type", "size", "status"),
    [
        ("text/plain", 1024 * 1024, "succeeded"),
        ("text/plain", 1024 * 1024 + 1, "failed"),
        ("application/zip", 1024 * 1024 + 1, "succeeded"),
        ("application/zip", 10 * 1024 * 1024 + 1, "failed"),
        ("application/unheard-of", 1024 * 1024 + 1, "failed"),
    ],
)
async def test_answer_beyond_the_limit_fails(
    server: FakeHttp, content_type: str, size: int, status: str
) -> None:
    server.answers(Reply(200, b"a" * size, {"content-type": content_type}))

    outcome = await run(server)

    assert outcome.status == status, outcome.error
    if status == "failed":
        assert "MB" in str(outcome.error)


async def test_error_status_is_an_answer_like_any_other(server: FakeHttp) -> None:
    server.answers(Reply(503, b"busy"))

    outcome = await run(server)

    assert (outcome.status, outcome.outputs["status_code"], outcome.outputs["body"]) == (
        "succeeded", 503, "busy",
    )  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        {"retry_config": {"retry_enabled": True, "max_retries": 2, "retry_interval": 0}},
        {"fail_on_error_status": True},
    ],
)
async def test_error_status_fails_where_the_author_cares(
    server: FakeHttp, data: dict[str, Any]
) -> None:
    server.answers(Reply(503, b"busy"))

    outcome = await run(server, **data)

    assert (outcome.status, outcome.error) == ("failed", "Request failed with status code 503")
    assert len(server.requests) == (3 if "retry_config" in data else 1)
    assert len({request.headers.get("idempotency-key") for request in server.requests}) == 1


async def test_retry_that_is_answered_ends_well(server: FakeHttp) -> None:
    server.answers(Reply(500), Reply(200, b"at last"))

    outcome = await run(
        server, retry_config={"retry_enabled": True, "max_retries": 2, "retry_interval": 0}
    )

    assert (outcome.status, outcome.outputs["body"]) == ("partial-succeeded", "at last")


async def test_redirect_is_followed_and_checked_again(server: FakeHttp) -> None:
    server.answers(Reply(302, b"", {"location": "/y"}), Reply(200, b"there"))
    assert (await run(server)).outputs["body"] == "there"

    server.answers(Reply(302, b"", {"location": "http://127.0.0.2:1/secret"}))
    refused = await run(server)
    assert refused.status == "failed"
    assert "is blocked" in str(refused.error)

    server.answers(Reply(302, b"", {"location": "file:///etc/passwd"}))
    assert (await run(server)).status == "failed"

    server.answers(Reply(302, b"", {"location": "/again"}))
    assert "redirects too often" in str((await run(server)).error)


@pytest.mark.parametrize("is_silent", [True, False], ids=["silent", "a byte now and then"])
async def test_server_that_is_slow_is_left(server: FakeHttp, is_silent: bool) -> None:
    gate = Event()
    server.answers(Reply(gate=gate) if is_silent else Reply(200, b"x" * 100, drip=0.3))

    try:
        outcome = await run(server, timeout=1)
    finally:
        gate.set()

    # With all of the answer, it would have succeeded.
    assert outcome.status == "failed"
    assert "too long" in str(outcome.error)


async def test_address_of_the_house_is_refused_without_a_permit(server: FakeHttp) -> None:
    server.answers(Reply())

    outcome = await run(server, allow=())

    assert outcome.status == "failed"
    assert "is blocked" in str(outcome.error)
    assert server.requests == []


async def test_headers_of_the_connection_are_not_the_authors_to_set(server: FakeHttp) -> None:
    server.answers(Reply())

    await run(
        server, method="post", headers="Host: evil.test\nContent-Length: 3\nTransfer-Encoding: chunked",
        body={"type": "raw-text", "data": "hello"},
    )  # fmt: skip

    (sent,) = server.requests
    assert sent.headers["host"] == server.address
    assert sent.headers["content-length"] == "5"
    assert "transfer-encoding" not in sent.headers
    assert sent.body == b"hello"


async def test_what_is_shown_of_a_request_holds_no_key(server: FakeHttp) -> None:
    server.answers(Reply())

    outcome = await run(
        server, headers="Cookie: session=canary-cookie\nX-Plain: seen",
        authorization={"type": "api-key", "config": {"type": "custom", "api_key": "canary-key", "header": "X-Mine"}},
    )  # fmt: skip

    step = next(step for step in outcome.steps if step.key.node_id == "h")
    assert server.requests[0].headers["x-mine"] == "canary-key"
    assert "canary" not in json.dumps(step.inputs)
    assert step.inputs["headers"]["X-Plain"] == "seen"


async def test_file_of_a_response_is_stored_and_sent_on(server: FakeHttp) -> None:
    server.answers(Reply(body=PNG, headers={"Content-Type": "image/png"}), Reply())
    files = LocalFiles()
    data = [{"type": "file", "key": "f", "file": ["a", "files"]}]
    nodes = [
        start("q"),
        node("a", "http-request", method="get", url=f"{server.base_url}/pictures/cat.png"),
        node("b", "http-request", method="post", url=f"{server.base_url}/in",
             body={"type": "form-data", "data": data}),
        end("end", files=["a", "files"]),
    ]  # fmt: skip
    runner = WorkflowRunner(
        document(nodes, ["start -> a", "a -> b", "b -> end"]),
        http=GuardedHttp(allow=(server.address,)),
        files=files,
    )

    result = await runner.run(inputs={"q": "v"})

    (file,) = result.outputs["files"]
    assert (file["name"], file["transfer_method"]) == ("cat.png", "local_file")
    assert files.contents[file["related_id"]] == PNG
    assert PNG in server.requests[-1].body

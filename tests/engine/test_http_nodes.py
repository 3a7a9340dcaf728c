"""What an HTTP node makes of its form, seen by a pretend server."""

from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.language.document import NodeSpec
from workflows.engine.nodes.http.http_request import HttpRequestNode
from workflows.engine.testing.backends import InProcessBackend, Outcome, Request


async def run(data: dict[str, Any], *replies: dict[str, Any], **inputs: Any) -> Outcome:
    request = node("h", "http-request", **{"method": "get", "url": "http://h.test/x", **data})
    made = document([start("q"), request, end(o=["h", "body"])], ["start -> h", "h -> end"])
    mocks = {"h": {"http": list(replies) or [{"status": 200, "body": "ok"}]}}
    return await InProcessBackend().run(Request(made, inputs=inputs, mocks=mocks, checked=True))


def sent(outcome: Outcome) -> Any:
    step = next(step for step in outcome.steps if step.key.node_id == "h")
    return step.inputs["sent"]


@pytest.mark.parametrize(
    ("written", "headers"),
    [
        ({"type": "no-auth", "config": None}, {}),
        (None, {}),
        ({"type": "api-key", "config": {"type": "bearer", "api_key": "k"}}, {"Authorization": "Bearer k"}),
        ({"type": "api-key", "config": {"type": "basic", "api_key": "u:p"}}, {"Authorization": "Basic dTpw"}),
        ({"type": "api-key", "config": {"type": "basic", "api_key": "dTpw"}}, {"Authorization": "Basic dTpw"}),
        ({"type": "api-key", "config": {"type": "custom", "api_key": "k", "header": ""}}, {"Authorization": "k"}),
        ({"type": "custom-headers", "headers": [{"key": "A", "value": "{{#start.q#}}"}]}, {"A": "v"}),
    ],
)  # fmt: skip
async def test_authorization_becomes_headers(written: Any, headers: dict[str, str]) -> None:
    assert sent(await run({"authorization": written}, q="v"))["headers"] == headers


async def test_authorization_in_the_query_comes_last() -> None:
    data = {"authorization": {"type": "in-query", "key": "key", "value": "k"}, "params": "a:1"}

    assert sent(await run(data))["params"] == [["a", "1"], ["key", "k"]]


async def test_authorization_replaces_a_header_of_its_name() -> None:
    data = {"headers": "authorization: old",
            "authorization": {"type": "api-key", "config": {"type": "bearer", "api_key": "k"}}}  # fmt: skip

    assert sent(await run(data))["headers"] == {"Authorization": "Bearer k"}


async def test_headers_are_filled_in_before_they_are_split_and_params_after() -> None:
    data = {"headers": "{{#start.q#}}", "params": "p:{{#start.q#}}\n :none\nkey"}

    got = sent(await run(data, q="A: 1\nB: 2"))

    assert got["headers"] == {"A": "1", "B": "2"}
    assert got["params"] == [["p", "A: 1\nB: 2"], ["key", ""]]


async def test_list_of_headers_keeps_a_colon_in_a_name_s_value() -> None:
    data = {"headers": [{"key": "A", "value": "{{#start.q#}}"}]}

    assert sent(await run(data, q="x: y"))["headers"] == {"A": "x: y"}


@for_each("text, value",
    [
        ('{"a": 1}', {"a": 1}),
        ("{'a': 'it''s'}", None),
        ("{'a': \"it's\"}", {"a": "it's"}),
        ('{a: 1, b: two words, c: "x"}', {"a": 1, "b": "two words", "c": "x"}),
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": True, "b": None, "c": undefined}', {"a": True, "b": None, "c": None}),
        ('{"a": 1 /* one */, // and\n "b": 2 # two\n}', {"a": 1, "b": 2}),
        ('{"a": 1, "b": {"c": [1', {"a": 1, "b": {"c": [1]}}),
        ('{"a": "cut off', {"a": "cut off"}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('{"a": }', {"a": None}),
        ('{“a”: “b”}', {"a": "b"}),
        ("[1 2]", ["1 2"]),
        ('"text"', "text"),
        ("12", 12),
    ],
)  # fmt: skip
async def test_json_is_repaired_where_it_can_be(text: str, value: Any) -> None:
    outcome = await run({"method": "post", "body": {"type": "json", "data": text}})

    if value is None:
        assert outcome.status == "failed"
    else:
        assert sent(outcome)["json"] == value


@for_each(
    "text",
    ["", "   ", "just words", "{]", '{"a": 1} and more', '{"a": NaN}', "[" * 5000, '{"a" 1}'],
)
async def test_json_that_is_none_fails_before_anything_is_sent(text: str) -> None:
    outcome = await run({"method": "post", "body": {"type": "json", "data": text}})

    step = outcome.steps[-1]
    assert outcome.status == "failed"
    assert step.error is not None
    assert step.error.type == "RequestBodyError"


@for_each("data, error_type",
    [
        ({"url": ""}, "InvalidURLError"),
        ({"url": "ftp://h.test/"}, "InvalidURLError"),
        ({"url": "http://h.test/a b"}, "InvalidURLError"),
        ({"url": "{{#ghost.x#}}"}, "InvalidURLError"),
        ({"method": "options"}, "InvalidHttpMethodError"),
        ({"authorization": {"type": "api-key", "config": None}}, "AuthorizationConfigError"),
        ({"authorization": {"type": "api-key", "config": {"type": "bearer", "api_key": " "}}}, "AuthorizationConfigError"),
        ({"body": {"type": "json", "data": []}}, "RequestBodyError"),
        ({"body": {"type": "binary", "data": []}}, "RequestBodyError"),
        ({"body": {"type": "form-data", "data": [{"type": "file", "key": "f", "file": ["start", "q"]}]}}, "FileFetchError"),
        ({"headers": "bad name: x"}, "InvalidHeaderError"),
    ],
)  # fmt: skip
async def test_mistake_has_its_type(data: dict[str, Any], error_type: str) -> None:
    outcome = await run({**data, "error_strategy": "fail-branch"}, q="v")

    step = next(step for step in outcome.steps if step.key.node_id == "h")
    assert step.outputs["error_type"] == error_type


@pytest.mark.parametrize(
    ("reply", "error_type"),
    [
        ({"status": 404}, "HTTPResponseCodeError"),
        ({"network_error": "no route"}, "HttpFailed"),
        ({"status": 200, "body_repeat": ["a", 1024 * 1024 + 1]}, "ResponseSizeError"),
    ],
)
async def test_bad_answer_has_its_type(reply: dict[str, Any], error_type: str) -> None:
    outcome = await run({"error_strategy": "fail-branch"}, reply)

    step = next(step for step in outcome.steps if step.key.node_id == "h")
    assert step.outputs["error_type"] == error_type


async def test_default_value_stands_in_for_an_error_status() -> None:
    defaults = [{"key": "body", "type": "string", "value": "instead"}]
    data = {"error_strategy": "default-value", "default_value": defaults}

    outcome = await run(data, {"status": 500})

    assert (outcome.status, outcome.outputs) == ("partial-succeeded", {"o": "instead"})


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"method": "options", "url": "http://x"}, "method"),
        ({"url": "h.test"}, "url"),
        ({"url": "http://x", "authorization": {"type": "api-key", "config": {"type": "basic", "api_key": ""}}}, "authorization.config.api_key"),
        ({"url": "http://x", "body": {"type": "json", "data": []}}, "body.data"),
        ({"url": "http://x", "body": {"type": "form-data", "data": [{"type": "file", "key": "a"}]}}, "body.data.0.file"),
        ({"url": "http://x", "body": {"type": "nonsense"}}, "body.type"),
        ({"url": "http://x", "timeout": {"read": -1}}, "timeout.read"),
    ],
)  # fmt: skip
def test_problem_is_addressed_to_its_field(data: dict[str, Any], field: str) -> None:
    problems = HttpRequestNode().check(NodeSpec("h", "http-request", data))

    assert field in [problem.field for problem in problems]


def test_form_that_is_right_has_no_problem() -> None:
    data = {"method": "POST", "url": "{{#start.q#}}/x", "headers": None, "timeout": None,
            "authorization": {"type": "no-auth", "config": None}}  # fmt: skip

    assert HttpRequestNode().check(NodeSpec("h", "http-request", data)) == []

"""HTTP requests and code between the two dialects: nothing is lost either way."""

from typing import Any

from tests.support.cases import for_each
from workflows.engine.language.dsl.xworkflow_data import translate_to_dify, translate_to_xworkflow


@for_each("theirs, ours",
    [
        ({"headers": [{"key": "A", "value": "{{#s.q#}}"}]}, {"headers": "A:{{#s.q#}}"}),
        ({"params": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}, {"params": "a:1\na:2"}),
        ({"headers": [{"key": "A", "value": "two\nlines"}]}, {"headers": [{"key": "A", "value": "two\nlines"}]}),
        ({"body": {"type": "raw_text", "data": "x"}}, {"body": {"type": "raw-text", "data": "x"}}),
        ({"body": {"type": "form_data", "data": [{"key": "a", "value": "1"}]}},
         {"body": {"type": "form-data", "data": [{"key": "a", "value": "1"}]}}),
        ({"authorization": {"type": "bearer_token", "token": "t"}},
         {"authorization": {"type": "api-key", "config": {"type": "bearer", "api_key": "t", "header": ""}}}),
        ({"authorization": {"type": "basic_auth", "username": "u", "password": "p:q"}},
         {"authorization": {"type": "api-key", "config": {"type": "basic", "api_key": "u:p:q", "header": ""}}}),
        ({"authorization": {"type": "api_key", "key": "X-K", "value": "v", "position": "header"}},
         {"authorization": {"type": "api-key", "config": {"type": "custom", "api_key": "v", "header": "X-K"}}}),
        ({"authorization": {"type": "api_key", "key": "k", "value": "v", "position": "query"}},
         {"authorization": {"type": "in-query", "key": "k", "value": "v"}}),
        ({"authorization": {"type": "custom_headers", "headers": [{"key": "A", "value": "b"}]}},
         {"authorization": {"type": "custom-headers", "headers": [{"key": "A", "value": "b"}]}}),
        ({"authorization": {"type": "no_auth"}}, {"authorization": {"type": "no-auth", "config": None}}),
        ({"fail_on_error_status": True}, {"fail_on_error_status": True}),
    ],
)  # fmt: skip
def test_xworkflows_form_is_read_and_written_back(
    theirs: dict[str, Any], ours: dict[str, Any]
) -> None:
    theirs, ours = {"timeout": 5, **theirs}, {"timeout": 5, **ours}

    assert translate_to_dify("http-request", theirs) == ours
    assert translate_to_xworkflow("http-request", ours) == theirs


def test_xworkflow_waits_ten_seconds_unless_it_says_otherwise() -> None:
    assert translate_to_dify("http-request", {"url": "x"}) == {"url": "x", "timeout": 10}


@for_each("ours",
    [
        {"headers": "A: 1\n\n : skipped\nbare"},
        {"params": ""},
        {"body": {"type": "json", "data": [{"id": "1", "key": "", "type": "text", "value": "{}"}]}},
        {"body": {"type": "form-data", "data": [{"type": "file", "key": "f", "file": ["s", "f"]}]}},
        {"body": {"type": "none", "data": []}},
        {"authorization": {"type": "no-auth", "config": None}},
        {"authorization": {"type": "api-key", "config": {"type": "basic", "api_key": "dTpw", "header": ""}}},
        {"authorization": {"type": "api-key", "config": {"type": "bearer", "api_key": "k", "header": "X-A"}}},
        {"timeout": {"connect": 1, "read": 2, "write": 3}},
        {"timeout": {"max_connect_timeout": 0}},
        {},
    ],
)  # fmt: skip
def test_difys_form_comes_back_as_it_was(ours: dict[str, Any]) -> None:
    written = translate_to_xworkflow("http-request", ours)

    assert translate_to_dify("http-request", written) == ours
    assert isinstance(written["timeout"], int | float)


def test_code_of_xworkflow_is_called_its_way_and_code_of_dify_its_own() -> None:
    theirs = {"language": "python3", "code": "def main(inputs): return inputs"}
    ours = {"code_language": "python3", "code": "def main(a): return {}"}

    assert translate_to_dify("code", theirs) == {
        "code_language": "python3", "code": theirs["code"], "calling": "inputs",
    }  # fmt: skip
    assert translate_to_xworkflow("code", translate_to_dify("code", theirs)) == theirs
    assert translate_to_dify("code", translate_to_xworkflow("code", ours)) == ours

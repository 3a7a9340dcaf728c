"""Values in a header, a field or a parameter that the author wrote as JSON or GraphQL keep to their place."""

import json
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.engine.nodes.http.test_json_body import pool
from tests.engine.test_http_nodes import run, sent
from tests.support.cases import for_each
from workflows.engine.nodes.http.url_values import render_url
from workflows.engine.nodes.http.written_texts import render_argument, render_header


OBJECT = '{"note": "{{#start.q#}}", "role": "reader"}'


@for_each("text", TEXTS)
async def test_json_in_headers_forms_and_parameters_keeps_its_members(text: str) -> None:
    form = {"type": "x-www-form-urlencoded", "data": [{"key": "payload", "value": OBJECT}]}
    data = {
        "method": "post",
        "params": f"filter:{OBJECT}",
        "headers": f"X-Arg: {OBJECT}",
        "body": form,
    }

    got = sent(await run(data, q=text))

    expected = {"note": text, "role": "reader"}
    assert json.loads(dict(got["params"])["filter"]) == expected
    assert json.loads(got["data"]["payload"]) == expected
    assert json.loads(got["headers"]["X-Arg"]) == expected
    assert got["headers"]["X-Arg"].isascii()


@for_each("text", TEXTS)
@for_each(
    "address",
    [
        'https://h.test/?n=1&filter={"note":"{{#start.q#}}","role":"reader"}',
        "https://h.test/?filter=%7B%22note%22%3A%22{{#start.q#}}%22%2C%22role%22%3A%22reader%22%7D",
    ],
)
def test_json_in_the_parameter_of_a_url_keeps_its_members(address: str, text: str) -> None:
    url = render_url(address, pool(q=text))

    assert json.loads(dict(parse_qsl(urlsplit(url).query))["filter"]) == {
        "note": text,
        "role": "reader",
    }


@pytest.mark.parametrize(
    ("value", "parameter"), [(5, {"a": 5}), ('1,"admin":true', {"a": '1,"admin":true'})]
)
def test_value_outside_quotes_in_the_json_of_a_url_is_one_value(
    value: object, parameter: object
) -> None:
    url = render_url('https://h.test/?f={"a":{{#start.q#}}}', pool(q=value))

    assert json.loads(dict(parse_qsl(urlsplit(url).query))["f"]) == parameter


@for_each("text", TEXTS)
def test_text_in_the_name_of_a_url_s_parameter_is_the_name(text: str) -> None:
    url = render_url("https://h.test/?a=1&x{{#start.q#}}=5&b=2", pool(q=text))

    assert parse_qsl(urlsplit(url).query) == [("a", "1"), (f"x{text}", "5"), ("b", "2")]


@pytest.mark.parametrize(
    ("header", "sent_header"),
    [
        ('attachment; filename="{{#start.q#}}"', 'attachment; filename="a\\"; x=\\"b\\\\"'),
        ("{{#start.q#}}", 'a"; x="b\\'),
        ("Bearer {{#start.q#}}", 'Bearer a"; x="b\\'),
    ],
)
def test_value_does_not_end_the_quoted_string_of_a_header(header: str, sent_header: str) -> None:
    assert render_header(header, pool(q='a"; x="b\\')) == sent_header


QUERY = '{ user(name: "{{#start.q#}}") { id } }'
SENT_QUERY = '{ user(name: "x\\") { all } #") { id } }'


async def test_graphql_in_parameters_forms_and_bodies_of_its_own_keeps_its_strings() -> None:
    text = 'x") { all } #'
    form = {"type": "x-www-form-urlencoded", "data": [{"key": "query", "value": QUERY}]}
    body = {"type": "raw-text", "data": QUERY}
    headers = "Content-Type: application/graphql; charset=utf-8"

    in_form = sent(await run({"method": "post", "params": f"query:{QUERY}", "body": form}, q=text))
    in_body = sent(await run({"method": "post", "headers": headers, "body": body}, q=text))

    assert dict(in_form["params"])["query"] == in_form["data"]["query"] == SENT_QUERY
    assert in_body["content"] == SENT_QUERY


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("query", QUERY, SENT_QUERY),
        ("text", "{ {{#start.q#}} }", '{ x") { all } # }'),
        ("rows", '[{"a": "{{#start.q#}}"}]', '[{"a": "x\\") { all } #"}]'),
        ("rows", '["{{#start.q#}}"]', '["x\\") { all } #"]'),
        ("text", "[{{#start.q#}}] hello", '[x") { all } #] hello'),
    ],
)
def test_text_of_an_argument_is_read_as_what_its_author_wrote(
    name: str, source: str, expected: str
) -> None:
    assert render_argument(source, pool(q='x") { all } #'), name) == expected

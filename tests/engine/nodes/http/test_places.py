"""Values in headers, forms, URLs and parameters: each is encoded for its place, or refused with a sentence."""

from urllib.parse import unquote

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.engine.nodes.http.test_json_body import pool
from tests.engine.test_http_nodes import run, sent
from tests.support.cases import for_each
from workflows.engine.errors import NodeFailed
from workflows.engine.nodes.http.url_values import render_url


@for_each("text", TEXTS)
async def test_values_of_forms_and_parameters_are_the_texts(text: str) -> None:
    form = {"type": "x-www-form-urlencoded", "data": [{"key": "note", "value": "{{#start.q#}}"}]}
    data = {"method": "post", "params": "note:{{#start.q#}}", "body": form}

    got = sent(await run(data, q=text))

    assert (got["params"], got["data"]) == ([["note", text]], {"note": text})


@pytest.mark.parametrize(
    ("url", "rendered"),
    [
        ("https://h.test/s?q={{#start.t#}}&n=1", "https://h.test/s?q=a%26b%3Dc%23%20%25&n=1"),
        ("https://h.test/s?q=<{{#start.t#}}>", "https://h.test/s?q=<a%26b%3Dc%23%20%25>"),
        ("{{#start.u#}}", "https://x.test/a?b=c"),
        ("{{#start.u#}}&d={{#start.t#}}", "https://x.test/a?b=c&d=a%26b%3Dc%23%20%25"),
        ("https://h.test/?{{#start.u#}}", "https://h.test/?https://x.test/a?b=c"),
        ("https://h.test/{{#start.n#}}#a={{#start.n#}}", "https://h.test/5#a=5"),
        ("https://h.test/?a={{#ghost.x#}}", "https://h.test/?a=ghost.x"),
    ],
)
def test_value_of_a_parameter_in_a_url_is_encoded(url: str, rendered: str) -> None:
    assert render_url(url, pool(t="a&b=c# %", u="https://x.test/a?b=c", n=5)) == rendered


@for_each(
    "url, rendered",
    [
        ("https://h.test/item/{{#start.t#}}.json", "https://h.test/item/a%2Fb%3Fc%23%20%25.json"),
        ("https://h.test/{{#start.t#}}/posts", "https://h.test/a%2Fb%3Fc%23%20%25/posts"),
        ("https://h.test/{{#start.n#}}/{{#start.t#}}", "https://h.test/5/a%2Fb%3Fc%23%20%25"),
        ("{{#start.base#}}/{{#start.t#}}", "https://x.test/v1/a%2Fb%3Fc%23%20%25"),
        ("{{#start.base#}}:{{#start.n#}}", "https://x.test/v1:5"),
        ("https://{{#start.host#}}/{{#start.n#}}:run", "https://x.test:80/5:run"),
        ("https://{{#start.host#}}{{#start.path#}}", "https://x.test:80/a/b"),
        # the whole path is a variable
        ("https://h.test/{{#start.t#}}", "https://h.test/a/b?c# %"),
        ("https://h.test{{#start.path#}}", "https://h.test/a/b"),
        ("https://h.test/{{#start.t#}}?n=1", "https://h.test/a/b%3Fc%23 %?n=1"),
        # no value leads to another host
        ("https://h.test{{#start.evil#}}", "https://h.test%40evil.test%2F"),
        ("https://api.{{#start.evil#}}.test/", "https://api.%40evil.test%2F.test/"),
        ("https://{{#start.evil#}}.test/", "https://%40evil.test%2F.test/"),
        ("https://api.{{#start.n#}}.test/", "https://api.5.test/"),
    ],
)
def test_value_in_the_path_of_a_url_is_one_segment(url: str, rendered: str) -> None:
    variables = pool(
        t="a/b?c# %", n=5, base="https://x.test/v1", host="x.test:80", path="/a/b",
        evil="@evil.test/",
    )  # fmt: skip

    assert render_url(url, variables) == rendered


@for_each("text", TEXTS)
def test_segment_of_a_path_is_the_text(text: str) -> None:
    url = render_url("https://h.test/notes/{{#start.t#}}/edit", pool(t=text))

    assert [unquote(part) for part in url.split("/")[3:]] == ["notes", text, "edit"]


@pytest.mark.parametrize(
    ("url", "dots"),
    [
        ("https://h.test/notes/{{#start.t#}}", ".."),
        ("https://h.test/notes/{{#start.t#}}/edit?a=b", "."),
        ("https://h.test/notes/.{{#start.t#}}", "."),
        ("{{#start.base#}}/{{#start.t#}}", ".."),
    ],
)
def test_dots_that_lead_out_of_the_path_are_refused(url: str, dots: str) -> None:
    with pytest.raises(NodeFailed, match="leads elsewhere"):
        render_url(url, pool(t=dots, base="https://h.test/v1"))


def test_dots_within_a_name_are_kept() -> None:
    url = "https://h.test/notes/{{#start.t#}}.json"

    assert render_url(url, pool(t="..")) == "https://h.test/notes/...json"


async def test_text_adds_no_header() -> None:
    outcome = await run({"headers": "X-Note: {{#start.q#}}"}, q="a\nX-Admin: yes")

    error = outcome.steps[-1].error
    assert error is not None
    assert (error.type, error.message) == (
        "InvalidHeaderError", "The header X-Note holds a control character",
    )  # fmt: skip


async def test_line_break_at_the_end_of_a_header_s_value_is_dropped() -> None:
    assert sent(await run({"headers": "X-Note: {{#start.q#}}"}, q=" a\n"))["headers"] == {
        "X-Note": "a"
    }


async def test_text_of_headers_is_filled_in_once() -> None:
    data = {"headers": "{{#start.q#}}"}

    assert sent(await run(data, q="A: {{#start.q#}}"))["headers"] == {"A": "{{#start.q#}}"}


async def test_step_says_that_a_body_was_repaired() -> None:
    data = {"method": "post", "body": {"type": "json", "data": '{"a": "{{#start.q#}}",}'}}

    outcome = await run(data, q='"')

    step = next(step for step in outcome.steps if step.key.node_id == "h")
    assert step.inputs["body"] == {"a": '"'}
    assert "has been repaired" in step.inputs["body_note"]


async def test_step_says_nothing_of_a_body_that_was_right() -> None:
    data = {"method": "post", "body": {"type": "json", "data": '{"a": "{{#start.q#}}"}'}}

    outcome = await run(data, q='"')

    assert "body_note" not in next(s for s in outcome.steps if s.key.node_id == "h").inputs


@pytest.mark.parametrize(
    ("text", "value", "content"),
    [
        ('{"a": "{{#start.q#}}"}', 'x", "b": "', '{"a": "x\\", \\"b\\": \\""}'),
        ("Dear {{#start.q#}}", '"Mia"', 'Dear "Mia"'),
        ("{{#start.q#}}", '{"a": 1}', '{"a": 1}'),
    ],
)
async def test_json_in_a_body_of_text_keeps_its_members(
    text: str, value: str, content: str
) -> None:
    data = {"method": "post", "body": {"type": "raw-text", "data": text}}

    assert sent(await run(data, q=value))["content"] == content

"""Values in headers, forms, URLs and parameters: each is encoded for its place, or refused with a sentence."""

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.engine.nodes.http.test_json_body import pool
from tests.engine.test_http_nodes import run, sent
from workflows.engine.nodes.http.query_values import render_url


@pytest.mark.parametrize("text", TEXTS)
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

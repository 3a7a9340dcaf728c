"""Values in the query of a GraphQL request stay inside the string, or are the one value, that the author meant."""

import json
import re
from typing import Any

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.engine.nodes.http.test_json_body import pool
from tests.support.cases import for_each
from workflows.engine.nodes.http.graphql import is_graphql
from workflows.engine.nodes.http.json_body import build_json


def query(text: str, **values: Any) -> str:
    built = build_json(json.dumps({"query": text}), pool(**values))
    return str(built.value["query"])


@for_each("text", TEXTS)
def test_text_in_a_string_stays_in_it(text: str) -> None:
    built = query('mutation { add(name: "{{#start.t#}}", role: READER) { id } }', t=text)

    string = re.fullmatch(r'mutation \{ add\(name: (".*"), role: READER\) \{ id \} \}', built)
    assert string
    assert json.loads(string[1]) == text


def test_text_in_a_block_string_does_not_end_it() -> None:
    built = query('{ add(name: """{{#start.t#}}""") { id } }', t='a""") { all } #')

    assert built == '{ add(name: """a\\""") { all } #""") { id } }'


@for_each("value, written",
    [
        (5, "5"), ("5", "5"), (True, "true"), (None, "null"), ("OPEN", "OPEN"), ('a "b', '"a \\"b"'),
        ("1) { all }", '"1) { all }"'), ([1, "a"], '[1, "a"]'), ({"k": "OPEN"}, '{k: "OPEN"}'),
    ],
)  # fmt: skip
def test_value_outside_strings_is_one_value(value: Any, written: str) -> None:
    assert (
        query("{ find(x: {{#start.v#}}) { id } }", v=value) == f"{{ find(x: {written}) {{ id }} }}"
    )


def test_line_break_in_a_comment_does_not_end_it() -> None:
    assert query("{ a } # {{#start.t#}}", t="x\n{ b }") == "{ a } # x { b }"


def test_variables_beside_the_query_are_json() -> None:
    body = '{"query": "query($x: Int) { a(x: $x) }", "variables": {"x": {{#start.n#}}, "t": "{{#start.t#}}"}}'

    built = build_json(body, pool(n=5, t='"'))

    assert built.value["variables"] == {"x": 5, "t": '"'}


@pytest.mark.parametrize(
    "text", ["weather in Graz", 'say "{{#start.t#}}"', "query of a person", "{}"]
)
def test_other_texts_named_query_are_no_graphql(text: str) -> None:
    assert not is_graphql(text)
    assert query(text, t='a"b') == text.replace("{{#start.t#}}", 'a"b')

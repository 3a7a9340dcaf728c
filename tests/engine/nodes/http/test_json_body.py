"""JSON from an author's text: whatever a value contains, it arrives as it is, and the members are the author's."""

from typing import Any

import pytest

from tests.engine.nodes.http.hostile import TEXTS
from tests.support.cases import for_each
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.http.json_body import BuiltJson, build_json
from workflows.engine.nodes.http.json_repair import NotJson
from workflows.engine.nodes.http.written_texts import render_argument


def pool(**values: Any) -> VariablePool:
    result = VariablePool()
    result.set_outputs("start", values)
    return result


@for_each("text", TEXTS)
def test_text_inside_quotes_arrives_letter_for_letter(text: str) -> None:
    body = '{"note": "{{#start.note#}}", "all": ["<{{#start.note#}}>"], "role": "reader"}'

    built = build_json(body, pool(note=text))

    assert built == BuiltJson({"note": text, "all": [f"<{text}>"], "role": "reader"})


@for_each("text", TEXTS)
def test_text_in_a_malformed_body_arrives_letter_for_letter_too(text: str) -> None:
    body = "{'note': '{{#start.note#}}', role: reader, \"path\": \"\\{{#start.note#}}\",}"

    built = build_json(body, pool(note=text))

    value = {"note": text, "role": "reader", "path": f"\\{text}"}
    assert built == BuiltJson(value, is_repaired=True)


@for_each("text", TEXTS)
def test_text_in_a_key_is_the_key(text: str) -> None:
    assert build_json('{"{{#start.note#}}": 1}', pool(note=text)).value == {text: 1}


@for_each("value, expected",
    [
        (5, 5), (1.5, 1.5), (True, True), (None, None), ([], []), ([1, "a"], [1, "a"]),
        ({"k": '"'}, {"k": '"'}), ("words", "words"), ('a "b', 'a "b'), ("", ""), ("5", 5),
        ('{"a": 1}', {"a": 1}), ('```json\n["x"]\n```', ["x"]), ('1, "urgent": true', '1, "urgent": true'),
        ('x"} //', 'x"} //'), ("NaN", "NaN"),
    ],
)  # fmt: skip
def test_reference_outside_quotes_is_one_value(value: Any, expected: Any) -> None:
    built = build_json('{"a": {{#start.v#}}, "role": "reader"}', pool(v=value))

    assert built == BuiltJson({"a": expected, "role": "reader"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"a": -{{#start.n#}}}', {"a": -5}),
        ('{"a": {{#start.n#}}{{#start.n#}}}', {"a": 55}),
        ('{"a": n is {{#start.n#}} now}', {"a": "n is 5 now"}),
        ('{"a": "{{#start.t#}}"\n"b": {{#start.n#}}}', {"a": 't"', "b": 5}),
        ('{"a": /* {{#start.t#}} */ {{#start.n#}}}', {"a": 5}),
        ('```json\n{"a": {{#start.n#}}}\n```', {"a": 5}),
    ],
)
def test_what_the_author_wrote_wrongly_is_repaired_and_said(body: str, expected: Any) -> None:
    assert build_json(body, pool(n=5, t='t"')) == BuiltJson(expected, is_repaired=True)


@pytest.mark.parametrize(
    ("value", "built"),
    [
        ({"a": 1}, BuiltJson({"a": 1})),
        ([], BuiltJson([])),
        ('{"a": 1}', BuiltJson({"a": 1})),
        ("{'a': 1}", BuiltJson({"a": 1}, is_repaired=True)),
    ],
)
def test_body_that_is_one_reference_is_the_json_of_its_value(value: Any, built: BuiltJson) -> None:
    assert build_json(" {{#start.v#}}\n", pool(v=value)) == built


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{{#start.t#}}", "'words' is no value"),
        ("{{#ghost.x#}}", "there is no variable ghost.x"),
        ("{{#start.none#}}", "start.none is empty"),
        ('{"a": 1} {{#start.t#}}', "unexpected '{{#start.t#}}'"),
        ('{"{{#start.role#}}": 1, "role": 2}', "the member 'role' is there twice"),
        ("[" * 150 + "{{#start.t#}}" + "]" * 150, "nested too deeply"),
    ],
)
def test_what_can_be_no_json_fails_with_a_sentence(body: str, message: str) -> None:
    with pytest.raises(NotJson) as failed:
        build_json(body, pool(t="words", none=None, role="role"))

    assert str(failed.value) == message


def test_missing_variable_is_its_name_as_in_every_text() -> None:
    body = '{"a": "{{#ghost.x#}}", "b": {{#ghost.x#}}}'

    assert build_json(body, pool()).value == {"a": "ghost.x", "b": "ghost.x"}


@for_each("text", TEXTS)
def test_object_in_the_text_of_an_argument_keeps_its_members(text: str) -> None:
    source, values = '{"name": "{{#start.note#}}"}', pool(note=text)

    whole = render_argument(source, values, is_json=True)
    written = render_argument(source, values)

    assert whole == {"name": text}
    assert build_json(written.replace("{{#", "{ {#"), pool()).value == {
        "name": text.replace("{{#", "{ {#").replace("\ufdd0", "\ufffd").replace("\ufdd1", "\ufffd")
    }


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[{{#start.t#}}] hello", "[a] hello"),
        ("{{#start.t#}}", "a"),
        ("{ {{#start.t#}} }", "{ a }"),
    ],
)
def test_argument_that_is_no_object_stays_a_text(source: str, text: str) -> None:
    assert render_argument(source, pool(t="a")) == text

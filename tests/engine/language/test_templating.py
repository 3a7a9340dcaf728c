from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import for_each
from workflows.engine.language.templating import Template, list_references, render_text
from workflows.engine.language.variables import VariablePool


FILE = {"type": "document", "transfer_method": "remote_url", "url": "https://x/a.pdf", "name": "a"}
IMAGE = {**FILE, "type": "image"}


# value, as text, as markdown
RENDERINGS = [
    ("a", "a", "a"),
    (True, "True", "True"),
    (1, "1", "1"),
    (1.0, "1.0", "1.0"),
    (None, "", ""),
    ({"k": "é"}, '{"k": "é"}', '{\n  "k": "é"\n}'),
    ({}, "{}", "{}"),
    (["x", "é"], '["x", "é"]', "- x\n- é"),
    ([], "", ""),
    ([1, 2.5], "[1, 2.5]", "- 1\n- 2.5"),
    ([{"a": "b"}], '[{"a": "b"}]', "- {'a': 'b'}"),
    ([True, "x"], '[true, "x"]', "- True\n- x"),
    (FILE, "", "[a](https://x/a.pdf)"),
    ([IMAGE, FILE], "", "![a](https://x/a.pdf)\n[a](https://x/a.pdf)"),
]


def pool_with(value):
    pool = VariablePool()
    pool.set_outputs("n", {"v": value})
    return pool


@for_each("value, text, markdown", RENDERINGS)
def test_render_value_both_ways(value, text, markdown):
    template = Template.of("<{{#n.v#}}>")

    assert template.render_text(pool_with(value)) == f"<{text}>"
    assert template.render_markdown(pool_with(value)) == f"<{markdown}>"


def test_render_unknown_reference_prints_selector():
    assert render_text("a {{#ghost.text#}} b", VariablePool()) == "a ghost.text b"


def test_render_inserted_text_is_not_interpolated_again():
    assert render_text("{{#n.v#}}", pool_with("{{#n.v#}}")) == "{{#n.v#}}"


@for_each(
    "source",
    [
        "{{#sys#}}",
        "{{sys.query}}",
        "{{# sys.query #}}",
        "{{#sys.query#}",
        "{{#.x#}}",
        "{{#a-b.c#}}",
        "{{#a.1c#}}",
        "{{#context#}}",
        "{{#$output.x#}}",
        "{{#" + "a" * 51 + ".b#}}",
        "{{#a." + "b" * 31 + "#}}",
        "{{#a" + ".b" * 11 + "#}}",
        "",
    ],
)
def test_render_malformed_reference_stays_literal(source):
    assert render_text(source, VariablePool()) == source
    assert list_references(source) == ()


def test_references_are_told_in_order():
    assert list_references("{{#a.b#}}{{#c.d.e#}} {{#a.b#}}") == (
        ("a", "b"),
        ("c", "d", "e"),
        ("a", "b"),
    )


@given(st.lists(st.sampled_from(["x", "{{#n.v#}}", "{{#", "#}}", "{{#g.h#}}", "{", "\n"])))
def test_render_any_mixture_equals_replacing(pieces):
    source = "".join(pieces)

    naive = source.replace("{{#n.v#}}", "§").replace("{{#g.h#}}", "g.h").replace("§", "value")

    assert render_text(source, pool_with("value")) == naive

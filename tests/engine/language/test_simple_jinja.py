"""The in-process rendering of plain templates gives what Jinja gives, or leaves it to Jinja."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.support.cases import for_each
from workflows.engine.language.simple_jinja import parse_plain_template


JINJA = ImmutableSandboxedEnvironment()
INPUTS = {
    "s": "text",
    "n": 3,
    "f": 1.5,
    "t": True,
    "none": None,
    "nothing": None,
    "o": {"k": {"deep": "d"}, "items": 1, "_x": 2, "null": None},
    "l": ["a", {"b": None}],
}


@for_each(
    "source",
    [
        "",
        "plain",
        "{{ s }}",
        "{{s}}-{{ n }}-{{ f }}-{{ t }}-{{ nothing }}",
        "{{ o.k.deep }} {{ o . k }}",
        "{{ o.missing }}|{{ missing }}",
        "{{ o._x }}{{ o.null }}",
        "{{ l }}",
        "{{ n.k }}{{ s.k }}{{ l.k }}{{ nothing.k }}",
        "line\r\n{{ s }}\r\n",
        "two\n\n",
        "}} {{ s }} }",
        "#} %}",
        "{{\n s\n}}",
    ],
)
def test_plain_template_renders_as_jinja_does(source):
    plain = parse_plain_template(source)

    assert plain is not None
    assert plain.render(INPUTS) == JINJA.from_string(source).render(INPUTS)


@for_each(
    "source",
    [
        "{% if s %}x{% endif %}",
        "{# note #}",
        "{{ s | upper }}",
        "{{ s.upper() }}",
        "{{ 1 + 1 }}",
        "{{ 'a' }}",
        "{{ none }}",
        "{{ true }}",
        "{{ loop }}",
        "{{ range }}",
        "{{ self }}",
        "{{ o['k'] }}",
        "{{ l.0 }}",
        "{{- s }}",
        "{{ s -}}",
        "{{{ s }}",
        "{{ s",
        "{{#sys.query#}}",
        "{{ '{{#sys.query#}}' }}",
        "{{ é }}",
        "{{ __class__ }}",
    ],
)
def test_template_with_more_needs_the_runner(source):
    assert parse_plain_template(source) is None


@pytest.mark.parametrize(
    "source", ["{{ o.items }}", "{{ s.upper }}", "{{ ghost.x }}", "{{ n.real }}"]
)
def test_render_where_python_shows_through_needs_the_runner(source):
    plain = parse_plain_template(source)

    assert plain is not None
    assert plain.render(INPUTS) is None


PIECES = ["{{ s }}", "{{ o.k.deep }}", "{{o.k}}", "{{ x.y }}", "{{ l }}", "{", "}", "{{", "}}"]
PIECES += ["a", " ", "\n", "\r", "%", "#", "{{ o.title }}"]


@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_plain_template_any_mixture_renders_as_jinja_or_not_at_all(pieces):
    source = "".join(pieces)

    template = parse_plain_template(source)
    rendered = template and template.render(INPUTS)

    assert rendered is None or rendered == JINJA.from_string(source).render(INPUTS)

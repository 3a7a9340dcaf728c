"""Fills values into an author's text that may be JSON or GraphQL: an argument, a parameter, a field, or a header.

Each value is encoded for its place, so that it never ends the string that it stands in, and adds or hides no member.
"""

import json
import re
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.templating import Template
from workflows.engine.language.values import to_json
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.nodes.http.graphql import QUERY, is_graphql, render_graphql
from workflows.engine.nodes.http.json_body import build_json
from workflows.engine.nodes.http.json_repair import NotJson
from workflows.engine.nodes.http.marks import is_alone, mark_references, parse_template
from workflows.engine.text_rendering import as_text


# The beginning of an object, or of a list of texts or objects. Other brackets stand in plain texts, too.
_JSON: Final = re.compile(r'\s*(?:\{|\[\s*(?:"|\{\s*"))')
_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)


def render_argument(
    source: str, pool: VariablePool, name: str = "", *, is_json: bool = False
) -> Json:
    """Return the text of an argument with its references filled in.

    If the author wrote JSON, it keeps these members, and so does GraphQL in an argument named ``query``. With ``is_json``
    the argument can't be a text.
    """
    template = Template.of(source)
    if not template.references or is_alone(template):
        return template.render_text(pool)
    if name == QUERY and (query := _render_query(source, pool)) is not None:
        return query
    if is_json or _JSON.match(source):
        try:
            built = build_json(source, pool)
        except NotJson:
            return template.render_text(pool)
        if is_json:
            return built.value
        if not built.is_repaired:
            return to_json(built.value)
    return template.render_text(pool)


def render_field(source: str, pool: VariablePool, name: str = "") -> str:
    """Return the text of a field or parameter with its references filled in."""
    return str(render_argument(source, pool, name))


def render_header(source: str, pool: VariablePool) -> str:
    """Return the value of a header. Its JSON is ASCII, and a value can't end the quoted string that it stands in."""
    template = Template.of(source)
    if not template.references or is_alone(template):
        return template.render_text(pool)
    if _JSON.match(source):
        try:
            built = build_json(source, pool)
        except NotJson:
            return template.render_text(pool)
        return template.render_text(pool) if built.is_repaired else json.dumps(built.value)
    return _render_quoted_strings(template, pool)


def _render_query(source: str, pool: VariablePool) -> str | None:
    """Return a GraphQL query with its values, or None for a text that is none."""
    template = parse_template(source)
    marked = mark_references(template)
    if not is_graphql(marked):
        return None

    def get_value(number: int) -> Json:
        selector = template.references[number]
        value = pool.get(selector)
        return ".".join(selector) if value is MISSING else value

    return render_graphql(marked, get_value)


def _render_quoted_strings(template: Template, pool: VariablePool) -> str:
    parts: list[str] = []
    is_inside = False
    for segment in template.segments:
        if isinstance(segment, str):
            is_inside ^= sum(match[0] == '"' for match in _QUOTE.finditer(segment)) % 2 == 1
            parts.append(segment)
            continue
        value = pool.get(segment)
        text = ".".join(segment) if value is MISSING else as_text(value)
        parts.append(re.sub(r'(["\\])', r"\\\1", text) if is_inside else text)
    return "".join(parts)

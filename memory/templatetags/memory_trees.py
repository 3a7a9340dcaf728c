"""A remembered JSON value as a tree people can read: objects as names and values, rows of them as a table."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memory.core.records import Json


register = template.Library()

MOST_COLUMNS = 8
MOST_ROWS = 200


@register.filter
def as_tree(value: Json) -> SafeString:
    if isinstance(value, Mapping):
        return _object(value) if value else _nothing(_("empty object"))
    if isinstance(value, list | tuple):
        return _list(list(value)) if value else _nothing(_("empty list"))
    return _single(value)


def _single(value: Json) -> SafeString:
    if isinstance(value, str):
        return format_html('<span class="tree-text">{}</span>', value) if value else _nothing("“”")
    words = {True: "true", False: "false", None: "null"}
    shown = words[value] if isinstance(value, bool) or value is None else str(value)
    return format_html('<span class="mono">{}</span>', shown)


def _nothing(words: str) -> SafeString:
    return format_html('<span class="hint">{}</span>', words)


def _object(value: Mapping[str, Json]) -> SafeString:
    rows = format_html_join(
        "",
        "<div><dt>{}</dt><dd>{}</dd></div>",
        ((name, as_tree(one)) for name, one in value.items()),
    )
    return format_html('<dl class="tree">{}</dl>', rows)


def _list(value: list[Json]) -> SafeString:
    more = len(value) - MOST_ROWS
    shown = value[:MOST_ROWS]
    made = _table(shown) if _is_table(value) else _items(shown)
    rest = _nothing(_("and %(number)d more") % {"number": more}) if more > 0 else ""
    return format_html("{}{}", made, rest)


def _items(value: list[Json]) -> SafeString:
    items = format_html_join("", "<li>{}</li>", ((as_tree(one),) for one in value))
    return format_html('<ol class="tree-list" start="0">{}</ol>', items)


def _is_table(value: list[Json]) -> bool:
    """At least two objects that have much the same names, and nothing nested in them."""
    if len(value) < 2 or not all(isinstance(one, Mapping) and one for one in value):
        return False
    names = {name for one in value for name in one}
    nested = any(isinstance(part, Mapping | list) for one in value for part in one.values())
    return len(names) <= MOST_COLUMNS and not nested


def _table(value: list[Json]) -> SafeString:
    names = list(dict.fromkeys(name for one in value for name in one))
    head = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in names))
    body = format_html_join(
        "",
        "<tr>{}</tr>",
        (
            (
                format_html_join(
                    "",
                    "<td>{}</td>",
                    ((as_tree(one[name]) if name in one else "",) for name in names),
                ),
            )
            for one in value
        ),
    )
    return format_html(
        '<div class="table-wrap" role="region" tabindex="0" aria-label="{}">'
        '<table class="table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>',
        _("Table"),
        head,
        body,
    )

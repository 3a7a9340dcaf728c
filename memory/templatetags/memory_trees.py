"""A template filter that shows a JSON value as a tree: objects as names and values, lists of objects as tables."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memory.core.records import Json


register = template.Library()

TEXT = '<span class="tree-text">{}</span>'
MAX_COLUMNS = 8
MAX_ROWS = 200


@register.filter
def as_tree(value: Json) -> SafeString:
    if isinstance(value, Mapping):
        return _render_object(value) if value else _render_hint(_("empty object"))
    if isinstance(value, list | tuple):
        return _render_list(list(value)) if value else _render_hint(_("empty list"))
    return _render_scalar(value)


def _render_scalar(value: Json) -> SafeString:
    if isinstance(value, str):
        return format_html(TEXT, value) if value else _render_hint("“”")
    names = {True: "true", False: "false", None: "null"}
    text = names[value] if isinstance(value, bool) or value is None else str(value)
    return format_html('<span class="mono">{}</span>', text)


def _render_hint(text: str) -> SafeString:
    return format_html('<span class="hint">{}</span>', text)


def _render_object(value: Mapping[str, Json]) -> SafeString:
    rows = format_html_join(
        "",
        "<div><dt>{}</dt><dd>{}</dd></div>",
        ((name, as_tree(member)) for name, member in value.items()),
    )
    return format_html('<dl class="tree">{}</dl>', rows)


def _render_list(value: list[Json]) -> SafeString:
    body = (_render_table if _is_table(value) else _render_items)(value[:MAX_ROWS])
    if len(value) <= MAX_ROWS:
        return body
    hint = _render_hint(_("and %(number)d more") % {"number": len(value) - MAX_ROWS})
    return format_html("{}{}", body, hint)


def _render_items(value: list[Json]) -> SafeString:
    items = format_html_join("", "<li>{}</li>", ((as_tree(item),) for item in value))
    return format_html('<ol class="tree-list" start="0">{}</ol>', items)


def _is_table(value: list[Json]) -> bool:
    """Return whether the list consists of at least two objects without nested values and with few distinct names."""
    if len(value) < 2 or not all(isinstance(row, Mapping) and row for row in value):
        return False
    names = {name for row in value for name in row}
    has_nested = any(isinstance(cell, Mapping | list) for row in value for cell in row.values())
    return len(names) <= MAX_COLUMNS and not has_nested


def _render_table(value: list[Json]) -> SafeString:
    names = list(dict.fromkeys(name for row in value for name in row))
    head = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in names))
    body = format_html_join("", "<tr>{}</tr>", ((_render_cells(row, names),) for row in value))
    return format_html(
        '<div class="table-wrap" role="region" tabindex="0" aria-label="{}">'
        '<table class="table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>',
        _("Table"),
        head,
        body,
    )


def _render_cells(row: Mapping[str, Json], names: list[str]) -> SafeString:
    cells = ((as_tree(row[name]) if name in row else "",) for name in names)
    return format_html_join("", "<td>{}</td>", cells)

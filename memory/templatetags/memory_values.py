"""Template filters for values of entries."""

import json
from collections.abc import Mapping

from django import template

from memory.core.records import Json
from memory.logic.text_diff import render_value, to_text
from memory.models.entries import TierChoice


register = template.Library()
register.filter("as_text", to_text)


@register.filter
def as_one_line(value: Json) -> str:
    """Return one line: a page's title and summary, a message's content, or the members side by side."""
    if isinstance(value, Mapping) and isinstance(title := value.get("title"), str):
        summary = value.get("summary") or value.get("content")
        if summary and isinstance(summary, str):
            return f"{title} · {_join_lines(summary)}"
        return title
    if isinstance(value, Mapping) and isinstance(content := value.get("content"), str) and content:
        return _join_lines(content)
    if isinstance(value, Mapping) and value:
        return " · ".join(f"{name}: {_format_member(member)}" for name, member in value.items())
    if isinstance(value, list) and value:
        return " · ".join(map(_format_member, value))
    return _join_lines(render_value(value))


@register.filter
def tier_label(tier: str | None) -> str:
    """Return the label of the tier, or a dash where there is no entry."""
    return str(TierChoice(str(tier)).label) if tier else "–"


def _format_member(value: Json) -> str:
    return _join_lines(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _join_lines(text: str) -> str:
    return " ".join(text.split())

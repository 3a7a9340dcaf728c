"""Remembered values as people read them."""

import json
from collections.abc import Mapping

from django import template

from memory.core.records import Json
from memory.logic.text_diff import format_value
from memory.models.entries import TierChoice


register = template.Library()


@register.filter
def as_read(value: Json) -> str:
    """Text as text, anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def in_short(value: Json) -> str:
    """One line of a list: a page by its title and what it is about, a message by its words, members side by side."""
    if isinstance(value, Mapping) and isinstance(title := value.get("title"), str):
        about = value.get("summary") or value.get("content")
        return f"{title} · {_line(about)}" if isinstance(about, str) and about else title
    if isinstance(value, Mapping) and isinstance(said := value.get("content"), str) and said:
        return _line(said)
    if isinstance(value, Mapping) and value:
        return " · ".join(f"{name}: {_member(one)}" for name, one in value.items())
    if isinstance(value, list) and value:
        return " · ".join(map(_member, value))
    return _line(format_value(value))


@register.filter
def tier_label(tier: str | None) -> str:
    """In people's words; a dash where there is no entry."""
    return str(TierChoice(str(tier)).label) if tier else "–"


def _member(value: Json) -> str:
    return _line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(text: str) -> str:
    return " ".join(text.split())

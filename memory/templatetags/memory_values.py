"""Remembered values as people read them."""

import json

from django import template

from memory.core.records import Json


register = template.Library()


@register.filter
def as_read(value: Json) -> str:
    """Text as text, anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

"""What the forms of nodes print: values as JSON for attributes, ids, and labels in the reader's language."""

import json

from django import template
from django.utils.translation import gettext

from workflows.engine.language.document import Json


register = template.Library()


@register.filter
def as_json(value: Json) -> str:
    """In one line; Django escapes it for the attribute it stands in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@register.filter
def as_pretty_json(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def as_id(path: str) -> str:
    """A dotted path as an id of the page."""
    return "f-" + "".join(letter if letter.isalnum() else "-" for letter in path)


@register.filter
def in_language(text: str) -> str:
    """A label of the engine, which speaks English and marks what is to be translated."""
    return gettext(text) if text else ""


@register.filter
def part(value: Json, name: str) -> Json:
    """A member of an object; nothing when it is none or has none."""
    return value.get(name) if isinstance(value, dict) else None


@register.filter
def or_empty(value: Json) -> Json:
    return "" if value is None else value


@register.filter
def as_text(value: Json) -> str:
    """As somebody types it: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)

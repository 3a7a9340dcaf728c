"""Template filters for the forms of nodes: JSON values for attributes, ids, and translated labels."""

import json
from typing import Protocol

from django import template
from django.utils.translation import gettext

from workflows.engine.language.document import Json


register = template.Library()


class Choices(Protocol):
    """The tools or models of the team that a form offers."""

    def find(self, entry: Json) -> object: ...


@register.filter
def as_json(value: Json) -> str:
    """Return the value as JSON in one line; Django escapes it for the attribute."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@register.filter
def as_pretty_json(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def as_id(path: str) -> str:
    """Return a dotted path as an HTML id."""
    return "f-" + "".join(letter if letter.isalnum() else "-" for letter in path)


@register.filter
def in_language(text: str) -> str:
    """Translate a label of the engine, which is English and marked for translation."""
    return gettext(text) if text else ""


@register.filter
def get_member(value: Json, name: str) -> Json:
    """Return the member of an object with this name; None if there is none or the value isn't an object."""
    return value.get(name) if isinstance(value, dict) else None


@register.filter
def find_choice(choices: Choices, entry: Json) -> object:
    """Return what the form shows of a tool or a model in a node's data."""
    return choices.find(entry)


@register.filter
def list_rows(value: Json) -> list[Json]:
    """Return the items of a list; a value of another type, which a wrong document may have, has none."""
    return list(value) if isinstance(value, list | tuple) else []


@register.filter
def only_text(value: Json) -> str:
    """Return a text, and "" for a value of another type, which is no choice of a menu."""
    return value if isinstance(value, str) else ""


@register.filter
def or_empty(value: Json) -> Json:
    return "" if value is None else value


@register.filter
def as_text(value: Json) -> str:
    """Return the value as people type it: text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


@register.filter
def split_recipients(config: Json) -> dict[str, list[Json]] | None:
    """Return the recipients of a mail as addresses and others, such as accounts of Dify; None for another form of them."""
    recipients = config.get("recipients", {}) if isinstance(config, dict) else {}
    if not isinstance(recipients, dict) or not isinstance(recipients.get("items", []), list):
        return None
    items = recipients.get("items", [])
    addresses = [item["email"] for item in items if _is_address(item)]
    return {"addresses": addresses, "others": [item for item in items if not _is_address(item)]}


def _is_address(item: Json) -> bool:
    return isinstance(item, dict) and isinstance(item.get("email"), str)

"""Template filters for values of entries."""

import json
from collections.abc import Mapping
from typing import Final

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.core.records import Json, Tier
from memory.logic.text_diff import render_value, to_text
from memory.models.entries import TierChoice


register = template.Library()

# The categories that the product gives to what it stores. They are values of filters too, where they stay as they are.
CATEGORY_LABELS: Final[Mapping[str, Promise]] = {
    "fact": pgettext_lazy("category of memory", "fact"),
    "learning": pgettext_lazy("category of memory", "learning"),
    "result": pgettext_lazy("category of memory", "result"),
    "execution": pgettext_lazy("category of memory", "execution"),
    "error": pgettext_lazy("category of memory", "error"),
    "page": pgettext_lazy("category of memory", "page"),
    "source": pgettext_lazy("category of memory", "source"),
    "message": pgettext_lazy("category of memory", "message"),
    "note": pgettext_lazy("category of memory", "note"),
    "reply": pgettext_lazy("category of memory", "reply"),
}
CATEGORY_HINTS: Final[Mapping[str, Promise]] = {
    "fact": _("Something that a person said"),
    "learning": _("A lesson from an earlier task"),
    "result": _("The result of an earlier task"),
    "page": _("A page that workflows write and keep up to date"),
    "source": _("A text from which pages were written"),
    "document": _("A part of a document that was added"),
}
TIER_HINTS: Final[Mapping[Tier, Promise]] = {
    Tier.QUARANTINE: _("Quarantined: not recalled until approved."),
    Tier.WORKING: _("In use. Expires after a day unless it proves useful."),
    Tier.LONG_TERM: _("In use. Does not expire."),
}
# The reasons that the product gives for a change, as they are stored.
REASONS: Final[Mapping[str, Promise]] = {"Undone": _("Undone")}
register.filter("as_text", to_text)


@register.filter
def translate_reason(reason: str) -> str:
    """Return the product's own reason in the reader's language; what a person wrote stays as it is."""
    return str(REASONS.get(reason, reason))


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


@register.filter
def tier_hint(tier: str) -> str:
    """Return what the tier means for recall and expiry."""
    return str(TIER_HINTS[Tier(str(tier))])


@register.filter
def category_hint(category: str | None) -> str:
    """Return what entries of the category are, or an empty text for a category of an author."""
    return str(CATEGORY_HINTS.get(category or "", ""))


@register.filter
def category_label(category: str | None) -> str:
    """Return the word for a category of the product, or a category of an author as it is."""
    return str(CATEGORY_LABELS.get(category or "", category or ""))


def _format_member(value: Json) -> str:
    return _join_lines(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _join_lines(text: str) -> str:
    return " ".join(text.split())

"""The titles of node kinds."""

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext

from workflows.engine.kinds import AnyKind
from workflows.execution.kinds import load_kinds


register = template.Library()


@register.filter
def kind_in_words(name: str, kinds: Mapping[str, AnyKind] | None = None) -> str:
    """Return the kind's title; a kind that isn't installed keeps its name."""
    kind = (kinds or load_kinds()).get(name)
    return gettext(kind.title) if kind else name

"""The template filter that shows a node kind by its title."""

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext

from workflows.engine.kinds import AnyKind
from workflows.execution.kinds import load_kinds


register = template.Library()


@register.filter
def get_kind_title(name: str, kinds: Mapping[str, AnyKind] | None = None) -> str:
    """Return the translated title of the kind with this name, or the name if no such kind is installed."""
    kind = (kinds or load_kinds()).get(name)
    return gettext(kind.title) if kind else name

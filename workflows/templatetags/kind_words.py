"""The kinds of nodes as people know them: by the title their description has, not by the word documents write."""

from django import template
from django.utils.translation import gettext

from workflows.services.kinds import installed_kinds


register = template.Library()


@register.filter
def kind_in_words(name: str) -> str:
    """A kind that isn't installed any more keeps its own word."""
    kind = installed_kinds().get(name)
    return gettext(kind.title) if kind else name

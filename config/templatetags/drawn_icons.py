"""Draws an icon of each name and style once. A page includes a hundred of them, and ten take as long as a query.

``{% include %}`` of the template of icons is replaced in all templates, see ``TEMPLATES`` in the settings; every other
``{% include %}`` is Django's.
"""

from typing import Final

from django import template
from django.template.base import Node, Parser, Token
from django.template.context import Context
from django.template.loader_tags import IncludeNode, do_include
from django.utils.safestring import SafeString


register = template.Library()

ICON: Final = "components/icon.html"
MAX_ICONS: Final = 1_000  # a name may come from a document

_drawn_icons: dict[tuple[tuple[str, str], ...], SafeString] = {}


class IconNode(IncludeNode):
    """Includes the template of icons, which reads nothing but the values that it is given."""

    def render(self, context: Context) -> SafeString:
        values = tuple(
            (name, str(value.resolve(context) or "")) for name, value in self.extra_context.items()
        )
        icon = _drawn_icons.get(values)
        if icon is None:
            icon = super().render(context)
            if len(_drawn_icons) < MAX_ICONS:
                _drawn_icons[values] = icon
        return icon


@register.tag("include")
def include(parser: Parser, token: Token) -> Node:
    node: IncludeNode = do_include(parser, token)
    if node.template.var != ICON or not node.isolated_context:
        return node
    return IconNode(node.template, extra_context=node.extra_context, isolated_context=True)

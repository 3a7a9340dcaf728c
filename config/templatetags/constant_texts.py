"""The library ``i18n`` of Django, which translates a constant text once for each language.

A page has up to 250 of them, and to look one up takes as long as to render ten lines of HTML.
"""

from typing import Any

from django import template
from django.template.base import Node, Parser, Token, Variable
from django.template.context import Context
from django.templatetags import i18n
from django.templatetags.i18n import TranslateNode
from django.utils.translation import get_language


register = template.Library()
register.tags.update(i18n.register.tags)
register.filters.update(i18n.register.filters)


class ConstantTextNode(TranslateNode):
    """A text that is the same each time, but for the language, and for whether it is escaped."""

    def __init__(
        self, *args: Any, **options: Any
    ) -> None:  # Any: those of the node that it replaces
        super().__init__(*args, **options)
        self._translations: dict[tuple[str | None, bool], str] = {}

    def render(self, context: Context) -> str:
        key = get_language(), context.autoescape
        translation = self._translations.get(key)
        if translation is None:
            translation = self._translations[key] = super().render(context)
        return translation


@register.tag("translate")
@register.tag("trans")
def translate(parser: Parser, token: Token) -> Node:
    node: TranslateNode = i18n.do_translate(parser, token)
    if not _is_constant(node):
        return node
    return ConstantTextNode(
        node.filter_expression, node.noop, node.asvar, message_context=node.message_context
    )


def _is_constant(node: TranslateNode) -> bool:
    text, message_context = node.filter_expression, node.message_context
    is_literal = isinstance(text.var, Variable) and text.var.literal is not None
    has_literal_context = message_context is None or isinstance(message_context.var, str)
    return is_literal and has_literal_context and not text.filters and not node.asvar

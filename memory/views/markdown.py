"""The Markdown of knowledge pages made into HTML that can do no harm.

Raw HTML is shown as text, links keep only harmless schemes (markdown-it's own rule), images become
links: nothing is fetched because somebody looks. ``[[Title]]`` leads to the page of that name.
"""

import re
from collections.abc import Callable, MutableMapping
from functools import cache
from typing import Any, Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token


# A page's name, as it is written in double brackets → the address it leads to; nothing: no such page.
Finder = Callable[[str], str]


def rendered(text: str, find: Finder = lambda _name: "") -> SafeString:
    return mark_safe(str(_renderer().render(text, {FINDER: find})))  # noqa: S308 - html is off, see above


FINDER: Final = "find_page"
LOWERED: Final = 1  # the page has a heading of its own above these
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{0,200}))?\]\]")


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("js-default", {"html": False, "linkify": False}).disable("image")
    made.inline.ruler.before("link", "page_link", _page_link)
    made.core.ruler.push("lowered_headings", _lower_headings)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    return made


def _page_link(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        name = found[1].strip()
        _push_link(state, (found[2] or "").strip() or name, state.env[FINDER](name))
    state.pos = found.end()
    return True


def _push_link(state: StateInline, words: str, address: str) -> None:
    """Where no page is of that name, the words stand there as missing, and lead nowhere."""
    tag = "a" if address else "span"
    opened = state.push("link_open", tag, 1)
    opened.attrs = {"href": address, "class": "page-link"} if address else {"class": "page-missing"}
    text = state.push("text", "", 0)
    text.content = words
    state.push("link_close", tag, -1)


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + LOWERED)}"


def _table_open(
    renderer: RendererHTML, tokens: list[Token], at: int, *_rest: MutableMapping[str, Any]
) -> str:
    """In a box that scrolls, so that a wide one doesn't push the page apart."""
    label = escape(_("Table"))
    return f'<div class="table-wrap" role="region" tabindex="0" aria-label="{label}"><table class="table">\n'


def _table_close(
    renderer: RendererHTML, tokens: list[Token], at: int, *_rest: MutableMapping[str, Any]
) -> str:
    return "</table></div>\n"

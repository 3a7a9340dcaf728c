"""The Markdown of knowledge pages as safe HTML.

Raw HTML is shown as text, markdown-it drops links with harmful schemes, and images become links, so that viewing a page
fetches nothing. ``[[Title]]`` links to the page of that name.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline


# Returns the URL of the page of that name, or an empty string if there is none.
FindPageUrl = Callable[[str], str]

FINDER_KEY: Final = "find_page"
HEADING_OFFSET: Final = 1  # below the heading of the page
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{0,200}))?\]\]")


def render_markdown(text: str, find_url: FindPageUrl = lambda _name: "") -> SafeString:
    html = str(_create_renderer().render(text, {FINDER_KEY: find_url}))
    return mark_safe(html)  # noqa: S308 - the renderer escapes HTML, see above


@cache
def _create_renderer() -> MarkdownIt:
    renderer = MarkdownIt("js-default", {"html": False, "linkify": False}).disable("image")
    renderer.inline.ruler.before("link", "page_link", _parse_page_link)
    renderer.core.ruler.push("lowered_headings", _lower_headings)
    renderer.add_render_rule("table_open", _open_table)
    renderer.add_render_rule("table_close", _close_table)
    return renderer


def _parse_page_link(state: StateInline, silent: bool) -> bool:
    match = _LINK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        name = match[1].strip()
        _push_link(state, (match[2] or "").strip() or name, state.env[FINDER_KEY](name))
    state.pos = match.end()
    return True


def _push_link(state: StateInline, label: str, url: str) -> None:
    """Push a link, or the label marked as missing if the URL is empty."""
    tag = "a" if url else "span"
    link = state.push("link_open", tag, 1)
    link.attrs = {"href": url, "class": "page-link"} if url else {"class": "page-missing"}
    text = state.push("text", "", 0)
    text.content = label
    state.push("link_close", tag, -1)


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + HEADING_OFFSET)}"


def _open_table(_renderer: RendererHTML, *_arguments: Any) -> str:
    """Open a table in a box that scrolls, so that a wide one doesn't stretch the page."""
    label = escape(_("Table"))
    return f'<div class="table-wrap" role="region" tabindex="0" aria-label="{label}"><table class="table">\n'


def _close_table(_renderer: RendererHTML, *_arguments: Any) -> str:
    return "</table></div>\n"

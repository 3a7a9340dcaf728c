"""Renders Markdown that others wrote as safe HTML.

Raw HTML is shown as text, links keep only harmless schemes (markdown-it's own rule), and images become links, so that
viewing a text fetches nothing from elsewhere. In an answer, an image of our own store is a picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final
from uuid import UUID

from django import template
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from workflows.files.links import find_linked_id
from workflows.files.shown import ShownFile
from workflows.templatetags.files import render_linked_file


register = template.Library()

# The headings of an answer stand below those of its page, which go down to the third level.
_TOP_LEVEL: Final = 4
_LINK_ATTRIBUTES: Final = {"target": "_blank", "rel": "noopener noreferrer nofollow"}


def render_markdown(text: str, *, has_line_breaks: bool = False) -> SafeString:
    """Return the text as HTML. With ``has_line_breaks``, the lines of a paragraph stay lines."""
    renderer = _create_renderer(has_line_breaks)
    return mark_safe(str(renderer.render(text)))  # noqa: S308 - html is off, see above


@register.filter
def render_answer(text: str, files: Mapping[UUID, ShownFile] | None = None) -> SafeString:
    """Return the answer of a run as HTML. Its lines stay lines, and its links open another tab, so the chat stays.

    ``files`` are the reader's own files that the answer links to: each is shown in the place of its link.
    """
    html = _create_answer_renderer().render(text, {"files": files or {}})
    return mark_safe(str(html))  # noqa: S308 - html is off, see above


@cache
def _create_answer_renderer() -> MarkdownIt:
    options = {"html": False, "linkify": False, "breaks": True}
    renderer = MarkdownIt("js-default", options)
    renderer.core.ruler.push("answer", _adapt_to_page)
    return renderer


def _adapt_to_page(state: StateCore) -> None:
    files: Mapping[UUID, ShownFile] = state.env["files"]
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_LEVEL - 1)}"
        if token.children:
            token.children = [*_show_files(token.children, files)]


def _show_files(tokens: Sequence[Token], files: Mapping[UUID, ShownFile]) -> Iterator[Token]:
    """Yield the tokens of a paragraph, with our own files in the place of their links and images.

    An image of another host becomes a link.
    """
    remaining = iter(tokens)
    for token in remaining:
        if token.type not in ("image", "link_open"):
            yield token
            continue
        address = str(token.attrs.get("src") or token.attrs.get("href") or "")
        file_id = find_linked_id(address)
        if token.type == "image":
            name = token.content
            linked = [Token("text", "", 0, content=name or address)]
        else:
            linked = [*_take_until_link_close(remaining)]
            name = "".join(each.content for each in linked)
        if file_id is not None:
            html = render_linked_file(files.get(file_id), name)
            yield Token("html_inline", "", 0, content=html)
            continue
        attributes: dict[str, str | int | float] = {"href": address, **_LINK_ATTRIBUTES}
        yield Token("link_open", "a", 1, attrs=attributes)
        yield from linked
        yield Token("link_close", "a", -1)


def _take_until_link_close(tokens: Iterator[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "link_close":
            return
        yield from (
            [token] if token.type != "image" else [Token("text", "", 0, content=token.content)]
        )


@cache
def _create_renderer(has_line_breaks: bool) -> MarkdownIt:
    options = {"html": False, "linkify": False, "breaks": has_line_breaks}
    return MarkdownIt("js-default", options).disable("image")

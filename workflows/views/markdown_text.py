"""Renders Markdown that others wrote as safe HTML.

Raw HTML is shown as text, links keep only harmless schemes (markdown-it's own rule), and images become links, so that
viewing a text fetches nothing.
"""

from functools import cache

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt


def render_markdown(text: str, *, has_line_breaks: bool = False) -> SafeString:
    """Return the text as HTML. With ``has_line_breaks``, the lines of a paragraph stay lines."""
    renderer = _create_renderer(has_line_breaks)
    return mark_safe(str(renderer.render(text)))  # noqa: S308 - html is off, see above


@cache
def _create_renderer(has_line_breaks: bool) -> MarkdownIt:
    options = {"html": False, "linkify": False, "breaks": has_line_breaks}
    return MarkdownIt("js-default", options).disable("image")

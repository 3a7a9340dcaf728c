"""Render comments: basic Markdown, links and highlighted mentions."""

import re
from collections.abc import Callable, Iterable

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe


register = template.Library()

# Matched from left to right in the escaped text; the content of a code span is not changed.
_SPANS = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<em>[^*\s][^*\n]*)\*(?!\w)"
    r"|\[(?P<words>[^\]\n]+)\]\((?P<to>https?://[^\s)]+)\)"
    r"|(?P<link>https?://[^\s<]*[^\s<.,;:!?)\]])"
)
_ITEM = re.compile(r"[-*] (.+)")
_FENCE = "```"


@register.filter
def render_markdown(text: str, people: Iterable[str] = ()) -> SafeString:
    """Return the text as HTML. It is escaped first, so the result contains only markup of this module."""
    blocks = escape(text).split(_FENCE)
    mention = _build_mention_highlighter(people)
    parts = [
        f"<pre>{block.strip(chr(10))}</pre>"
        if at % 2 and at < len(blocks) - 1
        else _render_lines(block, mention)
        for at, block in enumerate(blocks)
    ]
    return mark_safe("".join(parts))  # noqa: S308 -- escaped above


def _render_lines(block: str, mention: Callable[[str], str]) -> str:
    html: list[str] = []
    items: list[str] = []
    for paragraph in re.split(r"\n{2,}", block.strip("\n")):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            item = _ITEM.fullmatch(line.strip())
            if item:
                html += _render_paragraph(lines)
                lines = []
                items.append(f"<li>{_render_inline(item[1], mention)}</li>")
            else:
                html += _render_list(items)
                items = []
                lines.append(_render_inline(line, mention))
        html += _render_list(items) + _render_paragraph(lines)
        items = []
    return "".join(html)


def _render_paragraph(lines: list[str]) -> list[str]:
    text = "<br>".join(lines)
    return [f"<p>{text}</p>"] if text.strip() else []


def _render_list(items: list[str]) -> list[str]:
    return [f"<ul>{''.join(items)}</ul>"] if items else []


def _render_inline(text: str, mention: Callable[[str], str]) -> str:
    html, end = "", 0
    for match in _SPANS.finditer(text):
        html += mention(text[end : match.start()]) + _render_span(match)
        end = match.end()
    return html + mention(text[end:])


def _render_span(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind in ("code", "strong", "em"):
        return f"<{kind}>{match[kind]}</{kind}>"
    address = match["to"] or match["link"]
    words = match["words"] or match["link"]
    return f'<a href="{address}" rel="noopener nofollow ugc" target="_blank">{words}</a>'


def _build_mention_highlighter(people: Iterable[str]) -> Callable[[str], str]:
    """Return a function that highlights mentions, longest names first: "@Ana Maria" isn't "@Ana"."""
    names = sorted((escape(name) for name in people), key=len, reverse=True)
    if not names:
        return lambda text: text
    at = re.compile("@(" + "|".join(map(re.escape, names)) + r")(?!\w)")
    return lambda text: at.sub(r'<b class="mention">@\1</b>', text)

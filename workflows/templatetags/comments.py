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
    r"|\[(?P<label>[^\]\n]+)\]\((?P<target>https?://[^\s)]+)\)"
    r"|(?P<bare_url>https?://[^\s<]*[^\s<.,;:!?)\]])"
)
_LIST_ITEM = re.compile(r"[-*] (.+)")
_FENCE = "```"


@register.filter
def render_markdown(text: str, member_names: Iterable[str] = ()) -> SafeString:
    """Return the text as HTML with highlighted mentions. It is escaped first, so all markup is from this module."""
    blocks = escape(text).split(_FENCE)
    highlight_mentions = _build_mention_highlighter(member_names)
    html_blocks = [
        f"<pre>{block.strip(chr(10))}</pre>"
        if index % 2 and index < len(blocks) - 1
        else _render_lines(block, highlight_mentions)
        for index, block in enumerate(blocks)
    ]
    return mark_safe("".join(html_blocks))  # noqa: S308 -- escaped above


def _render_lines(block: str, highlight_mentions: Callable[[str], str]) -> str:
    html_parts: list[str] = []
    items: list[str] = []
    for paragraph in re.split(r"\n{2,}", block.strip("\n")):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            item = _LIST_ITEM.fullmatch(line.strip())
            if item:
                html_parts += _render_paragraph(lines)
                lines = []
                items.append(f"<li>{_render_inline(item[1], highlight_mentions)}</li>")
            else:
                html_parts += _render_list(items)
                items = []
                lines.append(_render_inline(line, highlight_mentions))
        html_parts += _render_list(items) + _render_paragraph(lines)
        items = []
    return "".join(html_parts)


def _render_paragraph(lines: list[str]) -> list[str]:
    text = "<br>".join(lines)
    return [f"<p>{text}</p>"] if text.strip() else []


def _render_list(items: list[str]) -> list[str]:
    return [f"<ul>{''.join(items)}</ul>"] if items else []


def _render_inline(text: str, highlight_mentions: Callable[[str], str]) -> str:
    html, end = "", 0
    for match in _SPANS.finditer(text):
        html += highlight_mentions(text[end : match.start()]) + _render_span(match)
        end = match.end()
    return html + highlight_mentions(text[end:])


def _render_span(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind in ("code", "strong", "em"):
        return f"<{kind}>{match[kind]}</{kind}>"
    url = match["target"] or match["bare_url"]
    label = match["label"] or url
    return f'<a href="{url}" rel="noopener nofollow ugc" target="_blank">{label}</a>'


def _build_mention_highlighter(member_names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that highlights mentions and tries longer names first: "@Ana Maria" doesn't mention Ana."""
    names = sorted((escape(name) for name in member_names), key=len, reverse=True)
    if not names:
        return lambda text: text
    mention = re.compile("@(" + "|".join(map(re.escape, names)) + r")(?!\w)")
    return lambda text: mention.sub(r'<b class="mention">@\1</b>', text)

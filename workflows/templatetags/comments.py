"""Comments as people read them: a little Markdown, addresses as links, names with @ set off."""

import re
from collections.abc import Callable, Iterable

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe


register = template.Library()

# Tried from left to right at every place of the escaped text; what a code span holds is left alone.
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
def marked_up(text: str, people: Iterable[str] = ()) -> SafeString:
    """Everything is escaped first: what comes out holds no markup but ours."""
    blocks = escape(text).split(_FENCE)
    mention = _mention(people)
    parts = [
        f"<pre>{block.strip(chr(10))}</pre>"
        if at % 2 and at < len(blocks) - 1
        else _lines(block, mention)
        for at, block in enumerate(blocks)
    ]
    return mark_safe("".join(parts))  # noqa: S308 -- escaped above


def _lines(block: str, mention: Callable[[str], str]) -> str:
    html: list[str] = []
    items: list[str] = []
    for paragraph in re.split(r"\n{2,}", block.strip("\n")):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            item = _ITEM.fullmatch(line.strip())
            if item:
                html += _paragraph(lines)
                lines = []
                items.append(f"<li>{_inline(item[1], mention)}</li>")
            else:
                html += _list(items)
                items = []
                lines.append(_inline(line, mention))
        html += _list(items) + _paragraph(lines)
        items = []
    return "".join(html)


def _paragraph(lines: list[str]) -> list[str]:
    text = "<br>".join(lines)
    return [f"<p>{text}</p>"] if text.strip() else []


def _list(items: list[str]) -> list[str]:
    return [f"<ul>{''.join(items)}</ul>"] if items else []


def _inline(text: str, mention: Callable[[str], str]) -> str:
    made, end = "", 0
    for found in _SPANS.finditer(text):
        made += mention(text[end : found.start()]) + _span(found)
        end = found.end()
    return made + mention(text[end:])


def _span(found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    if kind in ("code", "strong", "em"):
        return f"<{kind}>{found[kind]}</{kind}>"
    address = found["to"] or found["link"]
    words = found["words"] or found["link"]
    return f'<a href="{address}" rel="noopener nofollow ugc" target="_blank">{words}</a>'


def _mention(people: Iterable[str]) -> Callable[[str], str]:
    """Longest name first: "@Ana Maria" isn't "@Ana" with something behind it."""
    names = sorted((escape(name) for name in people), key=len, reverse=True)
    if not names:
        return lambda text: text
    at = re.compile("@(" + "|".join(map(re.escape, names)) + r")(?!\w)")
    return lambda text: at.sub(r'<b class="mention">@\1</b>', text)

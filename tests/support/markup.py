"""Markup the way a browser reads it: whatever the line breaks of its template."""

import re

from django.http import HttpResponse
from django.http.response import HttpResponseBase


# Start and end on a line of their own, or aren't shown: a browser shows no whitespace at either side of such a tag.
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "link",
        "main",
        "meta",
        "nav",
        "noscript",
        "ol",
        "optgroup",
        "option",
        "p",
        "pre",
        "script",
        "search",
        "section",
        "style",
        "summary",
        "table",
        "tbody",
        "td",
        "template",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
)
# Stand in a line like a word does; whitespace only goes at the edges of what they hold.
BOXES = frozenset(("button", "label", "select"))
# What these hold is shown, or read by a script, as it is.
AS_IS = frozenset(("pre", "textarea", "script", "style"))

SPACE = r"[ \t\n\f\r]+"  # not \s: a no-break space is text
TAG = re.compile(
    rf"""(?P<as_is><(?P<kept>{"|".join(sorted(AS_IS))})\b(?:[^>"']|"[^"]*"|'[^']*')*>)(?P<content>.*?)(?=</(?P=kept)\b)
    |<(?P<slash>/?)(?P<name>[a-z][a-z0-9-]*)(?:[^>"']|"[^"]*"|'[^']*')*>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
VALUE_OR_SPACE = re.compile(rf"""("[^"]*"|'[^']*')|{SPACE}""")


def markup_of(answer: HttpResponseBase) -> str:
    """The page, or the fragment of one, that came back."""
    assert isinstance(answer, HttpResponse)
    return tidy(answer.content.decode())


def tidy(html: str) -> str:
    """
    The same markup on one line, with one spelling for all that a browser reads alike:

    * between the attributes of a tag stands one space, before its `>` none; values stay, line breaks in them too;
    * no whitespace at the edges of a block (`<p>`, `<td>`, `<option>`…), inside or outside;
    * none inside the edges of a `<button>`, `<label>` or `<select>`;
    * any other whitespace in text, which shows as one space, is one: `<b>a</b> <b>b</b>` isn't `<b>a</b><b>b</b>`;
    * `<pre>`, `<textarea>`, `<script>` and `<style>` hold what they held.
    """
    parts: list[str] = []
    end, trims_start = 0, True
    for tag in TAG.finditer(html):
        name, is_end = (tag["name"] or tag["kept"]).lower(), bool(tag["slash"])
        trims_end = name in BLOCKS or (name in BOXES and is_end)
        parts.append(_text(html[end : tag.start()], trims_start=trims_start, trims_end=trims_end))
        parts.append(_tag(tag["as_is"]) + tag["content"] if tag["kept"] else _tag(tag[0]))
        trims_start = name in BLOCKS or (name in BOXES and not is_end)
        end = tag.end()
    parts.append(_text(html[end:], trims_start=trims_start, trims_end=True))
    return "".join(parts)


def _text(text: str, *, trims_start: bool, trims_end: bool) -> str:
    shown = re.sub(SPACE, " ", text)
    if trims_start:
        shown = shown.removeprefix(" ")
    return shown.removesuffix(" ") if trims_end else shown


def _tag(tag: str) -> str:
    spaced = VALUE_OR_SPACE.sub(lambda found: found[1] or " ", tag)
    return spaced.removesuffix(" >") + ">" if spaced.endswith(" >") else spaced

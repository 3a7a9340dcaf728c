"""Extracts the title and the main text of an HTML page, in a time that grows with the page's length alone.

The standard library's html.parser isn't used: a page of unclosed tags or comments takes it minutes (it looks for their
end from each beginning again).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final


MAX_CHARACTERS: Final = 1_000_000  # of HTML
_MAX_TAG: Final = 2_000  # characters; a "<" without an end within them is text
_MIN_MAIN_CHARACTERS: Final = 200  # a shorter <main> or <article> is only a part of the page's text

# Elements whose content nobody reads.
_HIDDEN: Final = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "head"}
)
# Elements around the text of a page.
_SURROUNDINGS: Final = frozenset({"nav", "footer", "aside", "form", "button", "dialog"})
_MAIN: Final = frozenset({"main", "article"})
_BLOCKS: Final = frozenset(
    {
        *(
            "address",
            "article",
            "blockquote",
            "dd",
            "div",
            "dl",
            "dt",
            "figcaption",
            "figure",
            "header",
        ),
        *(
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "main",
            "ol",
            "p",
            "pre",
            "section",
            "table",
        ),
        *("tbody", "thead", "tr", "ul", "br", "nav", "footer", "aside", "form"),
    }
)
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_CELLS: Final = frozenset({"td", "th"})
# Elements whose content is text up to their own end tag.
_RAW: Final = {
    name: re.compile(rf"</{name}\b", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "noscript", "iframe")
}
_TAG_NAME: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9:-]*)")

Token = tuple[str, str]  # "text", "start" or "end", and the text or the name of the tag


@dataclass(frozen=True, slots=True)
class PageText:
    title: str
    text: str


def extract_text(html: str) -> PageText:
    """Return the title and the text of a page: of its main element if it has one, otherwise without its navigation."""
    reader = _PageReader()
    for kind, content in _iter_tokens(html[:MAX_CHARACTERS]):
        reader.handle(kind, content)
    main, body = _tidy("".join(reader.main)), _tidy("".join(reader.body))
    text = main if len(main) >= _MIN_MAIN_CHARACTERS or not body else body
    title = " ".join(reader.title[:1000].split())[:500]
    return PageText(title, text or _tidy("".join(reader.surroundings)))


def _iter_tokens(html: str) -> Iterator[Token]:
    """Yield the texts and tags of a page. Each search either moves on or is bounded, so the time is linear."""
    position, last_end = 0, html.rfind(">")
    while position < len(html):
        if position > last_end:
            # No tag ends any more, so the rest is text or a tag that was cut off.
            yield "text", html[position:].partition("<")[0]
            return
        start = html.find("<", position)
        if start != position:
            end = len(html) if start < 0 else start
            yield "text", html[position:end]
            position = end
            continue
        if html.startswith("<!--", position):
            end = html.find("-->", position + 4)
            position = len(html) if end < 0 else end + 3
            continue
        end = html.find(">", position, position + _MAX_TAG)
        name = _TAG_NAME.match(html, position + 1)
        if name is None and html[position + 1 : position + 2] not in ("!", "?", "/"):
            yield "text", "<"
            position += 1
            continue
        if end < 0:
            next_start = html.find("<", position + 1)
            position = len(html) if next_start < 0 else next_start
            continue
        position = end + 1
        if name is None:
            continue
        tag = name[1].lower()
        yield ("end" if name[0].startswith("/") else "start"), tag
        if tag in _RAW and not name[0].startswith("/"):
            closing = _RAW[tag].search(html, position)
            raw_end = closing.start() if closing else len(html)
            yield "text", html[position:raw_end]
            position = raw_end


class _PageReader:
    """Collects the texts of a page, by the elements that are open around them."""

    def __init__(self) -> None:
        self.title = ""
        self.main: list[str] = []
        self.body: list[str] = []
        self.surroundings: list[str] = []
        self._open = dict.fromkeys((*_HIDDEN, *_SURROUNDINGS, *_MAIN, "title", "pre"), 0)

    def handle(self, kind: str, content: str) -> None:
        if kind == "text":
            self._handle_text(content)
        elif kind == "start":
            self._open_tag(content)
        else:
            self._close_tag(content)

    def _open_tag(self, tag: str) -> None:
        if tag == "body":
            self._open["head"] = 0  # a page may leave out the end of its head
        if tag in self._open:
            self._open[tag] += 1
        if tag in _BLOCKS:
            self._add("\n")
        if tag in _HEADINGS:
            self._add(f"\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._add("- ")
        elif tag in _CELLS:
            self._add(" | ")

    def _close_tag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._add("\n")
        if self._open.get(tag):
            self._open[tag] -= 1

    def _handle_text(self, text: str) -> None:
        text = _unescape(text)
        if self._open["title"] and not self._open["svg"]:
            self.title = self.title or text
        else:
            self._add(text if self._open["pre"] else re.sub(r"\s+", " ", text))

    def _add(self, text: str) -> None:
        if self._is_inside(_HIDDEN):
            return
        if self._is_inside(_SURROUNDINGS):
            self.surroundings.append(text)
            return
        self.body.append(text)
        if self._is_inside(_MAIN):
            self.main.append(text)

    def _is_inside(self, tags: frozenset[str]) -> bool:
        is_open = self._open
        return any(is_open[tag] for tag in tags)


def _unescape(text: str) -> str:
    try:
        return unescape(text) if "&" in text else text
    except ValueError:  # a number of thousands of digits
        return text


def _tidy(text: str) -> str:
    """Return the text without spaces at the ends of lines, and with at most one empty line in a row."""
    lines = (line.strip(" \t\r\f\v") for line in text.replace("\x00", "").split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

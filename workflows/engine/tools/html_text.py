"""Extracts the title and the main text of an HTML page."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final


MAX_CHARACTERS: Final = 1_000_000  # of HTML
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
# Elements without an end tag, which therefore contain nothing.
_VOID: Final = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr"),
    }
)


@dataclass(frozen=True, slots=True)
class PageText:
    title: str
    text: str


def extract_text(html: str) -> PageText:
    """Return the title and the text of a page: of its main element if it has one, otherwise without its navigation."""
    reader = _PageReader()
    reader.feed(html[:MAX_CHARACTERS])
    reader.close()
    main, body = _tidy("".join(reader.main)), _tidy("".join(reader.body))
    text = main if len(main) >= _MIN_MAIN_CHARACTERS or not body else body
    return PageText(_squeeze("".join(reader.title)), text or _tidy("".join(reader.surroundings)))


class _PageReader(HTMLParser):
    """Collects the texts of a page, by the elements that are open around them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.main: list[str] = []
        self.body: list[str] = []
        self.surroundings: list[str] = []
        self._open = dict.fromkeys((*_HIDDEN, *_SURROUNDINGS, *_MAIN, "title", "pre"), 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._open["head"] = 0  # a page may leave out the end of its head
        if tag in self._open and tag not in _VOID:
            self._open[tag] += 1
        if tag in _BLOCKS:
            self._add("\n")
        if tag in _HEADINGS:
            self._add(f"\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._add("- ")
        elif tag in _CELLS:
            self._add(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._add("\n")
        if self._open.get(tag):
            self._open[tag] -= 1

    def handle_data(self, data: str) -> None:
        if self._open["title"] and not self._open["svg"]:
            self.title.append(data)
        else:
            self._add(data if self._open["pre"] else re.sub(r"\s+", " ", data))

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
        return any(self._open[tag] for tag in tags)


def _tidy(text: str) -> str:
    """Return the text without spaces at the ends of lines, and with at most one empty line in a row."""
    lines = (line.strip(" \t\r\f\v") for line in text.replace("\x00", "").split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _squeeze(text: str) -> str:
    return " ".join(text.split())[:500]

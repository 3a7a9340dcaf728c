"""Build the pages of a document from its text."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from memory.logic.conversations.summary import split_sentences
from memory.logic.knowledge.documents.pieces import Piece, divide
from memory.logic.knowledge.page_sources import cite_sources, hash_text
from memory.logic.knowledge.pages import KnowledgePage, build_slug


MAX_PAGES: Final = 1_000  # of one document
_MAX_SUMMARY: Final = 240
_MAX_TITLE: Final = 300
# The formats in which a line that begins with # is no heading.
_WITHOUT_HEADINGS: Final = frozenset({".json", ".jsonl", ".yaml", ".yml", ".xml", ".csv", ".tsv"})
# Signs of Markdown → what a summary has in their place.
_SIGNS: Final = (
    (re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,1000}\)"), r"\1"),  # links and images
    (re.compile(r"^(?:#{1,6}|[-*+>]|\d+[.)])\s+|\|+"), " "),
    (re.compile(r"(?<!\w)\*+|\*+(?!\w)|`+"), ""),
)
_TABLE_LINE: Final = re.compile(r"\s*\|")


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document. ``source_id`` is the id of its source, which its pages cite with ``digest``."""

    name: str  # of the file
    text: str
    source_id: str
    digest: str

    @property
    def title(self) -> str:
        return get_title(self.name)


def get_title(name: str) -> str:
    """Return the file's name without its extension."""
    return PurePath(name).stem.strip() or name


def build_tag(name: str) -> str:
    """Return the tag of a document's pages: its title, without commas, which separate tags."""
    return get_title(name)[:60].replace(",", " ").strip()


def build_document_id(name: str) -> str:
    """Return the id of the source of a file of this name: a file uploaded again under its name is the same document."""
    folded = " ".join(name.split()).casefold()
    return f"document-{build_slug(PurePath(name).stem)[:40]}-{hash_text(folded)[:8]}"


def build_document_pages(document: DocumentText) -> list[KnowledgePage]:
    """Return the document's pages in their order: none if it has no text, and perhaps more than ``MAX_PAGES``."""
    has_headings = PurePath(document.name).suffix.lower() not in _WITHOUT_HEADINGS
    pieces = divide(document.text, has_headings=has_headings)
    counts: Counter[str] = Counter()
    pages = []
    for position, piece in enumerate(pieces, start=1):
        heading = piece.heading
        counts[heading] += 1
        pages.append(_build_page(document, piece, position, counts[heading]))
    return pages


def _build_page(
    document: DocumentText, piece: Piece, position: int, repetition: int
) -> KnowledgePage:
    heading = piece.heading
    is_range = len(piece.path) == 1 and bool(piece.until)
    first = "" if is_range else next(iter(piece.path), "")
    is_named = first.casefold() == document.title.casefold()
    parts = [heading] if is_named else [document.title, heading]
    title = " › ".join(filter(None, parts))
    is_whole = len(title) <= _MAX_TITLE
    if not is_whole:
        title = f"{title[: _MAX_TITLE - 1].rstrip()}…"
    slug = f"{build_slug(heading)[:80].rstrip('-')}-{hash_text(heading)[:6]}" if heading else "text"
    page = KnowledgePage(
        id=f"{document.source_id}-{slug}-{repetition}",
        title=title if repetition == 1 else f"{title} ({repetition})",
        summary=_summarize(piece.text),
        content=_remove_own_heading(piece) if is_whole else piece.text,
        tags=(build_tag(document.name),),
    )
    page = cite_sources(page, [(document.source_id, document.digest)])
    return replace(page, sources=(replace(page.sources[0], heading=heading, position=position),))


def _remove_own_heading(piece: Piece) -> str:
    """Return the text without the heading that is the end of the page's title, unless nothing else is there."""
    first, _break, rest = piece.text.partition("\n\n")
    heading = piece.path[-1] if piece.path else ""
    is_own = bool(heading) and first.lstrip("# ").split("\n")[0].split() == heading.split()
    is_whole = "\n" not in first or set(first.split("\n")[-1].strip()) <= set("=-")
    is_only_heading = is_own and is_whole and not piece.until and piece.part == 1
    return rest if is_only_heading and rest.strip() else piece.text


def _summarize(text: str) -> str:
    """Return the first sentence, or the first lines of a table."""
    lines = [
        line for line in text.split("\n") if line.strip() and not line.startswith(("```", "~~~"))
    ]
    plain = [line for line in lines if not line.lstrip().startswith(("#", "|"))]
    plain = [line for line in plain if set(line.strip()) - set("=-")]
    sentence = next(iter(split_sentences("\n".join(plain))), "")
    if not sentence:
        rows = [line for line in lines if _TABLE_LINE.match(line) and "---" not in line]
        sentence = "; ".join(map(_describe_row, rows[:3]))
    summary = sentence or (lines[0] if lines else "")
    for pattern, replacement in _SIGNS:
        summary = pattern.sub(replacement, summary)
    words = " ".join(summary.split())
    return words if len(words) <= _MAX_SUMMARY else f"{words[: _MAX_SUMMARY - 1].rstrip()}…"


def _describe_row(row: str) -> str:
    cells: Sequence[str] = [cell.strip() for cell in row.strip().strip("|").split("|")]
    return ", ".join(filter(None, cells))

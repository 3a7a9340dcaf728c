"""Pages about the same subject: matching them, and merging one into the other."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from memory.logic.entries.duplicates import Likeness, compare_values, measure_similarity, normalize
from memory.logic.knowledge.pages import KnowledgePage, normalize_page


_MIN_SIMILARITY = 0.85
_MIN_CONTENT = 40  # characters; less says too little to be compared


class MatchReason(StrEnum):
    TITLE = "title"
    ALIAS = "alias"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class PageMatch:
    page: KnowledgePage
    reason: MatchReason


def find_matching_page(page: KnowledgePage, pages: Iterable[KnowledgePage]) -> PageMatch | None:
    """Find a page about the same subject: by title, then by another name, then by content."""
    candidates = sorted(
        (candidate for candidate in pages if candidate.id != page.id),
        key=lambda candidate: candidate.id,
    )
    for reason, matches in _MATCHERS:
        for other_page in candidates:
            if matches(page, other_page):
                return PageMatch(other_page, reason)
    return None


def merge_pages(old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
    """Add the content that only the new page has to the old page; no content of the old page is lost.

    A longer paragraph replaces a shorter one with the same statement.
    """
    references = [
        reference for reference in (*old.references, *new.references) if reference != old.id
    ]
    return normalize_page(
        replace(
            old,
            summary=new.summary or old.summary,
            content=merge_contents(old.content, new.content),
            tags=(*old.tags, *new.tags),
            references=tuple(references),
            aliases=(*old.aliases, new.title, *new.aliases),
            origin=new.origin or old.origin,
        )
    )


def merge_contents(old: str, new: str) -> str:
    if not old.strip() or not new.strip():
        return old if old.strip() else new
    paragraphs = old.split("\n\n")
    added = []
    for paragraph in filter(str.strip, new.split("\n\n")):
        position = _find_paragraph(paragraph, paragraphs)
        if position is None:
            added.append(paragraph)
        elif len(normalize(paragraph)) > len(normalize(paragraphs[position])):
            paragraphs[position] = paragraph
    content = "\n\n".join(paragraphs)
    return "\n\n".join([content.rstrip("\n"), *added]) if added else content


def _find_paragraph(paragraph: str, paragraphs: list[str]) -> int | None:
    """Return the position of a paragraph that says the same in nearly the same words."""
    for position, candidate in enumerate(paragraphs):
        if compare_values(paragraph, candidate) is not Likeness.DIFFERENT:
            return position
    return None


def _list_names(page: KnowledgePage) -> set[str]:
    return {normalize(name) for name in (page.title, *page.aliases)} - {""}


def _have_same_title(first: KnowledgePage, second: KnowledgePage) -> bool:
    return normalize(first.title) == normalize(second.title) != ""


def _share_name(first: KnowledgePage, second: KnowledgePage) -> bool:
    return not _list_names(first).isdisjoint(_list_names(second))


def _have_similar_content(first: KnowledgePage, second: KnowledgePage) -> bool:
    if min(len(first.content), len(second.content)) < _MIN_CONTENT:
        return False
    return measure_similarity(first.content, second.content) >= _MIN_SIMILARITY


_MATCHERS = (
    (MatchReason.TITLE, _have_same_title),
    (MatchReason.ALIAS, _share_name),
    (MatchReason.CONTENT, _have_similar_content),
)

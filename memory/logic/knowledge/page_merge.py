"""The matching and merging of pages about the same subject."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

from memory.logic.entries.duplicates import Likeness, compare_values, measure_similarity, normalize
from memory.logic.knowledge.page_sources import merge_sources
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
    """Find a page about the same subject: one with the same title, else with a common name, else with similar content."""
    others = sorted((other for other in pages if other.id != page.id), key=attrgetter("id"))
    for reason, matches in _MATCHERS:
        for other in others:
            if matches(page, other):
                return PageMatch(other, reason)
    return None


def merge_pages(old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
    """Return the old page with the new summary, and with the new page's other content, tags, references, names and sources."""
    references = (*old.references, *new.references)
    merged = normalize_page(
        replace(
            old,
            summary=new.summary or old.summary,
            content=merge_contents(old.content, new.content),
            tags=(*old.tags, *new.tags),
            references=tuple(reference for reference in references if reference != old.id),
            aliases=(*old.aliases, new.title, *new.aliases),
            origin=new.origin or old.origin,
        )
    )
    return replace(merged, sources=merge_sources(old.sources, new.sources, merged))


def merge_contents(old: str, new: str) -> str:
    """Append the new paragraphs to the old ones; of two paragraphs with the same statement, the longer one stays."""
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
    likenesses = (compare_values(paragraph, candidate) for candidate in paragraphs)
    return next((n for n, like in enumerate(likenesses) if like is not Likeness.DIFFERENT), None)


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

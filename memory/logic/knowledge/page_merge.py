"""One page about one thing: finding the page that is there already, and writing into it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from memory.logic.entries.duplicates import Likeness, compare_values, measure_similarity, normalize
from memory.logic.knowledge.pages import KnowledgePage, tidy


class Twin(StrEnum):
    TITLE = "title"
    ALIAS = "alias"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class FoundTwin:
    page: KnowledgePage
    why: Twin


def find_twin(page: KnowledgePage, pages: Iterable[KnowledgePage]) -> FoundTwin | None:
    """The page that is about the same: by title, by one of its other names, by what it says."""
    others = sorted((one for one in pages if one.id != page.id), key=lambda one: one.id)
    for why, holds in _TESTS:
        for other in others:
            if holds(page, other):
                return FoundTwin(other, why)
    return None


def merged(old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
    """Into the old page what only the new one says; nothing the old one says is lost.

    A paragraph that says more takes the place of the one that said less.
    """
    references = [one for one in (*old.references, *new.references) if one != old.id]
    return tidy(
        replace(
            old,
            summary=new.summary or old.summary,
            content=merged_content(old.content, new.content),
            tags=(*old.tags, *new.tags),
            references=tuple(references),
            aliases=(*old.aliases, new.title, *new.aliases),
            origin=new.origin or old.origin,
        )
    )


def merged_content(old: str, new: str) -> str:
    if not old.strip() or not new.strip():
        return old if old.strip() else new
    paragraphs = old.split("\n\n")
    added = []
    for paragraph in filter(str.strip, new.split("\n\n")):
        position = _said_at(paragraph, paragraphs)
        if position is None:
            added.append(paragraph)
        elif len(normalize(paragraph)) > len(normalize(paragraphs[position])):
            paragraphs[position] = paragraph
    kept = "\n\n".join(paragraphs)
    return "\n\n".join([kept.rstrip("\n"), *added]) if added else kept


def _said_at(paragraph: str, paragraphs: list[str]) -> int | None:
    """Where it is said already, in the same words or nearly."""
    for position, one in enumerate(paragraphs):
        if compare_values(paragraph, one) is not Likeness.DIFFERENT:
            return position
    return None


_SIMILAR = 0.85
_LEAST_CONTENT = 40  # characters; less says too little to be compared


def _names(page: KnowledgePage) -> set[str]:
    return {normalize(one) for one in (page.title, *page.aliases)} - {""}


def _same_title(one: KnowledgePage, other: KnowledgePage) -> bool:
    return normalize(one.title) == normalize(other.title) != ""


def _same_name(one: KnowledgePage, other: KnowledgePage) -> bool:
    return not _names(one).isdisjoint(_names(other))


def _same_content(one: KnowledgePage, other: KnowledgePage) -> bool:
    if min(len(one.content), len(other.content)) < _LEAST_CONTENT:
        return False
    return measure_similarity(one.content, other.content) >= _SIMILAR


_TESTS = ((Twin.TITLE, _same_title), (Twin.ALIAS, _same_name), (Twin.CONTENT, _same_content))

"""The table of contents of the pages of a namespace: what there is, what refers to what, what is stale.

Always made from the pages themselves. A list kept beside them would be one more thing that two
writers could leave out of step; this one can't be.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.logic.entries.duplicates import normalize
from memory.logic.knowledge.pages import KnowledgePage, wiki_links


@dataclass(frozen=True, slots=True)
class PageIndexEntry:
    id: str
    title: str
    summary: str
    tags: tuple[str, ...]
    updated_at: datetime | None


class Staleness(StrEnum):
    CHANGED = "changed"  # what it refers to changed later than it
    VANISHED = "vanished"  # what it refers to is not there


@dataclass(frozen=True, slots=True)
class StaleMark:
    page_id: str
    reference: str
    why: Staleness
    since: datetime | None = None  # when the other changed


@dataclass(frozen=True, slots=True)
class PageIndex:
    """``links`` and ``backlinks`` are the same references, read from either end."""

    entries: tuple[PageIndexEntry, ...]
    links: Mapping[str, tuple[str, ...]]
    backlinks: Mapping[str, tuple[str, ...]]
    stale: tuple[StaleMark, ...]

    @classmethod
    def of(cls, pages: Iterable[KnowledgePage]) -> "PageIndex":
        ordered = sorted(pages, key=lambda page: (page.title.casefold(), page.id))
        by_id = {page.id: page for page in ordered}
        by_name = _names(ordered)
        links = {page.id: _links(page, by_id, by_name) for page in ordered}
        return cls(
            entries=tuple(map(_entry, ordered)),
            links=links,
            backlinks=_turned_round(links),
            stale=tuple(mark for page in ordered for mark in _marks(page, links, by_id)),
        )


def _entry(page: KnowledgePage) -> PageIndexEntry:
    return PageIndexEntry(page.id, page.title, page.summary, page.tags, page.updated_at)


def _names(pages: Iterable[KnowledgePage]) -> dict[str, str]:
    """Titles before aliases, and of two pages with one name the first."""
    pages = list(pages)
    names: dict[str, str] = {}
    for page in pages:
        names.setdefault(normalize(page.title), page.id)
    for page in pages:
        for alias in page.aliases:
            names.setdefault(normalize(alias), page.id)
    return names


def _links(
    page: KnowledgePage, by_id: Mapping[str, KnowledgePage], by_name: Mapping[str, str]
) -> tuple[str, ...]:
    """What it refers to, there or not, and what its text links to, if that is there."""
    found = list(page.references)
    for name in wiki_links(page.content):
        target = name if name in by_id else by_name.get(normalize(name), "")
        if target and target != page.id:
            found.append(target)
    return tuple(dict.fromkeys(found))


def _turned_round(links: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for page, targets in links.items():
        for target in targets:
            found[target].append(page)
    return {target: tuple(sorted(pages)) for target, pages in found.items()}


def _marks(
    page: KnowledgePage,
    links: Mapping[str, tuple[str, ...]],
    by_id: Mapping[str, KnowledgePage],
) -> Iterable[StaleMark]:
    known = max(filter(None, (page.updated_at, page.checked_at)), default=None)
    for target in links[page.id]:
        other = by_id.get(target)
        if other is None:
            yield StaleMark(page.id, target, Staleness.VANISHED)
        elif known and other.updated_at and other.updated_at > known:
            yield StaleMark(page.id, target, Staleness.CHANGED, other.updated_at)

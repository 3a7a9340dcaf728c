"""The index of a namespace's pages: the pages, their links, and the outdated references.

It is always built from the pages, because a stored index could become inconsistent when two members write at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.logic.entries.duplicates import normalize
from memory.logic.knowledge.pages import KnowledgePage, list_wiki_links


@dataclass(frozen=True, slots=True)
class PageIndexEntry:
    id: str
    title: str
    summary: str
    tags: tuple[str, ...]
    updated_at: datetime | None


class OutdatedReason(StrEnum):
    CHANGED = "changed"  # the referenced page changed later
    VANISHED = "vanished"  # the referenced page does not exist


@dataclass(frozen=True, slots=True)
class OutdatedReference:
    page_id: str
    reference: str
    reason: OutdatedReason
    since: datetime | None = None  # when the referenced page changed


@dataclass(frozen=True, slots=True)
class PageIndex:
    """The pages with their references in both directions, and the outdated references."""

    entries: tuple[PageIndexEntry, ...]
    links: Mapping[str, tuple[str, ...]]
    backlinks: Mapping[str, tuple[str, ...]]
    outdated: tuple[OutdatedReference, ...]

    @classmethod
    def from_pages(cls, pages: Iterable[KnowledgePage]) -> "PageIndex":
        ordered = sorted(pages, key=lambda page: (page.title.casefold(), page.id))
        by_id = {page.id: page for page in ordered}
        by_name = _map_names(ordered)
        links = {page.id: _list_links(page, by_id, by_name) for page in ordered}
        return cls(
            entries=tuple(
                PageIndexEntry(page.id, page.title, page.summary, page.tags, page.updated_at)
                for page in ordered
            ),
            links=links,
            backlinks=_invert_links(links),
            outdated=tuple(
                reference
                for page in ordered
                for reference in _find_outdated_references(page, links, by_id)
            ),
        )


def _map_names(pages: Sequence[KnowledgePage]) -> dict[str, str]:
    """Map titles and aliases to page ids. A title takes precedence over an alias, and the first page over others."""
    names = [(page.title, page.id) for page in pages]
    names += [(alias, page.id) for page in pages for alias in page.aliases]
    return {normalize(name): page_id for name, page_id in reversed(names)}


def _list_links(
    page: KnowledgePage, by_id: Mapping[str, KnowledgePage], by_name: Mapping[str, str]
) -> tuple[str, ...]:
    """List the page's references, existing or not, and the existing pages that its text links to."""
    links = list(page.references)
    for name in list_wiki_links(page.content):
        target = name if name in by_id else by_name.get(normalize(name), "")
        if target and target != page.id:
            links.append(target)
    return tuple(dict.fromkeys(links))


def _invert_links(links: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    backlinks: dict[str, list[str]] = defaultdict(list)
    for page, targets in links.items():
        for target in targets:
            backlinks[target].append(page)
    return {target: tuple(sorted(pages)) for target, pages in backlinks.items()}


def _find_outdated_references(
    page: KnowledgePage, links: Mapping[str, tuple[str, ...]], by_id: Mapping[str, KnowledgePage]
) -> Iterable[OutdatedReference]:
    confirmed_at = max(filter(None, (page.updated_at, page.checked_at)), default=None)
    for target in links[page.id]:
        changed_at = by_id[target].updated_at if target in by_id else None
        if target not in by_id:
            yield OutdatedReference(page.id, target, OutdatedReason.VANISHED)
        elif confirmed_at and changed_at and changed_at > confirmed_at:
            yield OutdatedReference(page.id, target, OutdatedReason.CHANGED, changed_at)

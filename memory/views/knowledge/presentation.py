"""What the pages of knowledge show: rows of a shelf, links with their names, a page's past."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from memory.logic.entries.duplicates import normalize
from memory.logic.knowledge.page_index import StaleMark, Staleness
from memory.logic.knowledge.page_requests import PageHit
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.text_diff import diff_values
from memory.models import Namespace, Revision
from memory.provenance import load_provenance
from memory.services import FoundPages, PageView, Shelf
from memory.views.entries.entry_details import PARTS
from memory.views.entries.revisions import Changed, RevisionTold, revisions_told
from memory.views.knowledge.forms import names_of


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page on its shelf; ``score`` and ``parts`` where it was searched for, ``place`` where on all shelves."""

    page: KnowledgePage
    url: str
    shelf_url: str
    is_stale: bool = False
    score: float | None = None
    parts: tuple[tuple[str | Promise, float], ...] = ()
    place: str = ""

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """``url`` is empty where there is no such page."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class StaleRow:
    words: str | Promise
    link: LinkRow
    mark: StaleMark


def page_url(entry_id: str) -> str:
    return reverse("memory:knowledge_page", args=[entry_id])


def shelf_url(namespace_id: UUID) -> str:
    return reverse("memory:knowledge_shelf", args=[namespace_id])


def pages_of(shelf: Shelf, *, tag: str = "", stale_only: bool = False) -> list[KnowledgePage]:
    """By title."""
    stale = {mark.page_id for mark in shelf.index.stale} if stale_only else set()
    return [
        page
        for page in shelf.pages
        if (not tag or tag.casefold() in map(str.casefold, page.tags))
        and (not stale_only or page.id in stale)
    ]


def rows_of(shelf: Shelf, row: Namespace, pages: Iterable[KnowledgePage]) -> list[PageRow]:
    stale = {mark.page_id for mark in shelf.index.stale}
    address = shelf_url(row.pk)
    return [
        PageRow(page, page_url(shelf.entries[page.id].id), address, is_stale=page.id in stale)
        for page in pages
    ]


def rows_found(shelf: Shelf, row: Namespace, hits: Iterable[PageHit]) -> list[PageRow]:
    stale = {mark.page_id for mark in shelf.index.stale}
    return [_found(hit, row, is_stale=hit.item.page.id in stale) for hit in hits]


def rows_everywhere(found: FoundPages, titles: Mapping[str, str]) -> list[PageRow]:
    """``titles``: the shelves' in people's words, by namespace. What is stale a shelf says of its own pages."""
    return [
        _found(one, found.places[one.entry.namespace], place=titles[one.entry.namespace])
        for one in found.hits
    ]


def _found(hit: PageHit, row: Namespace, *, is_stale: bool = False, place: str = "") -> PageRow:
    parts = tuple((PARTS.get(name, name), part) for name, part in hit.parts.items() if part > 0)
    return PageRow(
        hit.item.page,
        page_url(hit.entry.id),
        shelf_url(row.pk),
        is_stale=is_stale,
        score=hit.score,
        parts=parts,
        place=place,
    )


def tags_of(shelf: Shelf) -> list[tuple[str, int]]:
    """The most used first."""
    counted = Counter(tag for page in shelf.pages for tag in page.tags)
    return sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST_TAGS]


def links_named(opened: PageView, ids: Iterable[str]) -> list[LinkRow]:
    titles = {page.id: page.title for page in opened.shelf.pages}
    return [LinkRow(titles.get(one, one), _url_in(opened.shelf, one)) for one in ids]


def stale_rows(opened: PageView) -> list[StaleRow]:
    links = links_named(opened, (mark.reference for mark in opened.stale))
    return [
        StaleRow(STALE[mark.why], link, mark)
        for mark, link in zip(opened.stale, links, strict=True)
    ]


def finder(shelf: Shelf) -> Callable[[str], str]:
    """The address of the page that ``[[name]]`` means, by id, title or alias."""

    @cache  # most texts link to nothing, and need no names of thousands
    def names() -> dict[str, str]:
        return names_of(shelf.pages)

    return lambda name: _url_in(shelf, names().get(normalize(name), ""))


def past(principal: Principal, revisions: Sequence[Revision]) -> tuple[RevisionTold, ...]:
    """Newest first."""
    told = load_provenance(
        principal, [one.actor for one in revisions], [one.run_id for one in revisions]
    )
    return revisions_told(told, revisions, _differences)


MOST_TAGS: Final = 30
STALE: Final[Mapping[Staleness, Promise]] = {
    Staleness.CHANGED: _("changed after this page was written"),
    Staleness.VANISHED: _("no longer exists"),
}
_LABELS: Final[Mapping[str, Promise]] = {
    "title": _("Title"),
    "summary": _("Summary"),
    "content": _("Content"),
    "tags": _("Tags"),
    "references": _("References"),
    "aliases": _("Aliases"),
}


def _differences(before: Revision, after: Revision) -> Iterable[Changed]:
    for name, label in _LABELS.items():
        old, new = _text(before, name), _text(after, name)
        if old != new:
            yield label, diff_values(old, new)


def _text(row: Revision, name: str) -> str:
    found = row.value.get(name, "") if isinstance(row.value, Mapping) else ""
    return ", ".join(map(str, found)) if isinstance(found, list) else str(found)


def _url_in(shelf: Shelf, page_id: str) -> str:
    entry = shelf.entries.get(page_id)
    return page_url(entry.id) if entry else ""

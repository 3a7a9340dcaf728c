"""What the pages of knowledge show: rows of a shelf, links with their names, a page's past."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from memory.logic.near import normalised
from memory.logic.page_index import StaleMark, Staleness
from memory.logic.pages import KnowledgePage
from memory.logic.paging import Hit
from memory.models import Revision
from memory.provenance import backers
from memory.services import Opened, Shelf
from memory.views.differences import Piece, pieces_between
from memory.views.knowledge_forms import names_of
from memory.views.story import PARTS, Origin, origin_of, with_the_one_before


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page on its shelf; ``score`` and ``parts`` where it was searched for."""

    page: KnowledgePage
    url: str
    is_stale: bool = False
    score: float | None = None
    parts: tuple[tuple[str | Promise, float], ...] = ()

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


@dataclass(frozen=True, slots=True)
class PastRow:
    """A revision against the one before it, field by field."""

    row: Revision
    origin: Origin
    is_first: bool
    fields: tuple[tuple[str | Promise, tuple[Piece, ...]], ...]


def page_url(entry_id: str) -> str:
    return reverse("memory:knowledge_page", args=[entry_id])


def rows_of(shelf: Shelf, *, tag: str = "", stale_only: bool = False) -> list[PageRow]:
    stale = {mark.page_id for mark in shelf.index.stale}
    return [
        PageRow(page, page_url(shelf.entries[page.id].id), page.id in stale)
        for page in shelf.pages
        if (not tag or tag.casefold() in map(str.casefold, page.tags))
        and (not stale_only or page.id in stale)
    ]


def rows_found(shelf: Shelf, hits: Iterable[Hit]) -> list[PageRow]:
    stale = {mark.page_id for mark in shelf.index.stale}
    return [
        PageRow(
            hit.item.page,
            page_url(hit.entry.id),
            hit.item.page.id in stale,
            hit.score,
            tuple((PARTS.get(name, name), part) for name, part in hit.parts.items() if part > 0),
        )
        for hit in hits
    ]


def tags_of(shelf: Shelf) -> list[tuple[str, int]]:
    """The most used first."""
    counted = Counter(tag for page in shelf.pages for tag in page.tags)
    return sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:MOST_TAGS]


def links_named(opened: Opened, ids: Iterable[str]) -> list[LinkRow]:
    titles = {page.id: page.title for page in opened.shelf.pages}
    return [LinkRow(titles.get(one, one), _url_in(opened.shelf, one)) for one in ids]


def stale_rows(opened: Opened) -> list[StaleRow]:
    links = links_named(opened, (mark.reference for mark in opened.stale))
    return [
        StaleRow(STALE[mark.why], link, mark)
        for mark, link in zip(opened.stale, links, strict=True)
    ]


def finder(shelf: Shelf) -> Callable[[str], str]:
    """The address of the page that ``[[name]]`` means, by id, title or alias."""
    names = names_of(shelf.pages)
    return lambda name: _url_in(shelf, names.get(normalised(name), ""))


def past(principal: Principal, revisions: Sequence[Revision]) -> list[PastRow]:
    """Newest first."""
    told = backers(principal, [one.actor for one in revisions], [one.run_id for one in revisions])
    return [
        PastRow(
            row,
            origin_of(told, row.actor, row.run_id, row.node_id),
            before is None,
            tuple(_differences(before, row)) if before else (),
        )
        for row, before in with_the_one_before(revisions)
    ]


MOST_TAGS: Final = 30
STALE: Final[Mapping[Staleness, Promise]] = {
    Staleness.CHANGED: _("changed after this page did"),
    Staleness.VANISHED: _("is not there any more"),
}
_LABELS: Final[Mapping[str, Promise]] = {
    "title": _("Title"),
    "summary": _("Summary"),
    "content": _("Content"),
    "tags": _("Tags"),
    "references": _("Refers to"),
    "aliases": _("Other names"),
}


def _differences(
    before: Revision, after: Revision
) -> Iterable[tuple[str | Promise, tuple[Piece, ...]]]:
    for name, label in _LABELS.items():
        old, new = _text(before, name), _text(after, name)
        if old != new:
            yield label, pieces_between(old, new)


def _text(row: Revision, name: str) -> str:
    found = row.value.get(name, "") if isinstance(row.value, Mapping) else ""
    return ", ".join(map(str, found)) if isinstance(found, list) else str(found)


def _url_in(shelf: Shelf, page_id: str) -> str:
    entry = shelf.entries.get(page_id)
    return page_url(entry.id) if entry else ""

"""The rows on the pages of knowledge: pages, links, outdated references, tags, and the history of a page."""

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
from memory.logic.knowledge.page_index import OutdatedReason, OutdatedReference
from memory.logic.knowledge.page_queries import PageHit
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.text_diff import diff_values
from memory.models import Namespace, Revision
from memory.provenance import load_provenance
from memory.services import KnowledgeBase, PageSearchResults, PageView
from memory.services.knowledge.bulk_pages import PageEntry
from memory.views.entries.entry_details import ScoreParts, label_score_parts
from memory.views.entries.revisions import RevisionRow, TextChange, build_revision_rows
from memory.views.knowledge.forms import index_names


MAX_TAGS: Final = 30
OUTDATED_LABELS: Final[Mapping[OutdatedReason, Promise]] = {
    OutdatedReason.CHANGED: _("changed after this page was written"),
    OutdatedReason.VANISHED: _("no longer exists"),
}
_FIELD_LABELS: Final[Mapping[str, Promise]] = {
    "title": _("Title"),
    "summary": _("Summary"),
    "content": _("Content"),
    "tags": _("Tags"),
    "references": _("References"),
    "aliases": _("Aliases"),
}


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page in a list; search results have ``score`` and ``parts``, global ones also the base's title.

    ``entry`` says when the page holds; results of a search hold now.
    """

    page: KnowledgePage
    url: str
    knowledge_base_url: str
    is_outdated: bool = False
    score: float | None = None
    parts: ScoreParts = ()
    knowledge_base_title: str = ""
    entry: PageEntry | None = None

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link; ``url`` is empty if there is no such page."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class OutdatedRow:
    label: str | Promise
    link: LinkRow
    reference: OutdatedReference


def build_page_url(entry_id: str) -> str:
    return reverse("memory:knowledge_page", args=[entry_id])


def build_knowledge_base_url(namespace_id: UUID) -> str:
    return reverse("memory:knowledge_base", args=[namespace_id])


def find_outdated_ids(knowledge_base: KnowledgeBase) -> set[str]:
    """Return the pages with an outdated reference, and those that are stale because of a source."""
    outdated_ids = {outdated.page_id for outdated in knowledge_base.index.outdated}
    return outdated_ids | {stale.page_id for stale in knowledge_base.stale}


def list_pages(
    knowledge_base: KnowledgeBase, *, tag: str = "", outdated_only: bool = False
) -> list[KnowledgePage]:
    """Return the pages with the tag, or only outdated pages, sorted by title."""
    outdated_ids = find_outdated_ids(knowledge_base) if outdated_only else set()
    return [
        page
        for page in knowledge_base.pages
        if (not tag or tag.casefold() in map(str.casefold, page.tags))
        and (not outdated_only or page.id in outdated_ids)
    ]


def build_rows(
    knowledge_base: KnowledgeBase, row: Namespace, pages: Iterable[KnowledgePage]
) -> list[PageRow]:
    outdated_ids = find_outdated_ids(knowledge_base)
    base_url = build_knowledge_base_url(row.pk)
    return [
        PageRow(
            page,
            _find_page_url(knowledge_base, page.id),
            base_url,
            page.id in outdated_ids,
            entry=knowledge_base.entries.get(page.id),
        )
        for page in pages
    ]


def build_result_rows(
    knowledge_base: KnowledgeBase, row: Namespace, hits: Iterable[PageHit]
) -> list[PageRow]:
    outdated_ids = find_outdated_ids(knowledge_base)
    return [
        _build_result_row(hit, row, is_outdated=hit.item.page.id in outdated_ids) for hit in hits
    ]


def build_global_result_rows(
    results: PageSearchResults, titles: Mapping[str, str]
) -> list[PageRow]:
    """Build the rows of results from all knowledge bases; ``titles`` are their names by namespace.

    Only the list of a knowledge base marks outdated pages.
    """
    return [
        _build_result_row(
            hit,
            results.namespaces[hit.entry.namespace],
            knowledge_base_title=titles[hit.entry.namespace],
        )
        for hit in results.hits
    ]


def _build_result_row(
    hit: PageHit, row: Namespace, *, is_outdated: bool = False, knowledge_base_title: str = ""
) -> PageRow:
    return PageRow(
        hit.item.page,
        build_page_url(hit.entry.id),
        build_knowledge_base_url(row.pk),
        is_outdated=is_outdated,
        score=hit.score,
        parts=label_score_parts(hit.parts),
        knowledge_base_title=knowledge_base_title,
    )


def list_tags(knowledge_base: KnowledgeBase) -> list[tuple[str, int]]:
    """Return the tags with their counts, the most used first."""
    counts = Counter(tag for page in knowledge_base.pages for tag in page.tags)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_TAGS]


def build_links(view: PageView, ids: Iterable[str]) -> list[LinkRow]:
    titles = {page.id: page.title for page in view.knowledge_base.pages}
    return [
        LinkRow(titles.get(page_id, page_id), _find_page_url(view.knowledge_base, page_id))
        for page_id in ids
    ]


def find_neighbors(view: PageView) -> dict[str, LinkRow]:
    """Return the links to the previous and the next page of the document that the page is from, by these words."""
    document = next((source for source in view.page.sources if source.position), None)
    if document is None:
        return {}
    pages = {
        source.position: page
        for page in view.knowledge_base.pages
        for source in page.sources
        if source.id == document.id
    }
    words = {"previous": document.position - 1, "next": document.position + 1}
    neighbors = {word: pages[number] for word, number in words.items() if number in pages}
    return {
        word: LinkRow(page.title, _find_page_url(view.knowledge_base, page.id))
        for word, page in neighbors.items()
    }


def build_outdated_rows(view: PageView) -> list[OutdatedRow]:
    links = build_links(view, (outdated.reference for outdated in view.outdated))
    return [
        OutdatedRow(OUTDATED_LABELS[outdated.reason], link, outdated)
        for outdated, link in zip(view.outdated, links, strict=True)
    ]


def create_finder(knowledge_base: KnowledgeBase) -> Callable[[str], str]:
    """Return a function that returns the URL of the page with an id, title or alias, or an empty string."""

    @cache  # most texts have no links, so the names are only loaded for the first link
    def load_names() -> dict[str, str]:
        return index_names(knowledge_base.pages)

    return lambda name: _find_page_url(knowledge_base, load_names().get(normalize(name), ""))


def build_history(principal: Principal, revisions: Sequence[Revision]) -> tuple[RevisionRow, ...]:
    """Return the revisions, newest first."""
    actors, runs = [row.actor for row in revisions], [row.run_id for row in revisions]
    provenance = load_provenance(principal, actors, runs)
    return build_revision_rows(provenance, revisions, _diff_revisions)


def _diff_revisions(before: Revision, after: Revision) -> Iterable[TextChange]:
    for name, label in _FIELD_LABELS.items():
        old, new = _get_text(before, name), _get_text(after, name)
        if old != new:
            yield label, diff_values(old, new)


def _get_text(row: Revision, name: str) -> str:
    value = row.value.get(name, "") if isinstance(row.value, Mapping) else ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _find_page_url(knowledge_base: KnowledgeBase, page_id: str) -> str:
    entry = knowledge_base.entries.get(page_id)
    return build_page_url(entry.id) if entry else ""

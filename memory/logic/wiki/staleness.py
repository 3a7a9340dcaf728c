"""Which pages are stale: those with a source that changed after the page was written from it, or that is gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from memory.logic.knowledge.pages import KnowledgePage


class StaleReason(StrEnum):
    CHANGED = "changed"  # the source has another text now
    GONE = "gone"  # the source was forgotten or erased


@dataclass(frozen=True, slots=True)
class StaleSource:
    page_id: str
    source_id: str
    reason: StaleReason


def find_stale_sources(
    pages: Iterable[KnowledgePage], digests: Mapping[str, str]
) -> tuple[StaleSource, ...]:
    """Return the sources for which a page has to be compiled anew, by page and in the order of its sources.

    ``digests`` are those of the present texts, by source id.
    """
    return tuple(stale for page in pages for stale in _check_page(page, digests))


def _check_page(page: KnowledgePage, digests: Mapping[str, str]) -> Iterable[StaleSource]:
    for source in page.sources:
        if source.id not in digests:
            yield StaleSource(page.id, source.id, StaleReason.GONE)
        elif digests[source.id] != source.digest:
            yield StaleSource(page.id, source.id, StaleReason.CHANGED)

"""Searches for knowledge pages, in one namespace or in several that are ranked together."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from memory.core.recall.similarity import Nearness
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.core.records import Json, MemoryEntry, PromptUse
from memory.logic.knowledge.page_metadata import build_page_metadata, describe_source
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.logic.knowledge.retriever import RetrieverConfig, ScoredItem, rank_pages
from memory.logic.knowledge.wiki_sources import WikiSource


Address = tuple[str, str]  # the namespace and the key of an entry

NO_NEARNESS: Mapping[Address, Nearness] = {}

# Whether a page with this metadata may be found.
MetadataFilter = Callable[[Mapping[str, Json]], bool]


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A search for pages. With ``tags``, only pages with at least one of them match; ``accepts`` filters by metadata.

    ``for_prompt`` leaves out pages that may enter no prompt.
    """

    text: str
    max_results: int = 20
    min_score: float = 0.1
    tags: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE
    accepts: MetadataFilter | None = None
    for_prompt: bool = False

    @property
    def is_filtered(self) -> bool:
        """Return whether a property that no index has decides which pages match."""
        return bool(self.tags) or self.accepts is not None


@dataclass(frozen=True, slots=True)
class PageContext:
    """Holds what the metadata of pages is built from besides the pages themselves.

    ``sources`` are by namespace and id of the source.
    """

    sources: Mapping[Address, WikiSource]
    names: Mapping[str, str]  # by actor, as entries have it

    def find_sources(self, page: KnowledgePage, entry: MemoryEntry) -> list[WikiSource]:
        matches = (self.sources.get((entry.namespace, source.id)) for source in page.sources)
        return [source for source in matches if source is not None]

    def build_metadata(self, page: KnowledgePage, entry: MemoryEntry) -> dict[str, Json]:
        uploader = self.names.get(entry.source.actor, "")
        return build_page_metadata(page, self.find_sources(page, entry), uploader)


NO_CONTEXT = PageContext({}, {})


@dataclass(frozen=True, slots=True)
class PageHit:
    """A matching page. ``entry`` is the entry of the page, with its score."""

    item: ScoredItem
    entry: MemoryEntry
    source: Mapping[str, Json] | None = None  # the document or text from which the page was written

    @property
    def page(self) -> Mapping[str, Json]:
        return build_page_json(self.item.page)

    @property
    def score(self) -> float:
        return self.item.score

    @property
    def parts(self) -> Mapping[str, float]:
        return self.item.parts


def search_pages(
    query: PageQuery,
    entries: Iterable[MemoryEntry],
    nearness: Mapping[Address, Nearness] = NO_NEARNESS,
    context: PageContext = NO_CONTEXT,
) -> tuple[PageHit, ...]:
    """Rank the entries, which must be pages; an empty query matches none.

    ``nearness`` is semantic, by namespace and key. Pages of several namespaces are compared with each other, so that
    their scores and their order mean the same.
    """
    if not query.text.strip():
        return ()
    entries_by_address = {
        (entry.namespace, entry.key): entry
        for entry in entries
        if not (query.for_prompt and entry.prompt_use is PromptUse.NEVER)
    }
    pages = {address: from_entry(entry) for address, entry in entries_by_address.items()}
    # The ranking knows pages by their ids, which pages of two namespaces may share.
    addresses = {
        f"{page.id}\n{address[0]}": address
        for address, page in pages.items()
        if _is_accepted(query, page, entries_by_address[address], context)
    }
    renamed = [replace(pages[addresses[name]], id=name) for name in sorted(addresses)]
    nearness_by_name = {
        name: nearness[address] for name, address in addresses.items() if address in nearness
    }
    config = RetrieverConfig(query.max_results, query.min_score, 1.0, query.language)
    hits = []
    for item in rank_pages(query.text, renamed, config, nearness_by_name):
        address = addresses[item.page.id]
        ranked = replace(item, page=pages[address])
        hits.append(_build_hit(ranked, entries_by_address[address], context))
    return tuple(hits)


def build_page_json(page: KnowledgePage) -> dict[str, Json]:
    """Build the JSON of a page for readers, without the fields that only the store needs."""
    return {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "content": page.content,
        "tags": list(page.tags),
        "references": list(page.references),
        "aliases": list(page.aliases),
        "created_at": page.created_at.isoformat() if page.created_at else None,
        "updated_at": page.updated_at.isoformat() if page.updated_at else None,
        "revision": page.revision,
        "sources": [source.id for source in page.sources],
    }


def _is_accepted(
    query: PageQuery, page: KnowledgePage, entry: MemoryEntry, context: PageContext
) -> bool:
    tags = {tag.casefold() for tag in query.tags}
    if tags and tags.isdisjoint(map(str.casefold, page.tags)):
        return False
    return query.accepts is None or query.accepts(context.build_metadata(page, entry))


def _build_hit(item: ScoredItem, entry: MemoryEntry, context: PageContext) -> PageHit:
    entry_with_score = replace(entry, score=min(1.0, item.score), explain=dict(item.parts))
    sources = context.find_sources(item.page, entry)
    return PageHit(
        item, entry_with_score, describe_source(sources[0], item.page) if sources else None
    )

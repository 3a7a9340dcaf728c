"""Requests of a workflow to knowledge pages: JSON from a node in, pages and entries out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.core.records import Json, MemoryEntry, Source
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.origins import ContentOrigin
from memory.logic.knowledge.knowledge_base import KnowledgeStore, PageWrite
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.page_merge import MatchReason
from memory.logic.knowledge.pages import KnowledgePage, build_page_key, build_slug, from_entry
from memory.logic.knowledge.retriever import (
    NO_SIMILARITIES,
    RetrieverConfig,
    ScoredItem,
    rank_pages,
)


MERGE, REPLACE = "merge", "replace"
MODES = (MERGE, REPLACE)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A search. With ``tags``, only pages with one of them match."""

    query: str
    max_results: int = 20
    min_score: float = 0.1
    tags: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that matches, with its entry, which has the score."""

    item: ScoredItem
    entry: MemoryEntry

    @property
    def page(self) -> Mapping[str, Json]:
        return build_page_json(self.item.page)

    @property
    def score(self) -> float:
        return self.item.score

    @property
    def parts(self) -> Mapping[str, float]:
        return self.item.parts


@dataclass(frozen=True, slots=True)
class PageWriteResult:
    """A written page with its entry.

    ``merged_for`` is why it was merged into an existing page: title, alias, content. ``held`` lists the reasons why
    ``entry`` waits in quarantine instead.
    """

    write: PageWrite
    entry: MemoryEntry
    held: tuple[str, ...] = ()

    @property
    def page(self) -> Mapping[str, Json]:
        return build_page_json(self.write.page)

    @property
    def merged_for(self) -> str:
        return str(self.write.merged_for or "")


def search_pages(
    query: PageQuery,
    entries: Iterable[MemoryEntry],
    similarities: Mapping[str, float] = NO_SIMILARITIES,
) -> tuple[PageHit, ...]:
    """Rank ``entries``, which are pages. An empty query matches nothing, as in Dify.

    ``similarities``: semantic similarities by key.
    """
    if not query.query.strip():
        return ()
    entries_by_key = {entry.key: entry for entry in entries}
    pages = sorted(map(from_entry, entries_by_key.values()), key=lambda page: page.id)
    tags = {tag.casefold() for tag in query.tags}
    if tags:
        pages = [page for page in pages if not tags.isdisjoint(map(str.casefold, page.tags))]
    page_similarities = {
        page.id: similarities[key]
        for page in pages
        if (key := build_page_key(page.id)) in similarities
    }
    config = RetrieverConfig(query.max_results, query.min_score, 1.0, query.language)
    return tuple(
        _build_hit(item, entries_by_key[build_page_key(item.page.id)])
        for item in rank_pages(query.query, pages, config, page_similarities)
    )


def write_drafts(
    drafts: Sequence[Mapping[str, Json]],
    entries: NamespaceStore,
    namespace: str,
    *,
    mode: str = MERGE,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
    origin: ContentOrigin = ContentOrigin.MODEL,
) -> tuple[PageWriteResult, ...]:
    """Write the drafts one after the other, so that two about one subject become one page.

    A draft names its ``origin`` (default: the argument), and ``hold`` if it needs a review first.
    """
    if mode not in MODES:
        raise InvalidInput(f"mode: use one of {', '.join(MODES)}.")
    screened = [screen_page(parse_draft(draft), draft, origin) for draft in drafts]
    store = KnowledgeStore(namespace, entries, clock=clock, source=source)
    results = []
    for page, reasons in screened:
        if reasons:
            entry = entries.store(build_quarantined_page(store, page, reasons))
            results.append(
                PageWriteResult(
                    PageWrite(page), entry, tuple(reason["reason"] for reason in reasons)
                )
            )
            continue
        page_write = _write(store, page, mode)
        results.append(
            PageWriteResult(page_write, store.entries_by_key[build_page_key(page_write.page.id)])
        )
    return tuple(results)


def parse_draft(value: Json) -> KnowledgePage:
    """Parse a page from JSON; without an id it later gets one from its title."""
    if not isinstance(value, Mapping):
        raise InvalidInput("pages: each must be an object with title and content.")
    return KnowledgePage(
        id=_get_text(value, "id").strip(),
        title=_get_text(value, "title"),
        summary=_get_text(value, "summary"),
        content=_get_text(value, "content"),
        tags=parse_texts(value.get("tags"), "tags"),
        references=parse_texts(value.get("references"), "references"),
        aliases=parse_texts(value.get("aliases"), "aliases"),
    )


def parse_texts(value: Json, name: str) -> tuple[str, ...]:
    """Parse a list of texts, or one text with commas in between."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.replace("，", ",").split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{name}: must be a list of texts.")
    return tuple(text.strip() for text in value if text.strip())


def build_page_json(page: KnowledgePage) -> dict[str, Json]:
    """Build the JSON that readers get, without what only the store needs."""
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
    }


def _write(store: KnowledgeStore, page: KnowledgePage, mode: str) -> PageWrite:
    if not page.id:
        return _write_by_title(store, page, mode)
    before = store.get_page(page.id)
    if before is None:
        return store.write(page) if mode == MERGE else PageWrite(store.add_page(page))
    if mode == MERGE:
        return PageWrite(store.merge_page(before, page), MatchReason.TITLE)
    return PageWrite(_replace_page(store, before, page))


def _write_by_title(store: KnowledgeStore, page: KnowledgePage, mode: str) -> PageWrite:
    pages = store.list_pages()
    page_with_id = replace(page, id=_pick_free_id(page.title, {existing.id for existing in pages}))
    if mode == MERGE:
        return store.write(page_with_id)
    title = normalize(page.title)
    before = next((existing for existing in pages if normalize(existing.title) == title), None)
    if before is None:
        return PageWrite(store.add_page(page_with_id))
    return PageWrite(_replace_page(store, before, replace(page, id=before.id)))


def _replace_page(
    store: KnowledgeStore, before: KnowledgePage, page: KnowledgePage
) -> KnowledgePage:
    """Replace the page, but keep its aliases without new ones; write only if something changes."""
    replaced = replace(
        before, title=page.title, summary=page.summary, content=page.content, tags=page.tags,
        references=page.references, aliases=page.aliases or before.aliases, origin=page.origin,
    )  # fmt: skip
    return before if replaced == before else store.update_page(replaced)


def _pick_free_id(title: str, used_ids: Iterable[str]) -> str:
    """Return an unused id, as titles such as C and C++ have one slug and are two pages."""
    stem, used_ids = build_slug(title), frozenset(used_ids)
    if stem not in used_ids:
        return stem
    return next(
        candidate for number in count(2) if (candidate := f"{stem}-{number}") not in used_ids
    )


def _build_hit(item: ScoredItem, entry: MemoryEntry) -> PageHit:
    return PageHit(item, replace(entry, score=min(1.0, item.score), explain=dict(item.parts)))


def _get_text(value: Mapping[str, Json], name: str) -> str:
    text = value.get(name)
    if text is None or isinstance(text, str):
        return text or ""
    raise InvalidInput(f"{name}: must be a text.")

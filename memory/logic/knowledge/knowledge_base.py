"""Knowledge pages over a store: writing, searching and linking them, without duplicates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.core.entry_codec import VALIDITY, get_state
from memory.core.errors import AlreadyExists, NotFound
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.recall.selection import is_former
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.logic.entries.text_similarity import extract_keywords
from memory.logic.knowledge.page_index import PageIndex, PageIndexEntry
from memory.logic.knowledge.page_merge import MatchReason, find_matching_page, merge_pages
from memory.logic.knowledge.pages import (
    PAGE_CATEGORY,
    KnowledgePage,
    build_page_key,
    check_page,
    from_entry,
    is_page,
    normalize_page,
    to_json,
)


@dataclass(frozen=True, slots=True)
class PageWrite:
    """A page as written. If it was merged into an existing page, ``merged_for`` is the reason."""

    page: KnowledgePage
    merged_for: MatchReason | None = None


class KnowledgeStore:
    """The knowledge pages of one namespace; each is an entry of the store."""

    def __init__(
        self,
        namespace: str,
        entries: NamespaceStore,
        *,
        clock: Clock = utc_now,
        source: Source = Source(),  # noqa: B008 - a frozen value
    ) -> None:
        self._namespace = namespace
        self._entries = entries
        self._clock = clock
        self._source = source
        self.entries_by_key: dict[str, MemoryEntry] = {}  # of pages, as last read or written

    def add_page(self, page: KnowledgePage) -> KnowledgePage:
        if self.get_page(page.id):
            raise AlreadyExists(f"The page {page.id} already exists.")
        now = self._clock()
        return self.store_page(replace(page, created_at=page.created_at or now, updated_at=now))

    def get_page(self, page_id: str) -> KnowledgePage | None:
        entries = self._entries.recall(MemoryQuery(self._namespace, key=build_page_key(page_id)))
        return self._read_page(entries[0]) if entries and is_page(entries[0]) else None

    def update_page(self, page: KnowledgePage, *, revives: bool = False) -> KnowledgePage:
        """Store a new revision of the page; its time of creation stays, and so does when it holds.

        With ``revives``, a former page holds again, because somebody writes about its subject now.
        """
        created_at = self._require_page(page.id).created_at
        if revives and self._is_former(page.id):
            del self.entries_by_key[build_page_key(page.id)]
        return self.store_page(replace(page, created_at=created_at, updated_at=self._clock()))

    def delete_page(self, page_id: str) -> bool:
        """Delete the page; pages that refer to it become outdated."""
        if self.get_page(page_id) is None:
            return False
        return self._entries.delete(self._namespace, build_page_key(page_id))

    def merge_or_store(self, page: KnowledgePage) -> PageWrite:
        """Merge the page into one about the same subject, replace the page of its id, or store it as a new page."""
        pages = self.list_pages()
        match = find_matching_page(page, pages)
        if match:
            return PageWrite(self.merge_page(match.page, page), match.reason)
        if any(existing.id == page.id for existing in pages):
            return PageWrite(self.update_page(page, revives=True))
        return PageWrite(self.add_page(page))

    def merge_page(self, old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
        """Merge the new page into the old one; write nothing if that one holds and says it already."""
        merged = merge_pages(old, new)
        return self.replace_page(old, merged)

    def replace_page(self, old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
        """Store the page with its new content, and let it hold again if it is a former one; write nothing needlessly."""
        is_needless = new == old and not self._is_former(old.id)
        return old if is_needless else self.update_page(new, revives=True)

    def list_pages(self) -> list[KnowledgePage]:
        entries = list_page_entries(self._entries, self._namespace)
        return sorted(map(self._read_page, entries), key=lambda page: page.id)

    def search(self, query: str, language: str = DEFAULT_LANGUAGE) -> list[KnowledgePage]:
        """Return the pages with keywords of the query in title, summary or tags, those with the most keywords first."""
        keywords = extract_keywords(query, language)
        counts = [(_count_hits(page, keywords, language), page) for page in self.list_pages()]
        matches = [(hits, page) for hits, page in counts if hits]
        return [page for hits, page in sorted(matches, key=lambda item: (-item[0], item[1].id))]

    def build_index(self) -> PageIndex:
        return PageIndex.from_pages(self.list_pages())

    def get_index(self) -> tuple[PageIndexEntry, ...]:
        return self.build_index().entries

    def mark_checked(self, page_id: str) -> KnowledgePage:
        """Mark the page as checked, so that it is no longer outdated; other pages aren't affected."""
        page = self._require_page(page_id)
        return self.store_page(replace(page, checked_at=self._clock()))

    def list_revisions(self, page_id: str) -> Sequence[KnowledgePage]:
        """Return the revisions of the page, oldest first, the present revision last."""
        entries = self._entries.history(self._namespace, build_page_key(page_id))
        return [from_entry(entry) for entry in entries if is_page(entry)]

    def _require_page(self, page_id: str) -> KnowledgePage:
        if (page := self.get_page(page_id)) is None:
            raise NotFound(f"Page {page_id} not found.")
        return page

    def _is_former(self, page_id: str) -> bool:
        """Return whether the page, as it was last read, holds no more."""
        entry = self.entries_by_key.get(build_page_key(page_id))
        return entry is not None and is_former(entry, self._clock())

    def build_params(self, page: KnowledgePage) -> StoreParams:
        """Return the parameters that store the page; raise InvalidInput if it is invalid."""
        page = normalize_page(page)
        check_page(page)
        now = self._clock()
        page = replace(page, created_at=page.created_at or now, updated_at=page.updated_at or now)
        metadata: dict[str, Json] = {"origin": page.origin} if page.origin else {}
        return StoreParams(
            self._namespace,
            build_page_key(page.id),
            value=to_json(page),
            metadata=metadata,
            category=PAGE_CATEGORY,
            source=self._source,
        )

    def store_page(self, page: KnowledgePage) -> KnowledgePage:
        """Store a new or an existing page with its times; missing times are set to now.

        When it holds, and whether it enters prompts, stays as it was last read.
        """
        params = self.build_params(page)
        if (entry := self.entries_by_key.get(params.key)) is not None:
            validity = get_state(entry, VALIDITY)
            params = replace(params, **validity, prompt_use=entry.prompt_use)
        return self._read_page(self._entries.store(params))

    def _read_page(self, entry: MemoryEntry) -> KnowledgePage:
        self.entries_by_key[entry.key] = entry
        return from_entry(entry)


def list_page_entries(
    store: NamespaceStore,
    namespace: str,
    *,
    include_former: bool = True,
    for_prompt: bool = False,
) -> list[MemoryEntry]:
    """Return the entries of a namespace that are pages: all, or those that hold now, or that may enter a prompt."""
    query = MemoryQuery(
        namespace,
        filter={"category": PAGE_CATEGORY},
        include_former=include_former,
        for_prompt=for_prompt,
    )
    return [entry for entry in store.recall(query) if is_page(entry)]


def _count_hits(page: KnowledgePage, keywords: Sequence[str], language: str) -> int:
    text = " \n ".join((page.title, page.summary, *page.tags))
    return len(set(extract_keywords(text, language)).intersection(keywords))

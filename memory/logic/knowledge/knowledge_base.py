"""Pages of knowledge over a provider: written, found, linked, and kept from having twins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.core.errors import AlreadyExists, NotFound
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.logic.entries.text_similarity import extract_keywords
from memory.logic.knowledge.page_files import export_page, import_page
from memory.logic.knowledge.page_index import PageIndex, PageIndexEntry, StaleMark
from memory.logic.knowledge.page_merge import Twin, find_twin, merged
from memory.logic.knowledge.pages import (
    CATEGORY,
    KnowledgePage,
    check,
    from_entry,
    is_page,
    key_of,
    tidy,
    to_json,
)


@dataclass(frozen=True, slots=True)
class Written:
    """``merged_for`` says why it went into a page that was there; nothing for a page of its own."""

    page: KnowledgePage
    merged_for: Twin | None = None


class KnowledgeStore:
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
        self.seen: dict[
            str, MemoryEntry
        ] = {}  # the entries of pages, by key, as last read or written

    def add_page(self, page: KnowledgePage) -> KnowledgePage:
        if self.get_page(page.id):
            raise AlreadyExists(f"The page {page.id} already exists.")
        now = self._clock()
        return self._store(replace(page, created_at=page.created_at or now, updated_at=now))

    def get_page(self, page_id: str) -> KnowledgePage | None:
        found = self._entries.recall(MemoryQuery(self._namespace, key=key_of(page_id)))
        return self._page_of(found[0]) if found and is_page(found[0]) else None

    def update_page(self, page: KnowledgePage) -> KnowledgePage:
        """The old one stays readable in ``revisions``; when it was made stays as it was."""
        before = self._known(page.id)
        created = before.created_at
        return self._store(replace(page, created_at=created, updated_at=self._clock()))

    def delete_page(self, page_id: str) -> bool:
        """What referred to it is stale from now on."""
        if self.get_page(page_id) is None:
            return False
        return self._entries.delete(self._namespace, key_of(page_id))

    def write(self, page: KnowledgePage) -> Written:
        """Into the page that is about the same, if there is one; else as a page of its own."""
        pages = self.pages()
        twin = find_twin(page, pages)
        if twin:
            return Written(self.grow(twin.page, page), twin.why)
        if any(one.id == page.id for one in pages):
            return Written(self.update_page(page))
        return Written(self.add_page(page))

    def grow(self, old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
        """Of what says nothing new nothing is written, and nobody becomes stale."""
        made = merged(old, new)
        return old if made == old else self.update_page(made)

    def pages(self) -> list[KnowledgePage]:
        entries = page_entries(self._entries, self._namespace)
        return sorted(map(self._page_of, entries), key=lambda page: page.id)

    def search(self, query: str, language: str = DEFAULT_LANGUAGE) -> list[KnowledgePage]:
        """Pages that have one of the keywords in title, summary or tags; most of them first."""
        asked = extract_keywords(query, language)
        counted = [(_hits(page, asked, language), page) for page in self.pages()]
        found = [(hits, page) for hits, page in counted if hits]
        return [page for hits, page in sorted(found, key=lambda one: (-one[0], one[1].id))]

    def index(self) -> PageIndex:
        return PageIndex.of(self.pages())

    def get_index(self) -> tuple[PageIndexEntry, ...]:
        return (self.index()).entries

    def references_of(self, page_id: str) -> tuple[str, ...]:
        return (self.index()).links.get(page_id, ())

    def referenced_by(self, page_id: str) -> tuple[str, ...]:
        return (self.index()).backlinks.get(page_id, ())

    def stale(self) -> tuple[StaleMark, ...]:
        return (self.index()).stale

    def confirm(self, page_id: str) -> KnowledgePage:
        """Someone looked and found it still right: no longer stale, and nobody else becomes so."""
        page = self._known(page_id)
        return self._store(replace(page, checked_at=self._clock()))

    def revisions(self, page_id: str) -> Sequence[KnowledgePage]:
        """Oldest first, the present one last."""
        past = self._entries.history(self._namespace, key_of(page_id))
        return [from_entry(entry) for entry in past if is_page(entry)]

    def import_file(self, data: bytes, name: str) -> KnowledgePage:
        """The file is the page from now on, its own times included: exported it is the same file."""
        return self.bring(import_page(data, name=name, now=self._clock()))

    def bring(self, page: KnowledgePage) -> KnowledgePage:
        """As it is, its own times included, into the place of what is there."""
        return self._store(page)

    def export_file(self, page_id: str) -> bytes:
        return export_page(self._known(page_id))

    def _known(self, page_id: str) -> KnowledgePage:
        page = self.get_page(page_id)
        if page is None:
            raise NotFound(f"Page {page_id} not found.")
        return page

    def params_of(self, page: KnowledgePage) -> StoreParams:
        """How a page is kept. Raises InvalidInput for what can't be one."""
        page = tidy(page)
        check(page)
        now = self._clock()
        page = replace(page, created_at=page.created_at or now, updated_at=page.updated_at or now)
        whose: dict[str, Json] = {"origin": page.origin} if page.origin else {}
        return StoreParams(
            self._namespace,
            key_of(page.id),
            value=to_json(page),
            metadata=whose,
            category=CATEGORY,
            source=self._source,
        )

    def _store(self, page: KnowledgePage) -> KnowledgePage:
        return self._page_of(self._entries.store(self.params_of(page)))

    def _page_of(self, entry: MemoryEntry) -> KnowledgePage:
        self.seen[entry.key] = entry
        return from_entry(entry)


def page_entries(store: NamespaceStore, namespace: str) -> list[MemoryEntry]:
    """Return the entries of a namespace that are pages."""
    query = MemoryQuery(namespace, filter={"category": CATEGORY})
    return [one for one in store.recall(query) if is_page(one)]


def _hits(page: KnowledgePage, asked: Sequence[str], language: str) -> int:
    there = set(extract_keywords(" \n ".join((page.title, page.summary, *page.tags)), language))
    return sum(one in there for one in asked)

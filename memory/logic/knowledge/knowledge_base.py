"""Pages of knowledge over a provider: written, found, linked, and kept from having twins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.core.errors import AlreadyExists, NotFound
from memory.core.provider import Clock, utc_now
from memory.core.records import Json, MemoryQuery, Source, StoreParams
from memory.core.tokens import DEFAULT_LANGUAGE
from memory.logic.grams import keywords
from memory.logic.page_files import export_page, import_page
from memory.logic.page_index import PageIndex, PageIndexEntry, StaleMark
from memory.logic.page_merging import Twin, find_twin, merged
from memory.logic.pages import (
    CATEGORY,
    KnowledgePage,
    check,
    from_entry,
    is_page,
    key_of,
    tidy,
    to_json,
)
from memory.logic.ports import Entries


@dataclass(frozen=True, slots=True)
class Written:
    """``merged_for`` says why it went into a page that was there; nothing for a page of its own."""

    page: KnowledgePage
    merged_for: Twin | None = None


class KnowledgeStore:
    def __init__(
        self,
        namespace: str,
        entries: Entries,
        *,
        clock: Clock = utc_now,
        source: Source = Source(),  # noqa: B008 - a frozen value
    ) -> None:
        self._namespace = namespace
        self._entries = entries
        self._clock = clock
        self._source = source

    async def add_page(self, page: KnowledgePage) -> KnowledgePage:
        if await self.get_page(page.id):
            raise AlreadyExists(f"There is a page {page.id} already.")
        now = self._clock()
        return await self._store(replace(page, created_at=page.created_at or now, updated_at=now))

    async def get_page(self, page_id: str) -> KnowledgePage | None:
        found = await self._entries.recall(MemoryQuery(self._namespace, key=key_of(page_id)))
        return from_entry(found[0]) if found and is_page(found[0]) else None

    async def update_page(self, page: KnowledgePage) -> KnowledgePage:
        """The old one stays readable in ``revisions``; when it was made stays as it was."""
        before = await self._known(page.id)
        created = before.created_at
        return await self._store(replace(page, created_at=created, updated_at=self._clock()))

    async def delete_page(self, page_id: str) -> bool:
        """What referred to it is stale from now on."""
        if await self.get_page(page_id) is None:
            return False
        return await self._entries.delete(self._namespace, key_of(page_id))

    async def write(self, page: KnowledgePage) -> Written:
        """Into the page that is about the same, if there is one; else as a page of its own."""
        pages = await self.pages()
        twin = find_twin(page, pages)
        if twin:
            return Written(await self.grow(twin.page, page), twin.why)
        if any(one.id == page.id for one in pages):
            return Written(await self.update_page(page))
        return Written(await self.add_page(page))

    async def grow(self, old: KnowledgePage, new: KnowledgePage) -> KnowledgePage:
        """Of what says nothing new nothing is written, and nobody becomes stale."""
        made = merged(old, new)
        return old if made == old else await self.update_page(made)

    async def pages(self) -> list[KnowledgePage]:
        query = MemoryQuery(self._namespace, filter={"category": CATEGORY})
        found = [from_entry(one) for one in await self._entries.recall(query) if is_page(one)]
        return sorted(found, key=lambda page: page.id)

    async def search(self, query: str, language: str = DEFAULT_LANGUAGE) -> list[KnowledgePage]:
        """Pages that have one of the keywords in title, summary or tags; most of them first."""
        asked = keywords(query, language)
        counted = [(_hits(page, asked, language), page) for page in await self.pages()]
        found = [(hits, page) for hits, page in counted if hits]
        return [page for hits, page in sorted(found, key=lambda one: (-one[0], one[1].id))]

    async def index(self) -> PageIndex:
        return PageIndex.of(await self.pages())

    async def get_index(self) -> tuple[PageIndexEntry, ...]:
        return (await self.index()).entries

    async def references_of(self, page_id: str) -> tuple[str, ...]:
        return (await self.index()).links.get(page_id, ())

    async def referenced_by(self, page_id: str) -> tuple[str, ...]:
        return (await self.index()).backlinks.get(page_id, ())

    async def stale(self) -> tuple[StaleMark, ...]:
        return (await self.index()).stale

    async def confirm(self, page_id: str) -> KnowledgePage:
        """Someone looked and found it still right: no longer stale, and nobody else becomes so."""
        page = await self._known(page_id)
        return await self._store(replace(page, checked_at=self._clock()))

    async def revisions(self, page_id: str) -> Sequence[KnowledgePage]:
        """Oldest first, the present one last."""
        past = await self._entries.history(self._namespace, key_of(page_id))
        return [from_entry(entry) for entry in past if is_page(entry)]

    async def import_file(self, data: bytes, name: str) -> KnowledgePage:
        """The file is the page from now on, its own times included: exported it is the same file."""
        return await self.bring(import_page(data, name=name, now=self._clock()))

    async def bring(self, page: KnowledgePage) -> KnowledgePage:
        """As it is, its own times included, into the place of what is there."""
        return await self._store(page)

    async def export_file(self, page_id: str) -> bytes:
        return export_page(await self._known(page_id))

    async def _known(self, page_id: str) -> KnowledgePage:
        page = await self.get_page(page_id)
        if page is None:
            raise NotFound(f"There is no page {page_id}.")
        return page

    def params_of(self, page: KnowledgePage) -> StoreParams:
        """How a page is kept. Raises InvalidInput for what can't be one."""
        page = tidy(page)
        check(page)
        now = self._clock()
        page = replace(page, created_at=page.created_at or now, updated_at=page.updated_at or now)
        whose: dict[str, Json] = {"origin": page.origin} if page.origin else {}
        return StoreParams(
            self._namespace, key_of(page.id), to_json(page), whose, CATEGORY, source=self._source
        )

    async def _store(self, page: KnowledgePage) -> KnowledgePage:
        return from_entry(await self._entries.store(self.params_of(page)))


def _hits(page: KnowledgePage, asked: Sequence[str], language: str) -> int:
    there = set(keywords(" \n ".join((page.title, page.summary, *page.tags)), language))
    return sum(one in there for one in asked)

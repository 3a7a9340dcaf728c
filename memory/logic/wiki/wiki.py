"""A wiki that an agent or a person keeps: pages with their sources, over the store of one namespace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.core.errors import InvalidInput, NotFound
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import QUARANTINE_REASONS, screen_params
from memory.logic.entries.origins import ContentOrigin, parse_origin
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_requests import MERGE, PageWriteResult, write_drafts
from memory.logic.knowledge.page_sources import hash_text
from memory.logic.knowledge.pages import KnowledgePage, list_wiki_links
from memory.logic.knowledge.wiki_sources import (
    WikiSource,
    build_source_key,
    build_source_params,
    find_source,
    get_digests,
    list_sources,
    read_source,
)
from memory.logic.wiki.compilation import check_sources, compile_by_rules
from memory.logic.wiki.lint import LintFinding, lint_pages
from memory.logic.wiki.staleness import StaleSource, find_stale_sources


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The recorded source, its entry, and the pages written from it. ``held`` has the reasons for its quarantine.

    ``is_new`` is false if this text of this source was recorded before.
    """

    source: WikiSource
    entry: MemoryEntry
    is_new: bool
    pages: Sequence[PageWriteResult] = ()
    held: tuple[str, ...] = field(default=())


class Wiki:
    """The pages and sources of one namespace. Permissions and audit are the business of the services above it."""

    def __init__(
        self,
        namespace: str,
        entries: NamespaceStore,
        *,
        clock: Clock = utc_now,
        author: Source = Source(),  # noqa: B008 - a frozen value
        origin: ContentOrigin = ContentOrigin.MODEL,
    ) -> None:
        self._namespace = namespace
        self._entries = entries
        self._clock = clock
        self._author = author
        self._origin = origin
        self.pages = KnowledgeStore(namespace, entries, clock=clock, source=author)

    def ingest(
        self, source: WikiSource, drafts: Sequence[Mapping[str, Json]] = (), *, mode: str = MERGE
    ) -> IngestResult:
        """Record the source, and merge the drafts into the pages about their subjects, with the source.

        A text that was recorded before and has its pages changes nothing. The pages of a source in quarantine are not
        written, because they would say what nobody has approved.
        """
        params, held = self._screen(source)
        # Secrets were removed from the text, so its digest is that of the text that is kept.
        source = replace(source, title=params.value["title"], text=params.value["text"])
        known = find_source(self._entries, self._namespace, source.id)
        if known is not None and known.digest == source.digest:
            entry = self._entries.recall(_query(self._namespace, known))[0]
            drafts = () if self._has_pages(known) else drafts
            return IngestResult(known, entry, False, self._write(drafts, known, mode))
        entry = self._entries.store(params)
        if held:
            return IngestResult(source, entry, True, held=held)
        stored = read_source(entry)
        return IngestResult(stored, entry, True, self._write(drafts, stored, mode))

    def list_sources(self) -> list[WikiSource]:
        return list_sources(self._entries, self._namespace)

    def find_page(self, name: str) -> KnowledgePage:
        """Return the page with this id, title or alias; raise NotFound if there is none."""
        pages, wanted = self.pages.list_pages(), normalize(name)
        tests = (
            lambda page: page.id == name,
            lambda page: normalize(page.title) == wanted,
            lambda page: wanted in map(normalize, page.aliases),
        )
        for is_meant in tests:
            for page in pages:
                if is_meant(page):
                    return page
        raise NotFound(f"There is no page {name[:100]!r}.")

    def link_pages(self, first: str, second: str) -> tuple[KnowledgePage, KnowledgePage]:
        """Let two pages refer to each other. A link that exists already is not repeated."""
        one, other = self.find_page(first), self.find_page(second)
        if one.id == other.id:
            raise InvalidInput("references: a page can't reference itself.")
        return self._add_reference(one, other), self._add_reference(other, one)

    def merge_twins(self, kept: KnowledgePage, other: KnowledgePage) -> KnowledgePage:
        """Merge a page into its twin and delete it; the pages that referred to it refer to the twin."""
        if kept.id == other.id:
            raise InvalidInput("other: a page can't be merged into itself.")
        merged = self.pages.merge_page(kept, other)
        for page in self.pages.list_pages():
            if other.id in page.references and page.id not in (kept.id, other.id):
                references = [kept.id if r == other.id else r for r in page.references]
                self.pages.store_page(replace(page, references=tuple(dict.fromkeys(references))))
        self.pages.delete_page(other.id)
        return merged

    def list_stale(self) -> tuple[StaleSource, ...]:
        return find_stale_sources(self.pages.list_pages(), get_digests(self.list_sources()))

    def lint(self) -> tuple[LintFinding, ...]:
        return lint_pages(self.pages.list_pages(), self.list_sources())

    def compile_by_rules(self, page: KnowledgePage) -> KnowledgePage:
        """Write the page anew from its present sources, without a model. The earlier version stays as a revision."""
        check_sources(page)
        by_id = {source.id: source for source in self.list_sources()}
        return self.pages.update_page(compile_by_rules(page, by_id, self._clock()))

    def _screen(self, source: WikiSource) -> tuple[StoreParams, tuple[str, ...]]:
        """Return the parameters that store the source without secrets, and the reasons for a quarantine."""
        origin = parse_origin(source.origin, self._origin)
        params = build_source_params(source, self._namespace, self._author)
        params = screen_params(params, origin, hold=source.is_held).params
        text = params.value["text"]
        params = replace(params, value={**params.value, "digest": hash_text(text)})
        reasons = params.metadata.get(QUARANTINE_REASONS, ())
        if not reasons:
            return params, ()
        # Under a key of its own, so that it doesn't replace the text that pages were written from.
        held = tuple(str(reason.get("reason", "")) for reason in reasons)
        return hold_entry(params.key, params), held

    def _write(
        self, drafts: Iterable[Mapping[str, Json]], source: WikiSource, mode: str
    ) -> Sequence[PageWriteResult]:
        origin = {"origin": source.origin} if source.origin else {}
        cited = [{**draft, **origin, "sources": [source.id]} for draft in drafts]
        return write_drafts(
            cited,
            self._entries,
            self._namespace,
            mode=mode,
            clock=self._clock,
            source=self._author,
            origin=self._origin,
        )

    def _has_pages(self, source: WikiSource) -> bool:
        """Return whether a page was written from the present text of the source."""
        return any(
            (cited.id, cited.digest) == (source.id, source.digest)
            for page in self.pages.list_pages()
            for cited in page.sources
        )

    def _add_reference(self, page: KnowledgePage, target: KnowledgePage) -> KnowledgePage:
        names = {normalize(name) for name in list_wiki_links(page.content)}
        linked = {normalize(name) for name in (target.id, target.title, *target.aliases)}
        if target.id in page.references or names & linked:
            return page
        changed = replace(page, references=(*page.references, target.id))
        # Only a link was added: what the page says is as old as before.
        return self.pages.store_page(changed)


def _query(namespace: str, source: WikiSource) -> MemoryQuery:
    return MemoryQuery(namespace, key=build_source_key(source.id))

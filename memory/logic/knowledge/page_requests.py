"""The writes of knowledge pages that the nodes of a workflow request."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, Source
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.ingress import FindingReason
from memory.logic.entries.origins import ContentOrigin
from memory.logic.knowledge.knowledge_base import KnowledgeStore, PageWrite
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.page_merge import MatchReason, find_matching_page
from memory.logic.knowledge.page_queries import build_page_json
from memory.logic.knowledge.page_sources import carry_sources, cite_sources
from memory.logic.knowledge.pages import KnowledgePage, build_page_key, build_slug
from memory.logic.knowledge.wiki_sources import find_digests


MERGE, REPLACE = "merge", "replace"
MODES = (MERGE, REPLACE)


@dataclass(frozen=True, slots=True)
class PageWriteResult:
    """The result of writing one page. If its entry was quarantined instead, ``held_for`` lists the reasons.

    ``merged_for`` is the reason for merging it into an existing page (title, alias or content), empty otherwise.
    """

    write: PageWrite
    entry: MemoryEntry
    held_for: tuple[str, ...] = ()

    @property
    def page(self) -> Mapping[str, Json]:
        return build_page_json(self.write.page)

    @property
    def merged_for(self) -> str:
        return str(self.write.merged_for or "")


def write_drafts(
    drafts: Sequence[Mapping[str, Json]],
    entry_store: NamespaceStore,
    namespace: str,
    *,
    mode: str = MERGE,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
    origin: ContentOrigin = ContentOrigin.MODEL,
) -> tuple[PageWriteResult, ...]:
    """Write the drafts in their order, so that two drafts about one subject become one page.

    A draft can name its ``sources``, and its ``origin``, which is the argument otherwise, and set ``hold`` to wait for a
    review, or ``spares_trusted`` to wait if it came from outside and would change a page that is trusted. All drafts are
    parsed and screened before the first is written; raise InvalidInput for an invalid one.
    """
    if mode not in MODES:
        raise InvalidInput(f"mode: use one of {', '.join(MODES)}.")
    screened = [_screen_draft(draft, entry_store, namespace, origin) for draft in drafts]
    store = KnowledgeStore(namespace, entry_store, clock=clock, source=source)
    results = []
    for draft, (page, reasons) in zip(drafts, screened, strict=True):
        spares_trusted = draft.get("spares_trusted") is True
        if not reasons and spares_trusted and _would_change_trusted(store, page):
            reasons = [{"reason": str(FindingReason.EXTERNAL_SOURCE), "detail": ""}]
        if reasons:
            entry = entry_store.store(build_quarantined_page(store, page, reasons))
            codes = tuple(reason["reason"] for reason in reasons)
            results.append(PageWriteResult(PageWrite(page), entry, codes))
        else:
            write = _write_page(store, page, mode)
            entry = store.entries_by_key[build_page_key(write.page.id)]
            results.append(PageWriteResult(write, entry))
    return tuple(results)


def parse_draft(value: Json) -> KnowledgePage:
    """Parse a page, whose id may be empty, from a draft in JSON; raise InvalidInput if a value has a wrong type."""
    if not isinstance(value, Mapping):
        raise InvalidInput("pages: each must be an object with title and content.")
    return KnowledgePage(
        id=_get_text(value, "id").strip(),
        title=_get_text(value, "title"),
        summary=_get_text(value, "summary"),
        content=_get_text(value, "content"),
        tags=parse_string_list(value.get("tags"), "tags"),
        references=parse_string_list(value.get("references"), "references"),
        aliases=parse_string_list(value.get("aliases"), "aliases"),
    )


def parse_string_list(value: Json, name: str) -> tuple[str, ...]:
    """Parse a list of strings, or one string with commas in between; raise InvalidInput for other types."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.replace("，", ",").split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{name}: must be a list of texts.")
    return tuple(text.strip() for text in value if text.strip())


def _screen_draft(
    draft: Mapping[str, Json], store: NamespaceStore, namespace: str, origin: ContentOrigin
) -> tuple[KnowledgePage, Sequence[Json]]:
    """Parse and screen a draft. Raise InvalidInput if one of its ``sources``, which are ids, doesn't exist."""
    page, reasons = screen_page(parse_draft(draft), draft, origin)
    source_ids = parse_string_list(draft.get("sources"), "sources")
    return cite_sources(page, find_digests(store, namespace, source_ids)), reasons


def _would_change_trusted(store: KnowledgeStore, page: KnowledgePage) -> bool:
    """Return whether a page that came from outside would change one that did not, or that somebody approved."""
    if not page.origin:
        return False
    existing = store.get_page(page.id) if page.id else None
    if existing is None and (match := find_matching_page(page, store.list_pages())):
        existing = match.page
    return existing is not None and not existing.origin


def _write_page(store: KnowledgeStore, page: KnowledgePage, mode: str) -> PageWrite:
    if not page.id:
        return _write_by_title(store, page, mode)
    existing = store.get_page(page.id)
    if existing is None:
        return store.merge_or_store(page) if mode == MERGE else PageWrite(store.add_page(page))
    if mode == MERGE:
        return PageWrite(store.merge_page(existing, page), MatchReason.TITLE)
    return PageWrite(_replace_page(store, existing, page))


def _write_by_title(store: KnowledgeStore, page: KnowledgePage, mode: str) -> PageWrite:
    pages, title = store.list_pages(), normalize(page.title)
    page = replace(page, id=_pick_free_id(page.title, {existing.id for existing in pages}))
    if mode == MERGE:
        return store.merge_or_store(page)
    existing = next((other for other in pages if normalize(other.title) == title), None)
    return PageWrite(_replace_page(store, existing, page) if existing else store.add_page(page))


def _replace_page(
    store: KnowledgeStore, existing: KnowledgePage, page: KnowledgePage
) -> KnowledgePage:
    """Replace the page, but keep its aliases if the new page has none; write only if something changes."""
    updated = replace(
        existing,
        title=page.title,
        summary=page.summary,
        content=page.content,
        tags=page.tags,
        references=page.references,
        aliases=page.aliases or existing.aliases,
        origin=page.origin,
    )
    if page.sources:
        updated = replace(updated, sources=page.sources)
    elif existing.sources:
        updated = carry_sources(existing, updated)
    return store.replace_page(existing, updated)


def _pick_free_id(title: str, used_ids: Set[str]) -> str:
    """Return an unused id; two titles such as C and C++ have the same slug."""
    slug = build_slug(title)
    candidates = chain([slug], (f"{slug}-{number}" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in used_ids)


def _get_text(value: Mapping[str, Json], name: str) -> str:
    text = value.get(name)
    if text is None or isinstance(text, str):
        return text or ""
    raise InvalidInput(f"{name}: must be a text.")

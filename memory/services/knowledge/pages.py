"""Pages of knowledge through the door: listed, found, written, linked, confirmed, deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, Meaning, MemoryEntry, MemoryQuery
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.page_index import StaleMark
from memory.logic.knowledge.page_requests import (
    MERGE,
    PageHit,
    PageQuery,
    PageWriteResult,
    parse_draft,
    search_pages,
    write_drafts,
)
from memory.logic.knowledge.pages import CATEGORY, KnowledgePage, from_entry, is_page
from memory.models import Entry
from memory.providers.postgres import rows
from memory.providers.postgres.vectors import near_keys
from memory.services.entries.edit import RevisionConflict
from memory.services.entries.forget import Forgotten, forget_selected
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway, get_entry_namespace, key_hash
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.bulk_pages import KnowledgeBase, load_knowledge_base
from memory.services.knowledge.search_candidates import candidate_pages
from memory.services.recall.recall import open_for_query, record_reads


@dataclass(frozen=True, slots=True)
class PageView:
    """``links`` and ``backlinks`` are ids of pages, there or not; ``stale``: why to look at it again."""

    page: KnowledgePage
    entry: MemoryEntry
    links: tuple[str, ...]
    backlinks: tuple[str, ...]
    stale: tuple[StaleMark, ...]
    knowledge_base: KnowledgeBase  # the other pages beside it, for their names
    held_for: tuple[str, ...] = ()  # why what was to be written waits in quarantine instead


@retry_on_conflict
def get_knowledge_base(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> KnowledgeBase:
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", scope=scope, namespace=namespace
    ) as access:
        base = load_knowledge_base(access)
        access.detail.update(keys=len(base.pages), pages=True)
        return base


@retry_on_conflict
def open_page(caller: MemoryCaller, *, entry_id: UUID | str) -> PageView:
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace("view", "memory.listed", namespace=place) as access:
        entry = page_entry(access, entry_id)
        access.detail.update(entry=str(entry_id), keys=1)
        return _view_of(access, entry)


@retry_on_conflict
def find_pages(
    caller: MemoryCaller,
    *,
    query: str,
    scope: str | None = None,
    namespace: str | None = None,
    top_k: int = 20,
    min_score: float = 0.1,
    tags: Sequence[str] = (),
) -> tuple[PageHit, ...]:
    """Best first, by the words of title, tags, summary and content, by full text, and by meaning."""
    check_sought(top_k, min_score)
    question = MemoryQuery("", query_text=query)
    with open_for_query(caller, question, scope=scope, namespace=namespace) as (access, question):
        near = _near(access, question.meaning)
        candidates = candidate_pages(access, query, near, narrowed=bool(tags))
        hits = search_pages(PageQuery(query, top_k, min_score, tuple(tags)), candidates, near)
        access.detail.update(keys=len(hits), pages=True)
        record_reads(access, [hit.entry for hit in hits], injected=False)
        return hits


@retry_on_conflict
def write_pages(
    caller: MemoryCaller,
    *,
    pages: Sequence[Mapping[str, Json]],
    scope: str | None = None,
    namespace: str | None = None,
    mode: str = MERGE,
    reason: str = "",
) -> tuple[PageWriteResult, ...]:
    """All or none; each into the page about the same, if there is one."""
    if not 1 <= len(pages) <= MOST_AT_ONCE:
        raise InvalidInput(f"pages: from 1 to {MOST_AT_ONCE} at once.")
    who = ingress_gate.who_writes(caller)
    if (
        who is ingress_gate.Who.PERSON
    ):  # what a person writes by hand is theirs, and waits for nobody
        pages = [{**page, "origin": "", "hold": False} for page in pages]
    with MemoryGateway(caller).open_namespace(
        "write", "memory.stored", scope=scope, namespace=namespace
    ) as access:
        access.claim()  # before the pages are read: two writers of one page must not make twins
        stored = write_drafts(
            pages,
            access.store(reason),
            access.text,
            mode=mode,
            clock=lambda: access.now,
            source=access.caller.source,
            origin=ingress_gate.origin_otherwise(who),
        )
        access.detail.update(
            keys=len(stored), entries=[page.entry.id for page in stored[:50]], pages=True
        )
        if held_count := sum(bool(page.held) for page in stored):
            access.detail["held"] = held_count
        return stored


@retry_on_conflict
def rewrite_page(
    caller: MemoryCaller,
    *,
    entry_id: UUID | str,
    if_revision: int,
    changes: Mapping[str, Json],
    reason: str = "",
) -> PageView:
    """Only what is named changes, and only if nobody was quicker. Its id stays: others refer to it."""
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace("write", "memory.edited", namespace=place) as access:
        access.claim()
        entry = page_entry(access, entry_id)
        if entry.revision != if_revision:
            raise RevisionConflict(
                f"The page was changed in the meantime: it is at revision {entry.revision}, "
                f"not {if_revision}."
            )
        before = from_entry(entry)
        origin = ingress_gate.origin_otherwise(ingress_gate.who_writes(caller))
        drawn, reasons = screen_page(parse_draft({"title": before.title, **changes}), {}, origin)
        page = replace(before, **{name: getattr(drawn, name) for name in _WRITABLE & set(changes)})
        store = _store(access, reason)
        if reasons:
            access.store(reason).store(build_quarantined_page(store, page, reasons))
        elif page != before:
            store.update_page(page)
        access.detail.update(entry=entry.id, key=key_hash(entry.key), keys=1)
        held_for = tuple(reason["reason"] for reason in reasons)
        return replace(_view_of(access, page_entry(access, entry_id)), held_for=held_for)


@retry_on_conflict
def confirm_page(caller: MemoryCaller, *, entry_id: UUID | str) -> PageView:
    """Somebody looked and found it still right: it is stale no longer."""
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace("write", "memory.edited", namespace=place) as access:
        access.claim()
        page = from_entry(page_entry(access, entry_id))
        _store(access, "confirmed").confirm(page.id)
        access.detail.update(entry=str(entry_id), keys=1)
        return _view_of(access, page_entry(access, entry_id))


@retry_on_conflict
def delete_page(caller: MemoryCaller, *, entry_id: UUID | str, reason: str = "") -> Forgotten:
    """Soft, as any forgetting; what refers to it is stale from now on."""
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace(
        "forget", "memory.forgotten", namespace=place
    ) as access:
        entry = page_entry(access, entry_id)
        return forget_selected(access, lambda query: query.filter(pk=entry.id), reason)


@retry_on_conflict
def page_revisions(
    caller: MemoryCaller, *, entry_id: UUID | str
) -> tuple[MemoryEntry, list[KnowledgePage]]:
    """Newest first, with the entry they are of."""
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace("view", "memory.listed", namespace=place) as access:
        entry = page_entry(access, entry_id)
        past = _store(access).list_revisions(from_entry(entry).id)
        access.detail.update(entry=str(entry_id), revisions=len(past))
        return entry, list(reversed(past))


MOST_AT_ONCE = 1_000
MOST_FOUND = 100
_WRITABLE = {"title", "summary", "content", "tags", "references", "aliases"}


def _near(access: NamespaceAccess, meaning: Meaning | None) -> Mapping[str, float]:
    row = access.target.row
    return {} if row is None or access.external else near_keys(row, meaning, CATEGORY)


def check_sought(top_k: int, min_score: float) -> None:
    if not 1 <= top_k <= MOST_FOUND:
        raise InvalidInput(f"top_k: from 1 to {MOST_FOUND}.")
    if not 0 <= min_score <= 1:
        raise InvalidInput("min_score: from 0 to 1.")


def _view_of(access: NamespaceAccess, entry: MemoryEntry) -> PageView:
    """``entry`` as it is now."""
    base, page = load_knowledge_base(access), from_entry(entry)
    page_id = page.id
    return PageView(
        page,
        entry,
        base.index.links.get(page_id, ()),
        base.index.backlinks.get(page_id, ()),
        tuple(mark for mark in base.index.stale if mark.page_id == page_id),
        base,
    )


def page_entry(access: NamespaceAccess, entry_id: UUID | str) -> MemoryEntry:
    row: Entry | None = None
    if access.target.row is not None:
        visible = rows.visible(access.target.row, access.now)
        row = visible.filter(pk=UUID(str(entry_id))).first()
    entry = row and rows.entry_of(row, access.text)
    if not entry or not is_page(entry):
        raise NotFound(_("Page not found."))
    return entry


def _store(access: NamespaceAccess, reason: str = "") -> KnowledgeStore:
    return KnowledgeStore(
        access.text, access.store(reason), clock=lambda: access.now, source=access.caller.source
    )

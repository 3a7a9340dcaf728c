"""List, write, confirm and delete knowledge pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.policy import check_bound
from memory.core.records import Json, MemoryEntry
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.page_index import OutdatedReference
from memory.logic.knowledge.page_requests import MERGE, PageWriteResult, parse_draft, write_drafts
from memory.logic.knowledge.page_sources import carry_sources
from memory.logic.knowledge.pages import KnowledgePage, from_entry, is_page
from memory.logic.knowledge.wiki_sources import WikiSource, find_source
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.edit import RevisionConflict
from memory.services.entries.forget import ForgetResult, forget_selected
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import hash_key, open_entry, open_namespace
from memory.services.gateway.marks import get_program_origin, is_program
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.bulk_pages import KnowledgeBase, load_knowledge_base


MAX_PAGES = 1_000
_WRITABLE_FIELDS = {"title", "summary", "content", "tags", "references", "aliases"}


@dataclass(frozen=True, slots=True)
class PageView:
    """A page with the ids of linked pages, some of which may not exist, and the references that make it outdated."""

    page: KnowledgePage
    entry: MemoryEntry
    links: tuple[str, ...]
    backlinks: tuple[str, ...]
    outdated: tuple[OutdatedReference, ...]
    knowledge_base: KnowledgeBase  # with the names of the other pages
    sources: tuple[WikiSource, ...] = ()  # those of the page that exist
    held_for: tuple[str, ...] = ()  # the reasons for which the new content waits in quarantine


@retry_on_conflict
def get_knowledge_base(caller: MemoryCaller, *, namespace: str) -> KnowledgeBase:
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        knowledge_base = load_knowledge_base(access)
        access.detail.update(keys=len(knowledge_base.pages), pages=True)
        return knowledge_base


@retry_on_conflict
def open_page(caller: MemoryCaller, *, entry_id: UUID | str) -> PageView:
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        entry = get_page_entry(access, entry_id)
        access.detail.update(entry=str(entry_id), keys=1)
        return build_page_view(access, entry)


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
    """Write all pages or none. An existing page about the same subject is merged or replaced, as ``mode`` says."""
    if not 1 <= len(pages) <= MAX_PAGES:
        raise InvalidInput(f"pages: from 1 to {MAX_PAGES} at once.")
    writer = ingress_gate.get_writer(caller)
    if writer is ingress_gate.Writer.PERSON:  # their own content needs no review
        pages = [{**page, "origin": "", "hold": False} for page in pages]
    if is_program(caller):
        pages = [{**page, "origin": get_program_origin(page.get("origin"))} for page in pages]
    with open_namespace(
        caller, "write", "memory.stored", scope=scope, namespace=namespace
    ) as access:
        for page in pages:
            check_bound(access.policy, page)
        access.claim()  # locked before the pages are read, so that two writers can't create the same page twice
        stored = write_drafts(
            pages,
            access.open_store(reason),
            access.text,
            mode=mode,
            clock=lambda: access.now,
            source=access.caller.source,
            origin=ingress_gate.DEFAULT_ORIGINS[writer],
        )
        ids = [page.entry.id for page in stored[:50]]
        access.detail.update(keys=len(stored), entries=ids, pages=True)
        if held_count := sum(bool(page.held_for) for page in stored):
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
    """Change these fields of a page, and keep its id. Raise RevisionConflict if it is no longer at ``if_revision``."""
    with open_entry(caller, "write", "memory.edited", entry_id) as access:
        access.claim()
        entry = get_page_entry(access, entry_id)
        if entry.revision != if_revision:
            raise RevisionConflict(
                f"The page was changed in the meantime: it is at revision {entry.revision}, "
                f"not {if_revision}."
            )
        before = from_entry(entry)
        origin = ingress_gate.DEFAULT_ORIGINS[ingress_gate.get_writer(caller)]
        draft, reasons = screen_page(parse_draft({"title": before.title, **changes}), {}, origin)
        page = replace(
            before, **{name: getattr(draft, name) for name in _WRITABLE_FIELDS & set(changes)}
        )
        page = carry_sources(before, page)
        store = _build_store(access, reason)
        if reasons:
            access.open_store(reason).store(build_quarantined_page(store, page, reasons))
        elif page != before:
            store.update_page(page)
        access.detail.update(entry=entry.id, key=hash_key(entry.key), keys=1)
        held_for = tuple(reason["reason"] for reason in reasons)
        return replace(build_page_view(access, get_page_entry(access, entry_id)), held_for=held_for)


@retry_on_conflict
def confirm_page(caller: MemoryCaller, *, entry_id: UUID | str) -> PageView:
    """Mark the page as checked, so that it is no longer outdated."""
    with open_entry(caller, "write", "memory.edited", entry_id) as access:
        access.claim()
        page = from_entry(get_page_entry(access, entry_id))
        _build_store(access, "confirmed").mark_checked(page.id)
        access.detail.update(entry=str(entry_id), keys=1)
        return build_page_view(access, get_page_entry(access, entry_id))


@retry_on_conflict
def delete_page(caller: MemoryCaller, *, entry_id: UUID | str, reason: str = "") -> ForgetResult:
    """Forget the page; pages that link to it become outdated."""
    with open_entry(caller, "forget", "memory.forgotten", entry_id) as access:
        entry = get_page_entry(access, entry_id)
        return forget_selected(access, lambda query: query.filter(pk=entry.id), reason)


@retry_on_conflict
def list_page_revisions(
    caller: MemoryCaller, *, entry_id: UUID | str
) -> tuple[MemoryEntry, list[KnowledgePage]]:
    """Return the page's entry and its revisions, newest first."""
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        entry = get_page_entry(access, entry_id)
        revisions = _build_store(access).list_revisions(from_entry(entry).id)
        access.detail.update(entry=str(entry_id), revisions=len(revisions))
        return entry, list(reversed(revisions))


def build_page_view(access: NamespaceAccess, entry: MemoryEntry) -> PageView:
    """Build the view of a page from its current entry."""
    knowledge_base, page = load_knowledge_base(access), from_entry(entry)
    index = knowledge_base.index
    links, backlinks = index.links.get(page.id, ()), index.backlinks.get(page.id, ())
    outdated = tuple(reference for reference in index.outdated if reference.page_id == page.id)
    sources = _find_sources(access, page) if page.sources else ()
    return PageView(page, entry, links, backlinks, outdated, knowledge_base, sources)


def _find_sources(access: NamespaceAccess, page: KnowledgePage) -> tuple[WikiSource, ...]:
    store = access.open_store()
    sources = (find_source(store, access.text, source.id) for source in page.sources)
    return tuple(source for source in sources if source is not None)


def get_page_entry(access: NamespaceAccess, entry_id: UUID | str) -> MemoryEntry:
    """Return the page's entry. Raise NotFound if it can't be recalled or is no page."""
    row: Entry | None = None
    if access.target.row is not None:
        visible = rows.find_visible(access.target.row, access.now)
        row = visible.filter(pk=UUID(str(entry_id))).first()
    entry = row and rows.build_entry(row, access.text)
    if not entry or not is_page(entry):
        raise NotFound(_("Page not found."))
    return entry


def _build_store(access: NamespaceAccess, reason: str = "") -> KnowledgeStore:
    return KnowledgeStore(
        access.text,
        access.open_store(reason),
        clock=lambda: access.now,
        source=access.caller.source,
    )

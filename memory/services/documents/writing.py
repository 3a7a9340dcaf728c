"""Write the pages of a document into its knowledge base, as one change that can be undone as a whole.

A page of an earlier version that says the same is not touched, others are replaced, and those that the document no
longer has are forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied, InvalidInput
from memory.logic.entries.held_entries import TARGET_KEY
from memory.logic.entries.origins import ContentOrigin
from memory.logic.knowledge.documents.pages import MAX_PAGES, DocumentText, build_document_pages
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.page_sources import cite_sources
from memory.logic.knowledge.pages import (
    PAGE_CATEGORY,
    KnowledgePage,
    build_page_key,
    from_entry,
)
from memory.logic.knowledge.wiki_sources import (
    SourceKind,
    WikiSource,
    build_source_params,
    find_source,
)
from memory.models import DocumentUpload, Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.history.revert import can_forget


_COMPARED: Final = ("title", "summary", "content", "tags", "sources")


@dataclass(slots=True)
class WrittenDocument:
    """Counts the pages of a document: those in use, those that wait for a review, and those without their secrets."""

    page_count: int = 0
    held_count: int = 0
    redacted_count: int = 0
    change_id: UUID | None = None
    written_keys: set[str] = field(default_factory=set)


@retry_on_conflict
def write_document(caller: MemoryCaller, upload: DocumentUpload, text: str) -> WrittenDocument:
    """Write the pages of the document with this text. All are written, or none.

    Raise InvalidInput if it has no text, or too many pages.
    """
    source = WikiSource(
        id=upload.source_id,
        title=upload.name,
        text=upload.name,  # the pages have the text
        kind=SourceKind.DOCUMENT,
        person=upload.subject,
        file_id=str(upload.file_id),
        file_digest=upload.sha256,
    )
    pages = build_document_pages(DocumentText(upload.name, text, source.id, source.digest))
    _check_count(upload.name, len(pages))
    with open_namespace(
        caller, "write", "memory.stored", namespace=upload.namespace.text
    ) as access:
        result = _write_pages(access, source, pages)
        access.detail.update(keys=len(pages), pages=True, document=str(upload.pk))
        if result.held_count:
            access.detail["held"] = result.held_count
        return result


def _check_count(name: str, page_count: int) -> None:
    if page_count == 0:
        raise InvalidInput(_("%(name)s: has no text.") % {"name": name})
    if page_count > MAX_PAGES:
        message = _(
            "%(name)s: would become %(count)d pages, and at most %(limit)d are allowed. Divide it into several files."
        )
        raise InvalidInput(message % {"name": name, "count": page_count, "limit": MAX_PAGES})


def list_document_entries(namespace: Namespace, source_id: str) -> list[Entry]:
    """Return the entries of the document's pages that are not forgotten, also those in quarantine."""
    living = rows.find_living(namespace).filter(category=PAGE_CATEGORY)
    cited = living.filter(value__sources__contains=[{"id": source_id}])
    return list(cited.order_by("id"))


def _write_pages(
    access: NamespaceAccess, source: WikiSource, pages: Iterable[KnowledgePage]
) -> WrittenDocument:
    reason = _("document %(name)s") % {"name": source.title}
    batch = Batch(access, reason)
    entries = {entry.key: entry for entry in list_document_entries(batch.namespace, source.id)}
    store = KnowledgeStore(
        access.text, batch.store, clock=lambda: access.now, source=access.caller.source
    )
    result = WrittenDocument()
    old_source = find_source(batch.store, access.text, source.id)
    if old_source is None or (old_source.file_id, old_source.title) != (
        source.file_id,
        source.title,
    ):
        batch.store.store(build_source_params(source, access.text, access.caller.source))
        result.written_keys.add("")
    kept_keys: set[str] = set()
    for page in pages:
        kept_keys.add(_write_page(store, batch, page, entries, result))
    old_entries = [entry for key, entry in entries.items() if key not in kept_keys]
    if old_entries and not can_forget(access):
        message = _("You can write to %(namespace)s but not forget entries in it.")
        raise AccessDenied(message % {"namespace": access.text})
    rows.forget(
        batch.namespace,
        old_entries,
        access.build_context(Operation.FORGET, reason, batch.change_id),
    )
    if count := len(result.written_keys) + len(old_entries):
        access.record_change(
            batch.namespace, Operation.STORE, count, reason, change_id=batch.change_id
        )
        result.change_id = batch.change_id
    return result


def _write_page(
    store: KnowledgeStore,
    batch: Batch,
    page: KnowledgePage,
    entries: Mapping[str, Entry],
    result: WrittenDocument,
) -> str:
    """Write the page unless it is there already, and return the key of its entry.

    A file may contain anything, so its text is screened like that of an imported page, whoever uploads it.
    """
    clean, reasons = screen_page(page, {}, ContentOrigin.TOOL)
    if clean != page:
        clean = _cite_again(clean)
        result.redacted_count += 1
    key = build_page_key(page.id)
    existing = _read_page(batch.namespace, entries.get(key))
    if existing is not None and _says_the_same(existing, clean):
        result.page_count += 1
        return key
    if reasons:
        params = build_quarantined_page(store, clean, reasons)
        result.held_count += 1
        entry = entries.get(params.key)
        if entry is None or (entry.value or {}).get("content") != clean.content:
            batch.store.store(params)
            result.written_keys.add(params.key)
        return params.key
    result.page_count += 1
    result.written_keys.add(key)
    if existing is None:
        store.store_page(clean)
    else:
        changes = {name: getattr(clean, name) for name in _COMPARED}
        store.update_page(replace(existing, **changes), revives=True)
    return key


def _cite_again(page: KnowledgePage) -> KnowledgePage:
    """Return the page with the digests of its present paragraphs."""
    (source,) = page.sources
    cited = cite_sources(page, [(source.id, source.digest)]).sources[0]
    return replace(page, sources=(replace(source, paragraphs=cited.paragraphs),))


def _read_page(namespace: Namespace, entry: Entry | None) -> KnowledgePage | None:
    is_in_use = entry is not None and TARGET_KEY not in entry.metadata
    return from_entry(rows.build_entry(entry, namespace.text)) if entry and is_in_use else None


def _says_the_same(existing: KnowledgePage, page: KnowledgePage) -> bool:
    return all(getattr(existing, name) == getattr(page, name) for name in _COMPARED)

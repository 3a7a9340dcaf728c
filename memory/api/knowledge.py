"""``/api/v1/knowledge``: knowledge pages; and the history of a conversation with its folded messages."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Listing, OwnPages, Pages, Rows, list_uncounted
from memory import services
from memory.api.entries import IfMatch, build_caller, parse_revision
from memory.logic.knowledge.page_queries import PageHit
from memory.logic.knowledge.pages import KnowledgePage
from memory.schemas import entries
from memory.schemas import knowledge as pages
from memory.services.knowledge.page_finding import MAX_RESULTS


router = Router(auth=api_auth(), tags=["knowledge"])


@router.get("/knowledge/pages", response=pages.KnowledgeBaseOut)
@paginate(OwnPages)
def list_pages(request: HttpRequest, params: Query[pages.PagesQuery]) -> Listing[KnowledgePage]:
    """List the pages of a namespace by title, with the links of these pages and the stale references of all."""
    caller = build_caller(request)
    knowledge_base = services.get_knowledge_base(caller, namespace=params.namespace)

    def read(offset: int, limit: int) -> Rows[KnowledgePage]:
        rows = knowledge_base.pages[offset : offset + limit]
        extra = pages.describe_references(knowledge_base, rows)
        return Rows(rows, len(knowledge_base.pages), extra=extra)

    return Listing(read, lambda rows: pages.pages_out(knowledge_base, rows))


@router.get("/knowledge/search", response=list[pages.PageHitOut])
@paginate(Pages)
def search_pages(request: HttpRequest, params: Query[pages.SearchQuery]) -> Listing[PageHit]:
    """Search the pages of a namespace or, without it, of all knowledge bases; best first, with the parts of each score.

    A search finds the best hundred pages.
    """
    caller = build_caller(request)
    conditions: dict[str, Any] = {
        "query": params.query,
        "tags": [params.tag] if params.tag else [],
        "min_score": params.min_score,
    }

    def read(offset: int, limit: int) -> list[PageHit]:
        top_k = min(offset + limit, MAX_RESULTS)
        if params.namespace:
            hits = services.find_pages(
                caller, namespace=params.namespace, top_k=top_k, **conditions
            )
        else:
            hits = services.search_all_pages(caller, top_k=top_k, **conditions).hits
        return list(hits[offset:])

    return list_uncounted(read, pages.hits_out)


@router.post("/knowledge/pages", response={201: list[pages.WrittenPageOut]})
def write_pages(request: HttpRequest, body: pages.WriteIn) -> list[pages.WrittenPageOut]:
    """Write all pages or none. Each is merged into the page about the same subject, if there is one."""
    results = services.write_pages(
        build_caller(request),
        namespace=body.namespace,
        pages=[page.dict() for page in body.pages],
        mode=body.mode,
        reason=body.reason,
    )
    return [pages.written_page_out(page) for page in results]


@router.get("/knowledge/pages/{uuid:entry_id}", response=pages.PageViewOut)
def read_page(request: HttpRequest, response: HttpResponse, entry_id: UUID) -> pages.PageViewOut:
    """Return a page. ``ETag`` is the revision, for ``If-Match``."""
    page = pages.page_view_out(services.open_page(build_caller(request), entry_id=entry_id))
    response["ETag"] = f'"{page.page.revision}"'
    return page


@router.patch("/knowledge/pages/{uuid:entry_id}", response=pages.PageViewOut)
def rewrite_page(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: pages.RewriteIn,
    if_match: IfMatch,
) -> pages.PageViewOut:
    """Rewrite a page; 409 if it has been changed since ``If-Match``."""
    view = services.rewrite_page(
        build_caller(request),
        entry_id=entry_id,
        if_revision=parse_revision(if_match),
        changes=body.get_changes(),
        reason=body.reason,
    )
    response["ETag"] = f'"{view.page.revision}"'
    return pages.page_view_out(view)


@router.delete("/knowledge/pages/{uuid:entry_id}", response=entries.ForgottenOut)
def delete_page(request: HttpRequest, entry_id: UUID) -> entries.ForgottenOut:
    """Delete a page; ``change`` undoes it. Pages that link to it become stale."""
    forgotten = services.delete_page(build_caller(request), entry_id=entry_id)
    return entries.ForgottenOut(count=forgotten.count, change=forgotten.change_id)


@router.get("/knowledge/pages/{uuid:entry_id}/links", response=pages.LinksOut)
def list_links(request: HttpRequest, entry_id: UUID) -> pages.LinksOut:
    """List the page's links, the pages that link to it, and which of them are stale."""
    return pages.links_out(services.open_page(build_caller(request), entry_id=entry_id))


@router.get("/knowledge/pages/{uuid:entry_id}/revisions", response=list[pages.KnowledgePageOut])
@paginate(Pages)
def list_page_revisions(request: HttpRequest, entry_id: UUID) -> list[pages.KnowledgePageOut]:
    """List the revisions, newest first."""
    entry, revisions = services.list_page_revisions(build_caller(request), entry_id=entry_id)
    return [pages.page_out(revision, entry) for revision in revisions]


@router.post("/knowledge/pages/{uuid:entry_id}/confirm", response=pages.PageViewOut)
def confirm_page(request: HttpRequest, entry_id: UUID) -> pages.PageViewOut:
    """Confirm that the page is still right although a referenced page changed, so that it is no longer stale."""
    return pages.page_view_out(services.confirm_page(build_caller(request), entry_id=entry_id))


@router.get("/knowledge/export")
def export_pages(request: HttpRequest, params: Query[pages.PagesQuery]) -> HttpResponse:
    """Return a ZIP of Markdown files, one per page. An imported page is its original file, byte for byte."""
    archive = services.export_pages(build_caller(request), namespace=params.namespace)
    return HttpResponse(
        archive,
        content_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="knowledge.zip"'},
    )


@router.post("/knowledge/import", response={201: pages.ImportedOut})
def import_pages(request: HttpRequest, body: pages.PagesImportIn) -> pages.ImportedOut:
    """Import Markdown files as text, or a ZIP of them. An existing page is replaced by its file. A page that reads like
    instructions is held for review, and secrets are removed.
    """
    result = services.import_pages(
        build_caller(request),
        namespace=body.namespace,
        archive=body.archive,
        files={name: text.encode() for name, text in body.files.items()},
        reason=body.reason,
        dry_run=body.dry_run,
    )
    return pages.ImportedOut(
        pages=[item.id for item in result.pages],
        skipped=list(result.skipped),
        caught=[
            pages.PageFindingOut(
                file=item.file,
                page=item.page_id,
                secrets=list(item.secrets),
                held_for=list(item.held_for),
            )
            for item in result.findings
        ],
        dry_run=body.dry_run,
    )


@router.get("/memory/conversation", response=pages.FoldedHistoryOut, tags=["memory"])
def read_history(request: HttpRequest, params: Query[pages.PagesQuery]) -> pages.FoldedHistoryOut:
    """Return the messages that a conversation keeps for its models, the summary of the others, and the folded messages."""
    history = services.load_history(build_caller(request), namespace=params.namespace)
    return pages.history_out(history)

"""``/api/v1/knowledge``: pages over HTTP; and the history of a conversation with all that was folded of it."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Header, Query, Router, Status

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import caller_of, revision_named
from memory.schemas import entries
from memory.schemas import knowledge as pages


router = Router(auth=api_auth(), tags=["knowledge"])


@router.get("/knowledge/pages", response=pages.ShelfOut)
def list_pages(request: HttpRequest, asked: Query[pages.PagesQuery]) -> pages.ShelfOut:
    """All pages of a namespace, by title, with what refers to what and what is stale."""
    return pages.shelf_out(services.shelf(caller_of(request), namespace=asked.namespace))


@router.get("/knowledge/search", response=pages.FoundPagesOut)
def search_pages(request: HttpRequest, asked: Query[pages.SearchQuery]) -> pages.FoundPagesOut:
    """Best first, with the parts the score is made of; without a namespace on all shelves together."""
    caller, tags = caller_of(request), [asked.tag] if asked.tag else []
    if not asked.namespace:
        found = services.find_everywhere(
            caller, query=asked.query, tags=tags, top_k=asked.limit, min_score=asked.min_score
        )
        return pages.found_out(found.hits)
    hits = services.find_pages(
        caller,
        namespace=asked.namespace,
        query=asked.query,
        tags=tags,
        top_k=asked.limit,
        min_score=asked.min_score,
    )
    return pages.found_out(hits)


@router.post("/knowledge/pages", response={201: list[pages.KeptOut]})
def write_pages(request: HttpRequest, body: pages.WriteIn) -> Status[list[pages.KeptOut]]:
    """All or none; each into the page about the same, if there is one."""
    kept = services.write_pages(
        caller_of(request),
        namespace=body.namespace,
        pages=[one.dict() for one in body.pages],
        mode=body.mode,
        reason=body.reason,
    )
    return Status(201, [pages.kept_out(one) for one in kept])


@router.get("/knowledge/pages/{uuid:entry_id}", response=pages.OpenedOut)
def read_page(request: HttpRequest, response: HttpResponse, entry_id: UUID) -> pages.OpenedOut:
    """``ETag`` is the revision, for ``If-Match``."""
    found = pages.opened_out(services.open_page(caller_of(request), entry_id=entry_id))
    response["ETag"] = f'"{found.page.revision}"'
    return found


@router.patch("/knowledge/pages/{uuid:entry_id}", response=pages.OpenedOut)
def rewrite_page(
    request: HttpRequest,
    response: HttpResponse,
    entry_id: UUID,
    body: pages.RewriteIn,
    if_match: str = Header(..., alias="If-Match", max_length=40),  # type: ignore[type-arg]  # ninja's stub
) -> pages.OpenedOut:
    """409 when somebody was quicker."""
    done = services.rewrite_page(
        caller_of(request),
        entry_id=entry_id,
        if_revision=revision_named(if_match),
        changes=body.changes(),
        reason=body.reason,
    )
    response["ETag"] = f'"{done.page.revision}"'
    return pages.opened_out(done)


@router.delete("/knowledge/pages/{uuid:entry_id}", response=entries.ForgottenOut)
def delete_page(request: HttpRequest, entry_id: UUID) -> entries.ForgottenOut:
    """Soft: the answer's ``change`` undoes it. What refers to it is stale from now on."""
    done = services.delete_page(caller_of(request), entry_id=entry_id)
    return entries.ForgottenOut(count=done.count, change=done.change_id)


@router.get("/knowledge/pages/{uuid:entry_id}/links", response=pages.LinksOut)
def list_links(request: HttpRequest, entry_id: UUID) -> pages.LinksOut:
    """What a page refers to, what refers to it, and which of it is stale."""
    return pages.links_out(services.open_page(caller_of(request), entry_id=entry_id))


@router.get("/knowledge/pages/{uuid:entry_id}/revisions", response=list[pages.KnowledgePageOut])
def list_page_revisions(request: HttpRequest, entry_id: UUID) -> list[pages.KnowledgePageOut]:
    """Newest first."""
    entry, past = services.page_revisions(caller_of(request), entry_id=entry_id)
    return [pages.page_out(one, entry) for one in past]


@router.post("/knowledge/pages/{uuid:entry_id}/confirm", response=pages.OpenedOut)
def confirm_page(request: HttpRequest, entry_id: UUID) -> pages.OpenedOut:
    """Somebody looked and found it still right: it is stale no longer."""
    return pages.opened_out(services.confirm_page(caller_of(request), entry_id=entry_id))


@router.get("/knowledge/export")
def export_pages(request: HttpRequest, asked: Query[pages.PagesQuery]) -> HttpResponse:
    """A ZIP of Markdown files, one a page; a page that was imported is its file again, byte for byte."""
    packed = services.export_pages(caller_of(request), namespace=asked.namespace)
    return HttpResponse(
        packed,
        content_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="knowledge.zip"'},
    )


@router.post("/knowledge/import", response={201: pages.ImportedOut})
def import_pages(request: HttpRequest, body: pages.PagesImportIn) -> Status[pages.ImportedOut]:
    """Markdown files as text, or a ZIP of them. A page that is there becomes what its file says; one that reads
    like orders waits for a person instead, and no secret comes in."""
    done = services.import_pages(
        caller_of(request),
        namespace=body.namespace,
        archive=body.archive,
        files={name: text.encode() for name, text in body.files.items()},
        reason=body.reason,
        dry_run=body.dry_run,
    )
    found = pages.ImportedOut(
        pages=[one.id for one in done.pages],
        skipped=list(done.skipped),
        caught=[
            pages.CaughtPageOut(
                file=one.file,
                page=one.page_id,
                secrets=list(one.secrets),
                held_for=list(one.held_for),
            )
            for one in done.findings
        ],
        dry_run=body.dry_run,
    )
    return Status(201, found)


@router.get("/memory/conversation", response=pages.FoldedHistoryOut, tags=["memory"])
def read_history(request: HttpRequest, asked: Query[pages.PagesQuery]) -> pages.FoldedHistoryOut:
    """The messages a conversation keeps for its models, the summary of the rest, and what was folded."""
    return pages.history_out(services.look_back(caller_of(request), namespace=asked.namespace))

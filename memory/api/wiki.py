"""``/api/v1/knowledge``: the sources of pages, stale pages, the report of what is wrong, and the log."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Listing, OwnPages, Pages, Rows, list_uncounted
from memory import services
from memory.api.entries import build_caller
from memory.logic.knowledge.wiki_sources import WikiSource
from memory.logic.wiki.log import LogLine
from memory.schemas import knowledge as pages
from memory.schemas import wiki


router = Router(auth=api_auth(), tags=["knowledge"])


@router.get("/knowledge/sources", response=wiki.SourcesOut)
@paginate(OwnPages)
def list_sources(request: HttpRequest, params: Query[pages.PagesQuery]) -> Listing[WikiSource]:
    """List the sources of a namespace by id, and the pages that are stale because of one."""
    overview = services.get_overview(build_caller(request), namespace=params.namespace)
    stale = [wiki.stale_out(source) for source in overview.stale]

    def read(offset: int, limit: int) -> Rows[WikiSource]:
        rows = overview.sources[offset : offset + limit]
        return Rows(rows, len(overview.sources), extra={"stale": stale})

    return Listing(read, lambda rows: list(map(wiki.source_out, rows)))


@router.post("/knowledge/sources", response={201: wiki.IngestedOut})
def ingest_source(request: HttpRequest, body: wiki.IngestIn) -> wiki.IngestedOut:
    """Record a source and merge the pages written from it. The same text of the same source changes nothing."""
    result = services.ingest_source(
        build_caller(request),
        namespace=body.namespace,
        source=body.source.dict(),
        pages=[page.dict() for page in body.pages],
        mode=body.mode,
    )
    return wiki.ingested_out(result)


@router.get("/knowledge/lint", response={200: wiki.LintOut, 202: wiki.WikiJobOut})
def lint_pages(request: HttpRequest, params: Query[wiki.LintQuery]) -> Status[Any]:
    """Report lost pages, broken links, twins, contradictions, stale pages and missing sources.

    With ``model``, the response is 202 with the job that lets the model look for contradictions, if one is set.
    """
    caller = build_caller(request)
    job = services.order_lint(caller, namespace=params.namespace) if params.model else None
    if job is not None:
        return Status(202, wiki.wiki_job_out(job))
    return Status(200, wiki.lint_out(services.lint_wiki(caller, namespace=params.namespace)))


@router.get("/knowledge/jobs/{uuid:job_id}", response=wiki.WikiJobOut)
def get_wiki_job(request: HttpRequest, job_id: UUID) -> wiki.WikiJobOut:
    """Read a job: its status, what it compiled or found so far, and the problem if there is one."""
    return wiki.wiki_job_out(services.get_wiki_job(build_caller(request), job_id=job_id))


@router.post("/knowledge/jobs/{uuid:job_id}/retry", response={202: wiki.WikiJobOut})
def retry_wiki_job(request: HttpRequest, job_id: UUID) -> Status[wiki.WikiJobOut]:
    """Retry a job that failed, or in which the model did not answer, as a new job; 409 if neither happened."""
    job = services.retry_wiki_job(build_caller(request), job_id=job_id)
    return Status(202, wiki.wiki_job_out(job))


@router.get("/knowledge/log", response=list[wiki.LogLineOut])
@paginate(Pages)
def read_log(request: HttpRequest, params: Query[pages.PagesQuery]) -> Listing[LogLine]:
    """Read which source was recorded and which page was changed, when and by which run; newest first."""
    caller = build_caller(request)

    def read(offset: int, limit: int) -> list[LogLine]:
        return services.read_log(caller, namespace=params.namespace, limit=limit, offset=offset)

    return list_uncounted(read, lambda rows: list(map(wiki.log_line_out, rows)))


@router.post("/knowledge/compile", response={200: list[wiki.CompiledOut], 202: wiki.WikiJobOut})
def compile_stale_pages(request: HttpRequest, body: wiki.CompileStaleIn) -> Status[Any]:
    """Compile the stale pages of a namespace anew, at most twenty at once.

    The rules answer 200. With a model, the response is 202 with the job to poll under ``/knowledge/jobs``.
    """
    caller, namespace = build_caller(request), body.namespace
    is_by_model = body.by == "model"
    job = services.order_compilation(caller, namespace=namespace) if is_by_model else None
    if job is not None:
        return Status(202, wiki.wiki_job_out(job))
    results = services.compile_stale_pages(caller, namespace=namespace, use_model=False)
    return Status(200, list(map(wiki.compiled_out, results)))


@router.post(
    "/knowledge/pages/{uuid:entry_id}/compile",
    response={200: wiki.CompiledOut, 202: wiki.WikiJobOut},
)
def compile_page(request: HttpRequest, entry_id: UUID, body: wiki.CompileIn) -> Status[Any]:
    """Compile the page anew from its present sources. Its earlier version stays as a revision.

    The rules answer 200. With a model, the response is 202 with the job to poll under ``/knowledge/jobs``.
    """
    caller, is_by_model = build_caller(request), body.by == "model"
    job = services.order_page_compilation(caller, entry_id=entry_id) if is_by_model else None
    if job is not None:
        return Status(202, wiki.wiki_job_out(job))
    compilation = services.compile_page(caller, entry_id=entry_id, use_model=False)
    return Status(200, wiki.compiled_out(compilation))


@router.post("/knowledge/pages/{uuid:entry_id}/link", response=pages.LinksOut)
def link_pages(request: HttpRequest, entry_id: UUID, body: wiki.LinkIn) -> pages.LinksOut:
    """Let the page and another one refer to each other."""
    caller = build_caller(request)
    services.link_pages(caller, entry_id=entry_id, other=body.other)
    return pages.links_out(services.open_page(caller, entry_id=entry_id))


@router.post("/knowledge/pages/{uuid:entry_id}/merge", response=pages.PageViewOut)
def merge_twins(request: HttpRequest, entry_id: UUID, body: wiki.LinkIn) -> pages.PageViewOut:
    """Merge another page into this one and forget the other; links to it lead here."""
    caller = build_caller(request)
    services.merge_twins(caller, entry_id=entry_id, other=body.other)
    return pages.page_view_out(services.open_page(caller, entry_id=entry_id))

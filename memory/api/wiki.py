"""``/api/v1/knowledge``: the sources of pages, stale pages, the report of what is wrong, and the log."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router

from accounts.http.auth import api_auth
from memory import services
from memory.api.entries import build_caller
from memory.schemas import knowledge as pages
from memory.schemas import wiki


router = Router(auth=api_auth(), tags=["knowledge"])


@router.get("/knowledge/sources", response=wiki.SourcesOut)
def list_sources(request: HttpRequest, params: Query[pages.PagesQuery]) -> wiki.SourcesOut:
    """List the sources of a namespace by id, and the pages that are stale because of one."""
    caller = build_caller(request)
    return wiki.sources_out(services.get_overview(caller, namespace=params.namespace))


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


@router.get("/knowledge/lint", response=wiki.LintOut)
def lint_pages(request: HttpRequest, params: Query[wiki.LintQuery]) -> wiki.LintOut:
    """Report lost pages, broken links, twins, contradictions, stale pages and missing sources."""
    caller = build_caller(request)
    report = services.lint_wiki(caller, namespace=params.namespace, use_model=params.model)
    return wiki.lint_out(report)


@router.get("/knowledge/log", response=wiki.LogOut)
def read_log(request: HttpRequest, params: Query[wiki.LogQuery]) -> wiki.LogOut:
    """Read which source was recorded and which page was changed, when and by which run; newest first."""
    caller = build_caller(request)
    lines = services.read_log(caller, namespace=params.namespace, limit=params.limit)
    return wiki.LogOut(log=list(map(wiki.log_line_out, lines)))


@router.post("/knowledge/compile", response=list[wiki.CompiledOut])
def compile_stale_pages(request: HttpRequest, body: wiki.CompileStaleIn) -> list[wiki.CompiledOut]:
    """Compile the stale pages of a namespace anew, at most twenty at once."""
    compilations = services.compile_stale_pages(
        build_caller(request), namespace=body.namespace, use_model=body.by == "model"
    )
    return list(map(wiki.compiled_out, compilations))


@router.post("/knowledge/pages/{uuid:entry_id}/compile", response=wiki.CompiledOut)
def compile_page(request: HttpRequest, entry_id: UUID, body: wiki.CompileIn) -> wiki.CompiledOut:
    """Compile the page anew from its present sources. Its earlier version stays as a revision."""
    compilation = services.compile_page(
        build_caller(request), entry_id=entry_id, use_model=body.by == "model"
    )
    return wiki.compiled_out(compilation)


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

"""The views of knowledge: the list of knowledge bases, one knowledge base, one page, its history, and downloads."""

from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.principals import get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import OffsetPage
from memory import services
from memory.downloads import build_download
from memory.services.documents.reading import count_documents
from memory.services.entries.linked_entries import list_revisions_before
from memory.services.knowledge.knowledge_bases import (
    list_knowledge_bases,
    may_write_team_pages,
)
from memory.services.transfer.page_archive import export_single_page
from memory.views.entries.revisions import REVISIONS_PER_PAGE, find_older_number, parse_revision
from memory.views.knowledge import presentation
from memory.views.knowledge.documents import build_documents_context, find_original_urls
from memory.views.knowledge.forms import PageSearchForm
from memory.views.knowledge.locations import list_namespace_choices
from memory.views.knowledge.wiki_jobs import find_notices
from memory.views.knowledge.wiki_rows import build_source_rows
from memory.views.markdown import render_markdown
from memory.views.request_context import (
    build_caller,
    find_entry,
    find_namespace,
    find_undoable_change,
    get_title,
    is_allowed,
    load_titles,
    name_namespaces,
    render_page_or_fragment,
)


MAX_RESULTS: Final = 50  # of a search in all knowledge bases


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the knowledge bases, or the pages of all of them that match a query, best first."""
    form = PageSearchForm(request.GET)
    text = form.get_search()["text"]
    context = {
        "text": text,
        "may_create": may_write_team_pages(build_caller(request)),
        "ignored": list_form_errors(request.GET, form),
        **(_build_search_context(request, text) if text else _build_list_context(request)),
    }
    return render(request, "memory/knowledge/list.html", context)


@login_required
@require_safe
def knowledge_base(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """List the pages by title, or those that match a query, best first."""
    row = find_namespace(request, namespace_id)
    caller, form = build_caller(request), PageSearchForm(request.GET)
    search = form.get_search()
    base = services.get_knowledge_base(caller, namespace=row.text)
    if search["text"]:
        tags = [search["tag"]] if search["tag"] else []
        hits = services.find_pages(caller, namespace=row.text, query=search["text"], tags=tags)
        offset_page = OffsetPage(len(hits), form.start, request.GET)
        rows = presentation.build_result_rows(base, row, offset_page.select_rows(hits))
    else:
        pages = presentation.list_pages(base, tag=search["tag"], outdated_only=search["outdated"])
        offset_page = OffsetPage(len(pages), form.start, request.GET)
        rows = presentation.build_rows(base, row, offset_page.select_rows(pages))
    is_fragment = getattr(request, "htmx", False)
    context = {
        **({} if is_fragment else build_documents_context(request, row)),
        "namespace": row,
        "title": get_title(request, row),
        "search": search,
        "ignored": list_form_errors(request.GET, form, address=request.path),
        "filtered": bool(search["text"] or search["tag"] or search["outdated"]),
        "rows": rows,
        "page": offset_page,
        "total": len(base.pages),
        "outdated_count": len(presentation.find_outdated_ids(base)),
        "tags": presentation.list_tags(base),
        "is_stale": bool(base.stale),
        "may_write": is_allowed(request, "write", row),
        "undoable": find_undoable_change(request),
    }
    page, fragment = "memory/knowledge/knowledge_base.html", "memory/knowledge/_page_rows.html"
    return render_page_or_fragment(request, page, fragment, context)


@login_required
@require_safe
def page(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = find_entry(request, entry_id)
    view = services.open_page(build_caller(request), entry_id=entry_id)
    find_url = presentation.create_finder(view.knowledge_base)
    notices = find_notices(request, entry.namespace_id, entry.pk)
    context = {
        "namespace": entry.namespace,
        "namespace_title": get_title(request, entry.namespace),
        "entry": entry,
        "page": view.page,
        "content": render_markdown(view.page.content, find_url),
        "links": presentation.build_links(view, view.links),
        "backlinks": presentation.build_links(view, view.backlinks),
        "outdated": presentation.build_outdated_rows(view),
        "sources": build_source_rows(view, find_original_urls(request, entry.namespace_id, view)),
        "neighbors": presentation.find_neighbors(view),
        "notices": notices,
        "is_compiling": any(not notice.job.is_over for notice in notices),
        "is_stale": any(stale.page_id == view.page.id for stale in view.knowledge_base.stale),
        "may_write": is_allowed(request, "write", entry.namespace),
        "may_forget": is_allowed(request, "forget", entry.namespace),
    }
    return render(request, "memory/knowledge/page.html", context)


@login_required
@require_safe
def history(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = find_entry(request, entry_id)
    before = parse_revision(request.GET.get("before", ""))
    revisions = list_revisions_before(entry, before, REVISIONS_PER_PAGE)
    context = {
        "namespace": entry.namespace,
        "namespace_title": get_title(request, entry.namespace),
        "entry": entry,
        "revisions": presentation.build_history(get_principal(request), revisions),
        "older": find_older_number(revisions),
        "may_write": is_allowed(request, "write", entry.namespace),
    }
    return render(request, "memory/knowledge/history.html", context)


@login_required
@require_safe
def export(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = find_namespace(request, namespace_id)
    data = services.export_pages(build_caller(request), namespace=row.text)
    return build_download(data, "application/zip", "knowledge.zip")


@login_required
@require_safe
def page_file(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    name, data = export_single_page(build_caller(request), entry_id=entry_id)
    return build_download(data, "text/markdown; charset=utf-8", name)


def _build_list_context(request: HttpRequest) -> dict[str, Any]:
    knowledge_bases = list_knowledge_bases(build_caller(request))
    rows = [summary.row for summary in knowledge_bases]
    names = name_namespaces(request, rows)
    counts = count_documents(build_caller(request), [row.pk for row in rows])
    documents = [counts.get(row.pk, 0) for row in rows]
    return {
        "knowledge_bases": list(zip(knowledge_bases, names, documents, strict=True)),
        "choices": list_namespace_choices(request),
    }


def _build_search_context(request: HttpRequest, text: str) -> dict[str, Any]:
    results = services.search_all_pages(build_caller(request), query=text, top_k=MAX_RESULTS)
    titles = load_titles(request, results.namespaces.values())
    rows = presentation.build_global_result_rows(results, titles)
    return {"rows": rows, "is_all": results.is_all}

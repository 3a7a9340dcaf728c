"""Knowledge pages: where there are some, what is on a shelf, one of them, and what it said before."""

from functools import partial
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.ignored_filters import list_form_errors
from accounts.views.pagination import OffsetPage
from memory import naming, selectors, services
from memory.services.entries.linked_entries import list_revisions_before
from memory.services.knowledge.knowledge_bases import shelves
from memory.services.transfer.page_archive import export_single_page
from memory.views.entries.revisions import REVISIONS_A_PAGE, number_asked, older_than
from memory.views.knowledge import presentation as shown
from memory.views.knowledge.forms import SeekForm
from memory.views.knowledge.locations import place_choices
from memory.views.markdown import rendered
from memory.views.request_context import caller_of, entry_or_404, may, title_of, undoable_change


MOST_FOUND: Final = 50  # of a question to all shelves


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The shelves; or, when something is looked for, what is found on all of them, best first."""
    form = SeekForm(request.GET)
    text = form.chosen()["text"]
    context = {
        "text": text,
        "ignored": list_form_errors(request.GET, form),
        **(_found_everywhere(request, text) if text else _shelves(request)),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "memory/knowledge/list.html", context)


def _shelves(request: HttpRequest) -> dict[str, Any]:
    found = shelves(caller_of(request))
    titles = naming.name_namespaces(
        [one.row for one in found], reader_id=get_principal(request).user_id
    )
    return {
        "shelves": list(zip(found, titles, strict=True)),
        "place_choices": place_choices(request),
    }


def _found_everywhere(request: HttpRequest, text: str) -> dict[str, Any]:
    found = services.find_everywhere(caller_of(request), query=text, top_k=MOST_FOUND)
    places = naming.name_namespaces(
        list(found.places.values()), reader_id=get_principal(request).user_id
    )
    rows = shown.rows_everywhere(found, {one.row.text: one.title for one in places})
    return {"rows": rows, "is_all": found.is_all}


@login_required
@require_safe
def shelf(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """A whole index by title, or what was searched for, best first."""
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    caller, form = caller_of(request), SeekForm(request.GET)
    chosen = form.chosen()
    there = services.shelf(caller, namespace=row.text)
    page = partial(OffsetPage, offset=chosen["offset"], query=request.GET)
    if chosen["text"]:
        tags = [chosen["tag"]] if chosen["tag"] else []
        hits = services.find_pages(caller, namespace=row.text, query=chosen["text"], tags=tags)
        listed = page(len(hits))
        rows = shown.rows_found(there, row, listed.select_rows(hits))
    else:
        pages = shown.pages_of(there, tag=chosen["tag"], stale_only=chosen["stale"])
        listed = page(len(pages))
        rows = shown.rows_of(there, row, listed.select_rows(pages))
    context = {
        "namespace": row,
        "title": title_of(request, row),
        "chosen": chosen,
        "ignored": list_form_errors(request.GET, form, address=request.path),
        "filtered": bool(chosen["text"] or chosen["tag"] or chosen["stale"]),
        "rows": rows,
        "page": listed,
        "total": len(there.pages),
        "stale_count": len({mark.page_id for mark in there.index.stale}),
        "tags": shown.tags_of(there),
        "may_write": may(request, "write", row),
        "undoable": undoable_change(request, request.GET.get("undo", "")),
        "base_url": request.build_absolute_uri("/").rstrip("/"),
    }
    fragment = getattr(request, "htmx", False)
    template = (
        "memory/knowledge/_page_rows.html" if fragment else "memory/knowledge/knowledge_base.html"
    )
    return render(request, template, context)


@login_required
@require_safe
def page(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = entry_or_404(request, entry_id)
    opened = services.open_page(caller_of(request), entry_id=entry_id)
    context = {
        "namespace": entry.namespace,
        "namespace_title": title_of(request, entry.namespace),
        "entry": entry,
        "page": opened.page,
        "content": rendered(opened.page.content, shown.finder(opened.shelf)),
        "links": shown.links_named(opened, opened.links),
        "backlinks": shown.links_named(opened, opened.backlinks),
        "stale": shown.stale_rows(opened),
        "may_write": may(request, "write", entry.namespace),
        "may_forget": may(request, "forget", entry.namespace),
    }
    return render(request, "memory/knowledge/page.html", context)


@login_required
@require_safe
def history(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = entry_or_404(request, entry_id)
    asked = number_asked(request.GET.get("before", ""))
    revisions = list_revisions_before(entry, asked, REVISIONS_A_PAGE)
    context = {
        "namespace": entry.namespace,
        "namespace_title": title_of(request, entry.namespace),
        "entry": entry,
        "revisions": shown.past(get_principal(request), revisions),
        "older": older_than(revisions),
        "may_write": may(request, "write", entry.namespace),
    }
    return render(request, "memory/knowledge/history.html", context)


@login_required
@require_safe
def export(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    packed = services.export_pages(caller_of(request), namespace=row.text)
    return _file(packed, "application/zip", "knowledge.zip")


@login_required
@require_safe
def file(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    name, data = export_single_page(caller_of(request), entry_id=entry_id)
    return _file(data, "text/markdown; charset=utf-8", name)


def _file(data: bytes, kind: str, name: str) -> HttpResponse:
    answer = HttpResponse(data, content_type=kind)
    # Django writes the name so that every browser reads it, whatever its script.
    answer.headers["Content-Disposition"] = (
        content_disposition_header(as_attachment=True, filename=name) or "attachment"
    )
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer

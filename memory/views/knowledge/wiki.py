"""The views of a wiki: its report, sources and log, and the actions that mend what the report finds."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.principals import get_principal
from memory import services
from memory.core.errors import AlreadyExists, InvalidInput, NotFound, QuotaExceeded
from memory.models.wiki_jobs import WikiTask
from memory.services import Compilation
from memory.views.knowledge import wiki_rows
from memory.views.knowledge.forms import SourceForm
from memory.views.knowledge.wiki_jobs import JobNotice, find_model_findings, find_notices
from memory.views.request_context import (
    build_caller,
    find_entry,
    find_namespace,
    get_title,
    is_allowed,
)


MAX_LOG_LINES = 100


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def wiki(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Show the report, the sources and the log. A POST lets a worker ask the model for contradictions, too."""
    row = find_namespace(request, namespace_id)
    caller = build_caller(request)
    is_asked = request.method == "POST"
    if is_asked and services.order_lint(caller, namespace=row.text):
        return redirect("memory:knowledge_wiki", namespace_id=row.pk)
    report = services.lint_wiki(caller, namespace=row.text)
    model_findings = find_model_findings(request, row.pk, report.overview.knowledge_base)
    report = replace(report, findings=[*report.findings, *model_findings])
    notices = find_notices(request, row.pk)
    lines = services.read_log(caller, namespace=row.text, limit=MAX_LOG_LINES)
    context = {
        "namespace": row,
        "title": get_title(request, row),
        "findings": wiki_rows.build_finding_rows(report),
        "report": report,
        "is_without_model": is_asked,
        "notices": notices,
        "is_compiling": _is_running(notices, WikiTask.COMPILE),
        "is_checking": _is_running(notices, WikiTask.LINT),
        "sources": wiki_rows.build_wiki_sources(report.overview),
        "log": wiki_rows.build_log_rows(get_principal(request), lines),
        "form": SourceForm(),
        "may_write": is_allowed(request, "write", row),
        "may_forget": is_allowed(request, "forget", row),
    }
    return render(request, "memory/knowledge/wiki.html", context)


@login_required
@require_POST
def add_source(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Record a pasted text, and write a page of its title from it if the form says so."""
    row, form = find_namespace(request, namespace_id), SourceForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Enter a text."))
        return redirect("memory:knowledge_wiki", namespace_id=row.pk)
    try:
        result = services.ingest_source(
            build_caller(request),
            namespace=row.text,
            source=form.build_source(),
            pages=form.build_pages(),
        )
    except (InvalidInput, QuotaExceeded) as fault:
        messages.error(request, str(fault))
        return redirect("memory:knowledge_wiki", namespace_id=row.pk)
    if result.held:
        messages.warning(request, _("The source waits for a review before it is used."))
    elif not result.is_new:
        messages.info(request, _("This source was added before."))
    else:
        messages.success(request, _("Source added."))
    return redirect("memory:knowledge_wiki", namespace_id=row.pk)


@login_required
@require_POST
def compile_stale(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Let a worker compile the stale pages with the model, or compile them by rules without one."""
    row, caller = find_namespace(request, namespace_id), build_caller(request)
    if services.order_compilation(caller, namespace=row.text):
        return redirect("memory:knowledge_wiki", namespace_id=row.pk)
    try:
        results = services.compile_stale_pages(caller, namespace=row.text, use_model=False)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    else:
        count = len(results)
        text = ngettext("%(count)s page compiled anew.", "%(count)s pages compiled anew.", count)
        messages.success(request, text % {"count": count})
        _report_held(request, results)
    return redirect("memory:knowledge_wiki", namespace_id=row.pk)


@login_required
@require_POST
def compile_page(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Let a worker compile the page with the model, or compile it by rules without one."""
    find_entry(request, entry_id)
    caller = build_caller(request)
    try:
        if services.order_page_compilation(caller, entry_id=entry_id):
            return redirect("memory:knowledge_page", entry_id=entry_id)
        result = services.compile_page(caller, entry_id=entry_id, use_model=False)
    except (InvalidInput, AlreadyExists) as fault:
        messages.error(request, str(fault))
    else:
        by = _("by rules")
        messages.success(request, _("Compiled anew %(by)s. Undo it under History.") % {"by": by})
        _report_held(request, [result])
    return redirect("memory:knowledge_page", entry_id=entry_id)


@login_required
@require_POST
def link(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    other = request.POST.get("other", "")
    try:
        services.link_pages(build_caller(request), entry_id=entry_id, other=other)
        messages.success(request, _("The pages refer to each other."))
    except (InvalidInput, NotFound) as fault:
        messages.error(request, str(fault))
    return redirect("memory:knowledge_wiki", namespace_id=row.namespace_id)


@login_required
@require_POST
def merge(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    other = request.POST.get("other", "")
    try:
        services.merge_twins(build_caller(request), entry_id=entry_id, other=other)
        messages.success(request, _("Merged. Links to the other page lead here."))
    except (InvalidInput, NotFound) as fault:
        messages.error(request, str(fault))
    return redirect("memory:knowledge_wiki", namespace_id=row.namespace_id)


def _is_running(notices: Sequence[JobNotice], task: WikiTask) -> bool:
    return any(notice.job.task == task and not notice.job.is_over for notice in notices)


def _report_held(request: HttpRequest, results: Sequence[Compilation]) -> None:
    if any(result.held_for for result in results):
        messages.warning(request, _("A page waits for a review before it is used."))

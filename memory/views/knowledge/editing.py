"""Editing knowledge pages: writing, changing, confirming, forgetting and restoring them."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from memory import services
from memory.core.errors import AlreadyExists, InvalidInput, QuotaExceeded
from memory.logic.knowledge.page_merge import MatchReason
from memory.logic.knowledge.pages import KnowledgePage
from memory.logic.text_diff import diff_values
from memory.models import Entry
from memory.services import KnowledgeBase, PageView
from memory.views.entries.changes import restore_entry
from memory.views.knowledge import presentation
from memory.views.knowledge.forms import FIELDS, PageForm
from memory.views.knowledge.locations import get_requested_namespace, list_namespace_choices
from memory.views.markdown import render_markdown
from memory.views.request_context import build_caller, find_entry, get_title, read_reason
from memory.views.secret_warnings import warn_about_secrets


MERGE_MESSAGES: Final[dict[str, Promise]] = {
    str(MatchReason.TITLE): gettext_lazy(
        "A page with this title exists. Your text was merged into it."
    ),
    str(MatchReason.ALIAS): gettext_lazy(
        "A page with this alias exists. Your text was merged into it."
    ),
    str(MatchReason.CONTENT): gettext_lazy(
        "A nearly identical page exists. Your text was merged into it."
    ),
}


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Write a page, or merge it into an existing page about the same subject and show a message."""
    if request.method != "POST":
        return _show_new(request, PageForm(initial={"title": request.GET.get("title", "")[:500]}))
    form = PageForm(request.POST)
    namespace = request.POST.get("namespace", "")
    if not form.is_valid() or not namespace:
        return _show_new(request, form, status=422)
    knowledge_base = services.get_knowledge_base(build_caller(request), namespace=namespace)
    if "preview" in request.POST:
        return _show_new(request, form, preview=_render_preview(request, form, knowledge_base))
    try:
        (written_page,) = services.write_pages(
            build_caller(request),
            namespace=namespace,
            pages=[form.build_draft(knowledge_base.pages)],
            reason=read_reason(request),
        )
    except (InvalidInput, QuotaExceeded) as fault:
        form.add_error(None, str(fault))
        return _show_new(request, form, status=422)
    messages.success(request, str(MERGE_MESSAGES.get(written_page.merged_for, "")) or _("Saved."))
    warn_about_secrets(request, form.cleaned_data)
    return redirect("memory:knowledge_page", entry_id=written_page.entry.id)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = find_entry(request, entry_id)
    view = services.open_page(build_caller(request), entry_id=entry_id)
    if request.method != "POST":
        form = PageForm.from_page(view.page, _list_other_pages(view))
        return _show_edit(request, entry, view, form)
    form = PageForm(request.POST)
    if not form.is_valid():
        return _show_edit(request, entry, view, form, status=422)
    if "preview" in request.POST:
        preview = _render_preview(request, form, view.knowledge_base)
        return _show_edit(request, entry, view, form, preview=preview)
    return _save_page(request, entry, view, form)


@login_required
@require_POST
def confirm(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    find_entry(request, entry_id)
    services.confirm_page(build_caller(request), entry_id=entry_id)
    messages.success(request, _("Marked as still correct."))
    return redirect("memory:knowledge_page", entry_id=entry_id)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    reason = read_reason(request)
    result = services.delete_page(build_caller(request), entry_id=entry_id, reason=reason)
    address = reverse("memory:knowledge_base", args=[row.namespace_id])
    return HttpResponseRedirect(f"{address}?undo={result.change_id}")


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    url_name = "memory:knowledge_page" if restore_entry(request, entry_id) else "memory:entry"
    return redirect(url_name, entry_id=entry_id)


def _save_page(request: HttpRequest, entry: Entry, view: PageView, form: PageForm) -> HttpResponse:
    changes = form.build_changes(view.page, _list_other_pages(view))
    try:
        services.rewrite_page(
            build_caller(request),
            entry_id=entry.pk,
            if_revision=form.cleaned_data["revision"] or 0,
            changes=changes,
            reason=form.cleaned_data["reason"],
        )
    except AlreadyExists as fault:
        return _show_conflict(request, entry, form, fault)
    except (InvalidInput, QuotaExceeded) as fault:
        form.add_error(None, str(fault))
        return _show_edit(request, entry, view, form, status=422)
    messages.success(request, _("Saved."))
    warn_about_secrets(request, changes)
    return redirect("memory:knowledge_page", entry_id=entry.pk)


def _show_conflict(
    request: HttpRequest, entry: Entry, form: PageForm, fault: AlreadyExists
) -> HttpResponse:
    """Show how the submitted page differs from the newest one. Saving again overwrites the newest page."""
    newest = services.open_page(build_caller(request), entry_id=entry.pk)
    newest_values = PageForm.from_page(newest.page, _list_other_pages(newest)).initial
    conflict = [
        (form.fields[name].label, diff_values(newest_values[name], value))
        for name in FIELDS
        if (value := str(form.cleaned_data[name]).replace("\r\n", "\n")) != newest_values[name]
    ]
    form.add_error(None, str(fault))
    form.data = {**request.POST.dict(), "revision": str(newest.page.revision)}
    return _show_edit(request, entry, newest, form, status=409, conflict=conflict)


def _show_edit(
    request: HttpRequest,
    entry: Entry,
    view: PageView,
    form: PageForm,
    status: int = 200,
    **extra_context: Any,
) -> HttpResponse:
    context = {
        "form": form,
        "namespace": entry.namespace,
        "namespace_title": get_title(request, entry.namespace),
        "entry": entry,
        "page": view.page,
        **extra_context,
    }
    return render(request, "memory/knowledge/edit.html", context, status=status)


def _show_new(
    request: HttpRequest, form: PageForm, status: int = 200, **extra_context: Any
) -> HttpResponse:
    selected = request.POST.get("namespace", "") or get_requested_namespace(request)
    context = {"form": form, "choices": list_namespace_choices(request), "selected": selected}
    context |= extra_context
    return render(request, "memory/knowledge/edit.html", context, status=status)


def _list_other_pages(view: PageView) -> Sequence[KnowledgePage]:
    return [page for page in view.knowledge_base.pages if page.id != view.page.id]


def _render_preview(request: HttpRequest, form: PageForm, knowledge_base: KnowledgeBase) -> str:
    return render_markdown(form.cleaned_data["content"], presentation.create_finder(knowledge_base))

"""Knowledge pages by hand: written, changed, found still right, forgotten, brought back."""

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
from memory.services import PageView, Shelf
from memory.views.entries.revisions import number_asked
from memory.views.knowledge import presentation as shown
from memory.views.knowledge.forms import PageForm
from memory.views.knowledge.locations import place_asked_for, place_choices
from memory.views.markdown import rendered
from memory.views.request_context import caller_of, entry_or_404, reason_of, title_of
from memory.views.secret_warnings import tell_of_secrets


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Into the page that is about the same, if there is one: it says so then."""
    if request.method != "POST":
        return _show_new(request, PageForm(initial={"title": request.GET.get("title", "")[:500]}))
    form = PageForm(request.POST)
    place = request.POST.get("namespace", "")
    if not form.is_valid() or not place:
        return _show_new(request, form, status=422)
    there = services.shelf(caller_of(request), namespace=place)
    if "preview" in request.POST:
        return _show_new(request, form, preview=_preview(request, form, there))
    try:
        (kept,) = services.write_pages(
            caller_of(request),
            namespace=place,
            pages=[form.draft(there.pages)],
            reason=reason_of(request),
        )
    except (InvalidInput, QuotaExceeded) as fault:
        form.add_error(None, str(fault))
        return _show_new(request, form, status=422)
    messages.success(request, str(MERGED_FOR.get(kept.merged_for, "")) or _("Saved."))
    tell_of_secrets(request, form.cleaned_data)
    return redirect("memory:knowledge_page", entry_id=kept.entry.id)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry = entry_or_404(request, entry_id)
    opened = services.open_page(caller_of(request), entry_id=entry_id)
    if request.method != "POST":
        return _show_edit(request, entry, opened, PageForm.of(opened.page, _beside(opened)))
    form = PageForm(request.POST)
    if not form.is_valid():
        return _show_edit(request, entry, opened, form, status=422)
    if "preview" in request.POST:
        preview = _preview(request, form, opened.shelf)
        return _show_edit(request, entry, opened, form, preview=preview)
    return _save(request, entry, opened, form)


@login_required
@require_POST
def confirm(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry_or_404(request, entry_id)
    services.confirm_page(caller_of(request), entry_id=entry_id)
    messages.success(request, _("Marked as still correct."))
    return redirect("memory:knowledge_page", entry_id=entry_id)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    done = services.delete_page(caller_of(request), entry_id=entry_id, reason=reason_of(request))
    address = reverse("memory:knowledge_shelf", args=[row.namespace_id])
    return HttpResponseRedirect(f"{address}?undo={done.change_id}")


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry_or_404(request, entry_id)
    try:
        services.restore(
            caller_of(request),
            entry_id=entry_id,
            revision=number_asked(request.POST.get("revision", "")),
            reason=reason_of(request),
        )
        messages.success(request, _("Restored."))
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect("memory:entry", entry_id=entry_id)
    return redirect("memory:knowledge_page", entry_id=entry_id)


MERGED_FOR: Final[dict[str, Promise]] = {
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


def _save(request: HttpRequest, entry: Entry, opened: PageView, form: PageForm) -> HttpResponse:
    try:
        services.rewrite_page(
            caller_of(request),
            entry_id=entry.pk,
            if_revision=form.cleaned_data["revision"] or 0,
            changes=form.changes(opened.page, _beside(opened)),
            reason=form.cleaned_data["reason"],
        )
    except AlreadyExists as fault:
        return _show_clash(request, entry, form, fault)
    except (InvalidInput, QuotaExceeded) as fault:
        form.add_error(None, str(fault))
        return _show_edit(request, entry, opened, form, status=422)
    messages.success(request, _("Saved."))
    tell_of_secrets(request, form.changes(opened.page, _beside(opened)))
    return redirect("memory:knowledge_page", entry_id=entry.pk)


def _show_clash(
    request: HttpRequest, entry: Entry, form: PageForm, fault: AlreadyExists
) -> HttpResponse:
    """Somebody was quicker: what differs between theirs and what was typed. Saving again is a choice."""
    newest = services.open_page(caller_of(request), entry_id=entry.pk)
    theirs = PageForm.of(newest.page, _beside(newest)).initial
    clash = [
        (form.fields[name].label, diff_values(theirs[name], typed))
        for name in COMPARED
        if (typed := str(form.cleaned_data[name]).replace("\r\n", "\n")) != theirs[name]
    ]
    form.add_error(None, str(fault))
    form.data = {**request.POST.dict(), "revision": str(newest.page.revision)}
    return _show_edit(request, entry, newest, form, status=409, clash=clash)


COMPARED = ("title", "summary", "content", "tags", "references", "aliases")


def _show_edit(
    request: HttpRequest,
    entry: Entry,
    opened: PageView,
    form: PageForm,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "form": form,
        "namespace": entry.namespace,
        "namespace_title": title_of(request, entry.namespace),
        "entry": entry,
        "page": opened.page,
        "beside": _beside(opened),
        **more,
    }
    return render(request, "memory/knowledge/edit.html", context, status=status)


def _show_new(request: HttpRequest, form: PageForm, status: int = 200, **more: Any) -> HttpResponse:
    chosen = request.POST.get("namespace", "") or place_asked_for(request)
    context = {"form": form, "places": place_choices(request), "chosen": chosen, **more}
    return render(request, "memory/knowledge/edit.html", context, status=status)


def _beside(opened: PageView) -> Sequence[KnowledgePage]:
    return [one for one in opened.shelf.pages if one.id != opened.page.id]


def _preview(request: HttpRequest, form: PageForm, there: Shelf) -> str:
    return rendered(form.cleaned_data["content"], shown.finder(there))

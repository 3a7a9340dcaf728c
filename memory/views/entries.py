"""One memory: what it is, where it came from, whom it reached; edited, forgotten, restored."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import principal_of
from memory import selectors, services
from memory.core.errors import AlreadyExists
from memory.forms import EditForm
from memory.models import Entry
from memory.views.asking import caller_of, entry_or_404, may, reason_of, title_of
from memory.views.changes import after_forgetting


@login_required
@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    return _show_entry(request, row, EditForm.of(row))


@login_required
@require_POST
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    form = EditForm(request.POST)
    if not form.is_valid():
        return _show_entry(request, row, form, status=422)
    try:
        services.edit(caller_of(request), entry_id=entry_id, **form.changes())
    except (
        AlreadyExists
    ) as fault:  # somebody was quicker: their version and what was typed, side by side
        newest = entry_or_404(request, entry_id)
        form.add_error(None, str(fault))
        form.data = {**request.POST.dict(), "revision": str(newest.revision)}  # now a choice
        return _show_entry(request, newest, form, status=409)
    messages.success(request, _("Saved."))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    done = services.forget(caller_of(request), entry_id=entry_id, reason=reason_of(request))
    return after_forgetting(request, row.namespace, done.change_id)


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry_or_404(request, entry_id)
    number = request.POST.get("revision", "")
    try:
        services.restore(
            caller_of(request),
            entry_id=entry_id,
            revision=int(number) if number.isdecimal() and len(number) < 10 else None,
            reason=reason_of(request),
        )
        messages.success(request, _("Restored."))
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    return redirect("memory:entry", entry_id=entry_id)


def _show_entry(
    request: HttpRequest, row: Entry, form: EditForm, status: int = 200
) -> HttpResponse:
    context = {
        "entry": row,
        "own_actor": principal_of(request).actor,
        "namespace_title": title_of(request, row.namespace),
        "form": form,
        "revisions": selectors.revisions_of(row),
        "reads": selectors.reads_of(row),
        "may_write": may(request, "write", row.namespace),
        "may_forget": may(request, "forget", row.namespace),
    }
    return render(request, "memory/entry.html", context, status=status)

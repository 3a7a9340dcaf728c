"""The page of an entry: its value, origin and recalls, and editing, forgetting and restoring it."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import get_principal
from memory import services
from memory.core.errors import AlreadyExists, NotFound
from memory.core.records import Tier
from memory.forms.entries import EntryForm
from memory.logic.conversations.conversation import KEY_PREFIX
from memory.logic.text_diff import DiffSegment, diff_values
from memory.models import Entry
from memory.templatetags.memory_values import TIER_HINTS
from memory.views.entries.browsing import ActionOutcome, show_namespace
from memory.views.entries.changes import restore_entry, show_undo
from memory.views.entries.entry_details import build_details, is_page_row, list_moves
from memory.views.entries.revisions import parse_revision
from memory.views.entries.search_results import is_waiting
from memory.views.prompt_use import set_prompt_use
from memory.views.request_context import (
    build_caller,
    find_entry,
    find_undoable_change,
    get_title,
    is_allowed,
    read_reason,
)
from memory.views.review.presentation import explain_quarantine
from memory.views.secret_warnings import warn_about_secrets


@login_required
@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    return _show_entry(request, row, EntryForm.from_entry(row))


@login_required
@require_POST
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    form = EntryForm(request.POST)
    if not form.is_valid():
        return _show_entry(request, row, form, status=422)
    try:
        services.edit(build_caller(request), entry_id=entry_id, **form.get_changes())
    except AlreadyExists as fault:
        return _show_conflict(request, find_entry(request, entry_id), form, fault)
    messages.success(request, _("Saved."))
    warn_about_secrets(request, form.get_changes().get("value"))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def move(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Move the entry to another tier if its present tier allows that."""
    row = find_entry(request, entry_id)
    moves = {f"{option.action} {option.target_tier}": option for option in list_moves(row)}
    option = moves.get(request.POST.get("move", ""))
    if option is None:
        messages.error(request, _("This isn't possible from its current tier."))
        return redirect("memory:entry", entry_id=entry_id)
    result = services.move(
        build_caller(request),
        move=str(option.action),
        entry_ids=[row.pk],
        to=str(option.target_tier),
        reason=read_reason(request),
    )
    (moved_entry,) = result.entries
    address = reverse("memory:entry", args=[moved_entry.id])
    return HttpResponseRedirect(f"{address}?undo={result.change_id}")


@login_required
@require_POST
def choose_use(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Set whether the entry enters prompts."""
    row = find_entry(request, entry_id)
    problem = set_prompt_use(build_caller(request), row, request.POST.get("use", ""))
    (messages.error if problem else messages.success)(request, problem or _("Saved."))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = find_entry(request, entry_id)
    try:
        reason = read_reason(request)
        result = services.forget(build_caller(request), entry_id=entry_id, reason=reason)
    except NotFound as fault:
        if not getattr(request, "htmx", False):
            raise
        return show_namespace(request, row.namespace, ActionOutcome(fault=str(fault)), status=404)
    return show_undo(request, row.namespace, result.change_id)


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    restore_entry(request, entry_id)
    return redirect("memory:entry", entry_id=entry_id)


def _show_conflict(
    request: HttpRequest, newest: Entry, form: EntryForm, fault: AlreadyExists
) -> HttpResponse:
    """Show the newer value and how the submitted one differs. Saving again overwrites the newer value."""
    conflict = diff_values(newest.value, form.get_changes()["value"])
    form.add_error(None, str(fault))
    form.data = {**request.POST.dict(), "revision": str(newest.revision)}
    return _show_entry(request, newest, form, status=409, conflict=conflict)


def _show_entry(
    request: HttpRequest,
    row: Entry,
    form: EntryForm,
    status: int = 200,
    conflict: Sequence[DiffSegment] = (),
) -> HttpResponse:
    before = parse_revision(request.GET.get("before", ""))
    is_page = is_page_row(row) and not row.is_forgotten
    is_message = row.key.startswith(KEY_PREFIX)
    context = {
        "entry": row,
        "details": build_details(get_principal(request), row, before),
        "namespace_title": get_title(request, row.namespace),
        "tier_hint": TIER_HINTS[Tier(row.tier)],
        "quarantine_reason": explain_quarantine(row) if is_waiting(row) else "",
        "form": form,
        "conflict": conflict,
        "is_text": isinstance(row.value, str),
        "is_page": is_page,
        "is_message": is_message,
        "is_pinnable": not (is_page or is_message or row.is_former),
        "may_write": is_allowed(request, "write", row.namespace),
        "may_forget": is_allowed(request, "forget", row.namespace),
        "undoable": find_undoable_change(request),
    }
    return render(request, "memory/entries/entry.html", context, status=status)

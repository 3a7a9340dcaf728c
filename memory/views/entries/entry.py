"""The page of an entry: its value, origin and recalls, and editing, forgetting and restoring it."""

from collections.abc import Callable, Sequence
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
from memory.logic.entries.tiers import TierAction
from memory.logic.text_diff import DiffSegment, diff_values
from memory.models import Entry
from memory.services import MemoryCaller, MovedEntries
from memory.views.entries.browsing import ActionOutcome, show_namespace
from memory.views.entries.changes import show_undo
from memory.views.entries.entry_details import TIER_HINTS, build_details, is_page, list_moves
from memory.views.entries.revisions import parse_number
from memory.views.entries.search_results import is_waiting
from memory.views.request_context import (
    build_caller,
    entry_or_404,
    may,
    reason_of,
    title_of,
    undoable_change,
)
from memory.views.review.presentation import explain_quarantine
from memory.views.secret_warnings import warn_about_secrets


@login_required
@require_safe
def entry(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    return _show_entry(request, row, EntryForm.of(row))


@login_required
@require_POST
def edit(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    form = EntryForm(request.POST)
    if not form.is_valid():
        return _show_entry(request, row, form, status=422)
    try:
        services.edit(build_caller(request), entry_id=entry_id, **form.get_changes())
    except AlreadyExists as fault:
        return _show_conflict(request, entry_or_404(request, entry_id), form, fault)
    messages.success(request, _("Saved."))
    warn_about_secrets(request, form.get_changes().get("value"))
    return redirect("memory:entry", entry_id=entry_id)


@login_required
@require_POST
def move(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    """Move the entry to another tier, as far as its current tier allows."""
    row = entry_or_404(request, entry_id)
    move_name = request.POST.get("move", "")
    moves = {f"{tier_move.move} {tier_move.to}": tier_move for tier_move in list_moves(row)}
    if move_name not in moves:
        messages.error(request, _("This isn't possible from its current tier."))
        return redirect("memory:entry", entry_id=entry_id)
    result = _MOVES[moves[move_name].move](
        build_caller(request), [row.pk], moves[move_name].to, reason_of(request)
    )
    (moved_entry,) = result.entries
    address = reverse("memory:entry", args=[moved_entry.id])
    return HttpResponseRedirect(f"{address}?undo={result.change_id}")


@login_required
@require_POST
def forget(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    row = entry_or_404(request, entry_id)
    try:
        result = services.forget(
            build_caller(request), entry_id=entry_id, reason=reason_of(request)
        )
    except NotFound as fault:
        if not getattr(request, "htmx", False):
            raise
        return show_namespace(request, row.namespace, ActionOutcome(fault=str(fault)), status=404)
    return show_undo(request, row.namespace, result.change_id)


@login_required
@require_POST
def restore(request: HttpRequest, entry_id: UUID) -> HttpResponse:
    entry_or_404(request, entry_id)
    try:
        services.restore(
            build_caller(request),
            entry_id=entry_id,
            revision=parse_number(request.POST.get("revision", "")),
            reason=reason_of(request),
        )
        messages.success(request, _("Restored."))
    except AlreadyExists as fault:
        messages.error(request, str(fault))
    return redirect("memory:entry", entry_id=entry_id)


Ids = list[UUID]

_MOVES: dict[TierAction, Callable[[MemoryCaller, Ids, Tier, str], MovedEntries]] = {
    TierAction.APPROVE: lambda caller, ids, to, reason: services.approve(
        caller, entry_ids=ids, to=str(to), reason=reason
    ),
    TierAction.REJECT: lambda caller, ids, _to, reason: services.reject(
        caller, entry_ids=ids, reason=reason
    ),
    TierAction.PROMOTE: lambda caller, ids, _to, reason: services.promote(
        caller, entry_ids=ids, reason=reason
    ),
    TierAction.QUARANTINE: lambda caller, ids, _to, reason: services.quarantine(
        caller, entry_ids=ids, reason=reason
    ),
}


def _show_conflict(
    request: HttpRequest, newest: Entry, form: EntryForm, fault: AlreadyExists
) -> HttpResponse:
    """Show the newer value and the difference from the submitted one; saving again overwrites it."""
    value = form.get_changes()["value"]
    form.add_error(None, str(fault))
    form.data = {**request.POST.dict(), "revision": str(newest.revision)}
    conflict = diff_values(newest.value, value)
    return _show_entry(request, newest, form, status=409, conflict=conflict)


def _show_entry(
    request: HttpRequest,
    row: Entry,
    form: EntryForm,
    status: int = 200,
    conflict: Sequence[DiffSegment] = (),
) -> HttpResponse:
    context = {
        "entry": row,
        "details": build_details(
            get_principal(request), row, parse_number(request.GET.get("before", ""))
        ),
        "namespace_title": title_of(request, row.namespace),
        "tier_hint": TIER_HINTS[Tier(row.tier)],
        "quarantine_reason": explain_quarantine(row) if is_waiting(row) else "",
        "form": form,
        "conflict": conflict,
        "is_text": isinstance(row.value, str),
        "is_page": is_page(row) and not row.is_forgotten,
        "is_message": row.key.startswith(KEY_PREFIX),
        "may_write": may(request, "write", row.namespace),
        "may_forget": may(request, "forget", row.namespace),
        "undoable": undoable_change(request, request.GET.get("undo", "")),
    }
    return render(request, "memory/entries/entry.html", context, status=status)

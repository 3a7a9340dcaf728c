"""Bulk actions with a preview, and undoing changes."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.principals import get_current_team_id, get_principal
from accounts.views.pagination import replace_query_suffix
from memory import selectors, services
from memory.core.errors import AlreadyExists
from memory.forms.browsing import BulkActionForm, SearchForm
from memory.logic.review.proposal_execution import OutdatedProposal
from memory.models import Namespace
from memory.services.entries.bulk import Selection, SelectionChanged, apply_action, preview_action
from memory.views.entries.browsing import ActionOutcome, BulkConfirmation, show_namespace
from memory.views.entries.revisions import parse_revision
from memory.views.request_context import (
    build_caller,
    find_entry,
    find_namespace,
    find_undoable_change,
    read_reason,
)


@login_required
@require_POST
def bulk_action(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """Apply an action to the selected entries, or to all that match the filters. Without ``sure``, show a preview."""
    row = find_namespace(request, namespace_id)
    form, selection = BulkActionForm(request.POST), _read_selection(request, row)
    if selection.search is None and not selection.entry_ids:
        messages.info(request, _("Nothing selected."))
        return redirect("memory:namespace", namespace_id=row.pk)
    if "sure" not in request.POST or not form.is_valid():
        return _ask_confirmation(request, row, form, selection)
    expected = form.cleaned_data["expected"]
    try:
        change_id = apply_action(
            build_caller(request),
            action=form.selected_action,
            selection=selection,
            expected=len(selection.entry_ids) if expected is None else expected,
            amendment=form.build_amendment(),
            reason=read_reason(request),
        )
    except SelectionChanged as fault:
        return _ask_confirmation(request, row, form, selection, str(fault))
    return show_undo(request, row, change_id)


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    change = selectors.find_change(get_principal(request), get_current_team_id(request), change_id)
    fault = ""
    try:
        services.undo(build_caller(request), change_id=change_id)
    except OutdatedProposal:
        fault = _("Some entries were changed since. Nothing was undone.")
    except AlreadyExists as error:
        fault = str(error)
    if getattr(request, "htmx", False):
        return _show_refreshed(request, change.namespace, ActionOutcome(fault=fault))
    if fault:
        messages.error(request, fault)
    else:
        messages.success(request, _("Restored."))
    back = request.POST.get("back", "")  # the page with the button
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return HttpResponseRedirect(back)
    return HttpResponseRedirect(_build_address(request, change.namespace))


def show_undo(request: HttpRequest, row: Namespace, change_id: UUID | None) -> HttpResponse:
    """Show the current entries with an offer to undo the change."""
    if getattr(request, "htmx", False):
        undoable = find_undoable_change(request, str(change_id))
        return _show_refreshed(request, row, ActionOutcome(undoable))
    return HttpResponseRedirect(_build_address(request, row, undo=str(change_id or "")))


def restore_entry(request: HttpRequest, entry_id: UUID) -> bool:
    """Restore the entry to the revision that was sent, and report the result as a message."""
    find_entry(request, entry_id)
    try:
        services.restore(
            build_caller(request),
            entry_id=entry_id,
            revision=parse_revision(request.POST.get("revision", "")),
            reason=read_reason(request),
        )
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return False
    messages.success(request, _("Restored."))
    return True


def _show_refreshed(request: HttpRequest, row: Namespace, outcome: ActionOutcome) -> HttpResponse:
    row.refresh_from_db()
    return show_namespace(request, row, outcome)


def _ask_confirmation(
    request: HttpRequest,
    row: Namespace,
    form: BulkActionForm,
    selection: Selection,
    fault: str = "",
) -> HttpResponse:
    caller = build_caller(request)
    preview = preview_action(caller, action=form.selected_action, selection=selection)
    entries = () if selection.search is not None else preview.entry_ids
    confirmation = BulkConfirmation(form, preview, entries)
    return show_namespace(request, row, ActionOutcome(confirmation=confirmation, fault=fault))


def _read_selection(request: HttpRequest, row: Namespace) -> Selection:
    if request.POST.get("all"):
        return Selection(row.text, search=SearchForm(request.GET).build_search())
    return Selection(row.text, entry_ids=tuple(dict.fromkeys(request.POST.getlist("entry"))))


def _build_address(request: HttpRequest, row: Namespace, **query: str) -> str:
    return reverse("memory:namespace", args=[row.pk]) + replace_query_suffix(request.GET, **query)

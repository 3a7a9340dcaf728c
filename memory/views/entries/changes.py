"""Many at once, tried first, and the way back from it."""

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
from memory.views.entries.browsing import Aside, Asked, show_namespace
from memory.views.request_context import again, caller_of, reason_of, undoable_change


@login_required
@require_POST
def act(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """What is chosen, or everything that the address's filters find; done only when one is ``sure``."""
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    form, chosen = BulkActionForm(request.POST), _chosen(request, row)
    if chosen.search is None and not chosen.entry_ids:
        messages.info(request, _("Nothing selected."))
        return redirect("memory:namespace", namespace_id=row.pk)
    if "sure" not in request.POST or not form.is_valid():
        return _ask(request, row, form, chosen)
    expected = form.cleaned_data["expected"]
    try:
        change_id = apply_action(
            caller_of(request),
            action=form.selected_action,
            selection=chosen,
            expected=len(chosen.entry_ids) if expected is None else expected,
            amendment=form.build_amendment(),
            reason=reason_of(request),
        )
    except SelectionChanged as fault:
        return _ask(request, row, form, chosen, str(fault))
    return after_forgetting(request, row, change_id)


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    change = selectors.find_change(get_principal(request), get_current_team_id(request), change_id)
    fault = ""
    try:
        services.undo(caller_of(request), change_id=change_id)
    except OutdatedProposal:
        fault = _("Some entries were changed since. Nothing was undone.")
    except AlreadyExists as known:
        fault = str(known)
    if getattr(request, "htmx", False):
        return show_namespace(request, again(change.namespace), Aside(fault=fault))
    if fault:
        messages.error(request, fault)
    else:
        messages.success(request, _("Restored."))
    back = request.POST.get("back", "")  # the page it was asked from
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return HttpResponseRedirect(back)
    return HttpResponseRedirect(_address(request, change.namespace))


def after_forgetting(request: HttpRequest, row: Namespace, change_id: UUID | None) -> HttpResponse:
    """What is there now, and the way back."""
    if getattr(request, "htmx", False):
        undoable = undoable_change(request, str(change_id))
        return show_namespace(request, again(row), Aside(undoable))
    return HttpResponseRedirect(_address(request, row, undo=str(change_id or "")))


def _ask(
    request: HttpRequest, row: Namespace, form: BulkActionForm, chosen: Selection, fault: str = ""
) -> HttpResponse:
    rehearsed = preview_action(caller_of(request), action=form.selected_action, selection=chosen)
    entries = () if chosen.search is not None else rehearsed.entry_ids
    return show_namespace(request, row, Aside(asked=Asked(form, rehearsed, entries), fault=fault))


def _chosen(request: HttpRequest, row: Namespace) -> Selection:
    if request.POST.get("all"):
        return Selection(row.text, search=SearchForm(request.GET).build_search())
    return Selection(row.text, entry_ids=tuple(dict.fromkeys(request.POST.getlist("entry"))))


def _address(request: HttpRequest, row: Namespace, **more: str) -> str:
    return reverse("memory:namespace", args=[row.pk]) + replace_query_suffix(request.GET, **more)

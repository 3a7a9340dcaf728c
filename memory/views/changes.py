"""Many at once, and the way back from it."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.principals import current_team_id, principal_of
from memory import selectors, services
from memory.core.errors import AlreadyExists
from memory.models import Namespace
from memory.views.asking import again, caller_of, reason_of, undoable_change
from memory.views.browsing import show_namespace


@login_required
@require_POST
def forget_many(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    row = selectors.namespace_for(principal_of(request), current_team_id(request), namespace_id)
    chosen = request.POST.getlist("entry")
    if not chosen:
        messages.info(request, _("Nothing was chosen."))
        return redirect("memory:namespace", namespace_id=row.pk)
    if "sure" not in request.POST:
        return show_namespace(request, row, None, asked=selectors.living_among(row, chosen))
    done = services.forget_many(caller_of(request), entry_ids=chosen, reason=reason_of(request))
    return after_forgetting(request, row, done.change_id)


@login_required
@require_POST
def undo(request: HttpRequest, change_id: UUID) -> HttpResponse:
    change = selectors.change_for(principal_of(request), current_team_id(request), change_id)
    try:
        services.undo(caller_of(request), change_id=change_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect("memory:namespace", namespace_id=change.namespace_id)
    if getattr(request, "htmx", False):
        return show_namespace(request, again(change.namespace), None)
    messages.success(request, _("Back again."))
    back = request.POST.get("back", "")  # the page it was asked from
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return HttpResponseRedirect(back)
    return redirect("memory:namespace", namespace_id=change.namespace_id)


def after_forgetting(request: HttpRequest, row: Namespace, change_id: UUID | None) -> HttpResponse:
    if getattr(request, "htmx", False):
        return show_namespace(request, again(row), undoable_change(request, str(change_id)))
    address = reverse("memory:namespace", args=[row.pk])
    return HttpResponseRedirect(f"{address}?undo={change_id}")

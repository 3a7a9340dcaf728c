"""The page of a workflow's triggers: addresses, times, switches, and waiting for a test call."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import Principal
from accounts.errors import NotFound
from workflows import permissions
from workflows.models import Trigger, Workflow
from workflows.services.triggers.activation import find_trigger, switch_trigger
from workflows.services.triggers.addresses import replace_address, replace_secret
from workflows.services.triggers.testing import stop_waiting, wait_for_call
from workflows.views.request_context import find_workflow
from workflows.views.triggers.cards import TriggerCard, list_cards


@never_cache
@login_required
@require_safe
def index(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """List the triggers of the draft and of the published version."""
    return _render_page(request, workflow_id)


@login_required
@require_POST
def switch(request: HttpRequest, workflow_id: UUID, node_id: str) -> HttpResponse:
    """Switch a trigger on or off."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    trigger = find_trigger(principal, workflow, node_id)
    switch_trigger(principal, trigger=trigger, is_on="on" in request.POST)
    return redirect("workflows:triggers", workflow.pk)


@never_cache
@login_required
@require_POST
def new_secret(request: HttpRequest, workflow_id: UUID, node_id: str) -> HttpResponse:
    """Make a new secret for a webhook, and show it once."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    secret = replace_secret(principal, trigger=_find_webhook(principal, workflow, node_id))
    return _render_page(request, workflow.pk, secret=secret, secret_node=node_id)


@login_required
@require_POST
def new_address(request: HttpRequest, workflow_id: UUID, node_id: str) -> HttpResponse:
    """Give a webhook a new address."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    replace_address(principal, trigger=_find_webhook(principal, workflow, node_id))
    messages.success(request, _("The webhook has a new address. The old one is gone."))
    return redirect("workflows:triggers", workflow.pk)


@login_required
@require_POST
def wait(request: HttpRequest, workflow_id: UUID, node_id: str) -> HttpResponse:
    """Wait for a test call of a webhook of the draft, or stop waiting."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    if "stop" in request.POST:
        stop_waiting(principal, trigger=_find_webhook(principal, workflow, node_id))
    else:
        wait_for_call(principal, workflow=workflow, node_id=node_id)
    return redirect("workflows:triggers", workflow.pk)


@never_cache
@login_required
@require_safe
def test_state(request: HttpRequest, workflow_id: UUID, node_id: str) -> HttpResponse:
    """Show whether the test call has come, as a fragment that asks again while it hasn't."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    cards = list_cards(request, principal, workflow)
    card = next((each for each in cards if each.node_id == node_id and each.is_webhook), None)
    if card is None:
        raise NotFound
    context = {"workflow": workflow, "card": card, **_list_rights(principal, workflow)}
    return render(request, "triggers/_test.html", context)


def _find_webhook(principal: Principal, workflow: Workflow, node_id: str) -> Trigger:
    trigger = find_trigger(principal, workflow, node_id)
    if not trigger.is_webhook:
        raise NotFound
    return trigger


def _list_rights(principal: Principal, workflow: Workflow) -> dict[str, bool]:
    return {
        "can_publish": permissions.may_publish(principal, workflow),
        "can_test": permissions.may_edit(principal, workflow),
    }


def _render_page(request: HttpRequest, workflow_id: UUID, **secret: str) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    cards: list[TriggerCard] = list_cards(request, principal, workflow)
    context = {"workflow": workflow, "cards": cards, **_list_rights(principal, workflow), **secret}
    return render(request, "triggers/page.html", context)

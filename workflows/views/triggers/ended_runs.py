"""The pages of webhooks out: who is told when runs end, and the log of messages."""

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from workflows import permissions
from workflows.errors import InvalidValue
from workflows.services.triggers.subscriptions import (
    find_subscription,
    list_deliveries,
    list_subscriptions,
    redeliver,
    subscribe,
    switch_subscription,
    unsubscribe,
)
from workflows.views.request_context import find_workflow, get_form_data
from workflows.views.triggers.forms import SubscriptionForm


LOG_LENGTH: Final = 50


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """List the addresses that are told; a POST adds one and shows its secret once."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    may_manage = permissions.may_manage(principal, workflow.team_id)
    form = SubscriptionForm(get_form_data(request), may_choose_team=may_manage)
    secret = ""
    if form.is_valid():
        try:
            _row, secret = subscribe(principal, workflow=workflow, **form.cleaned_data)
        except InvalidValue as error:
            form.add_error("url", str(error))
    status = 422 if form.is_bound and not secret else 200
    context = {
        "workflow": workflow,
        "subscriptions": list_subscriptions(principal, workflow),
        "form": SubscriptionForm(may_choose_team=may_manage) if secret else form,
        "secret": secret,
        "may_manage": may_manage,
    }
    return render(request, "triggers/ended_runs.html", context, status=status)


@never_cache
@login_required
@require_safe
def log(request: HttpRequest, workflow_id: UUID, subscription_id: UUID) -> HttpResponse:
    """Show the newest messages to an address about the runs of the workflow."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    subscription = find_subscription(principal, workflow, subscription_id)
    deliveries = list_deliveries(principal, workflow, subscription)[:LOG_LENGTH]
    context = {"workflow": workflow, "subscription": subscription, "deliveries": deliveries}
    return render(request, "triggers/deliveries.html", context)


@login_required
@require_POST
def switch(request: HttpRequest, workflow_id: UUID, subscription_id: UUID) -> HttpResponse:
    """Turn the messages to an address on or off."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    subscription = find_subscription(principal, workflow, subscription_id)
    switch_subscription(
        principal, workflow=workflow, subscription=subscription, is_on="on" in request.POST
    )
    return redirect("workflows:ended_runs", workflow.pk)


@login_required
@require_POST
def delete(request: HttpRequest, workflow_id: UUID, subscription_id: UUID) -> HttpResponse:
    """Stop telling an address, and delete the log of its messages."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    subscription = find_subscription(principal, workflow, subscription_id)
    unsubscribe(principal, workflow=workflow, subscription=subscription)
    messages.success(request, _("This address is no longer told."))
    return redirect("workflows:ended_runs", workflow.pk)


@login_required
@require_POST
def send_again(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID, delivery_id: UUID
) -> HttpResponse:
    """Send a message again."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    subscription = find_subscription(principal, workflow, subscription_id)
    rows = list_deliveries(principal, workflow, subscription)
    redeliver(principal, workflow=workflow, delivery=get_object_or_404(rows, pk=delivery_id))
    messages.success(request, _("The message will be sent again in a moment."))
    return redirect("workflows:ended_runs_log", workflow.pk, subscription.pk)

"""Subscriptions to the ends of runs: made, turned on and off, deleted; and the log of their messages."""

import secrets
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.models import Team
from accounts.tenancy import tenant
from config.encryption.crypto import encrypt
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import Delivery, DeliveryStatus, RunEnd, RunSubscription, Workflow
from workflows.services import audit_lines
from workflows.services.credentials import clean_url
from workflows.services.triggers.addresses import SECRET_PREFIX


# Of a workflow, and for all workflows of a team: each end of a run is a message to all of them.
MAX_SUBSCRIPTIONS: Final = 20


def list_subscriptions(principal: Principal, workflow: Workflow) -> "QuerySet[RunSubscription]":
    """Return the subscriptions to the runs of a workflow, with those to all runs of its team."""
    permissions.check_publish(principal, workflow)
    rows = RunSubscription.objects.visible_to(principal).filter(team_id=workflow.team_id)
    return rows.filter(Q(workflow=workflow) | Q(workflow=None)).order_by("created_at", "id")


def find_subscription(
    principal: Principal, workflow: Workflow, subscription_id: UUID
) -> RunSubscription:
    row = list_subscriptions(principal, workflow).filter(pk=subscription_id).first()
    if row is None:
        raise NotFound
    return row


def list_deliveries(
    principal: Principal, workflow: Workflow, subscription: RunSubscription
) -> "QuerySet[Delivery]":
    """Return the messages to an address about the runs of this workflow, the newest first."""
    permissions.check_publish(principal, workflow)
    rows = Delivery.objects.visible_to(principal)
    rows = rows.filter(subscription=subscription, workflow_id=workflow.pk)
    return rows.order_by("-created_at", "-id")


def subscribe(
    principal: Principal,
    *,
    workflow: Workflow,
    url: str,
    events: Sequence[str],
    is_for_team: bool = False,
) -> tuple[RunSubscription, str]:
    """Tell an address when runs end. Return the row and the secret that signs the messages, which is shown once.

    Only those who may manage the team's credentials can subscribe to the runs of all its workflows.
    """
    permissions.check_publish(principal, workflow)
    if is_for_team:
        permissions.check_manage(principal, workflow.team_id)
    if not events or not set(events) <= set(RunEnd.values):
        raise InvalidValue(_("Choose at least one end of runs."), field="events")
    address = _clean_address(url)
    secret = SECRET_PREFIX + secrets.token_urlsafe(32)
    with tenant([workflow.team_id]):
        target = None if is_for_team else workflow
        _check_room(workflow.team_id, target)
        row = RunSubscription.objects.create(
            team_id=workflow.team_id,
            workflow=target,
            url=address,
            events=sorted(set(events)),
            sealed_secret=encrypt(secret),
            created_by_id=principal.user_id,
        )
        audit_lines.record(principal, row, "trigger.subscribed", workflow=str(workflow.pk))
    return row, secret


def switch_subscription(
    principal: Principal, *, workflow: Workflow, subscription: RunSubscription, is_on: bool
) -> None:
    """Turn the messages to an address on or off. Those that wait are sent nevertheless."""
    _check_change(principal, workflow, subscription)
    with tenant([workflow.team_id]):
        subscription.is_on, subscription.retry_at = is_on, None
        subscription.save(update_fields=["is_on", "retry_at", "updated_at"])
        audit_lines.record(principal, subscription, "trigger.subscription_switched", is_on=is_on)


def unsubscribe(principal: Principal, *, workflow: Workflow, subscription: RunSubscription) -> None:
    """Delete a subscription with the log of its messages."""
    _check_change(principal, workflow, subscription)
    with tenant([workflow.team_id]):
        RunSubscription.objects.unscoped().filter(pk=subscription.pk).delete()
        audit_lines.record(principal, subscription, "trigger.unsubscribed")


def redeliver(principal: Principal, *, workflow: Workflow, delivery: Delivery) -> None:
    """Send a message again, with its id, as soon as a worker comes to it."""
    permissions.check_publish(principal, workflow)
    with tenant([workflow.team_id]):
        delivery.status, delivery.attempts = DeliveryStatus.PENDING, 0
        delivery.next_at, delivery.error = timezone.now(), ""
        delivery.save(update_fields=["status", "attempts", "next_at", "error"])
        # Somebody may have mended the receiver.
        rows = RunSubscription.objects.unscoped().filter(pk=delivery.subscription_id)
        rows.update(retry_at=None)


def _check_change(principal: Principal, workflow: Workflow, subscription: RunSubscription) -> None:
    permissions.check_publish(principal, workflow)
    if subscription.workflow_id is None:
        permissions.check_manage(principal, workflow.team_id)


def _check_room(team_id: UUID, workflow: Workflow | None) -> None:
    """Raise InvalidValue if the workflow, or the team for all of them, has all subscriptions that it can have."""
    Team.objects.select_for_update(no_key=True).get(pk=team_id)  # of two at once, one waits
    rows = RunSubscription.objects.unscoped().filter(team_id=team_id, workflow=workflow)
    if rows.count() >= MAX_SUBSCRIPTIONS:
        message = _("At most %(count)s addresses can be told. Delete one first.")
        raise InvalidValue(message % {"count": MAX_SUBSCRIPTIONS}, field="url")


def _clean_address(url: str) -> str:
    """Return the address. It may have a query, by which some receivers recognize their sender."""
    address, mark, query = url.strip().partition("?")
    return clean_url(address) + mark + query

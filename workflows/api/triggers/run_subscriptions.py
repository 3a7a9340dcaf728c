"""Routes of ``/api/v1/workflows/{id}/run-subscriptions``: the addresses that are told when runs end, and their log."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.errors import NotFound
from accounts.http.auth import api_auth
from accounts.principals import Principal
from config.http.pages import Pages
from workflows.api.request_context import find_workflow
from workflows.models import Delivery, RunSubscription, Workflow
from workflows.schemas import triggers as schemas
from workflows.services.triggers import subscriptions


router = Router(auth=api_auth(), tags=["triggers"])

SUBSCRIPTIONS = "/workflows/{uuid:workflow_id}/run-subscriptions"
SUBSCRIPTION = SUBSCRIPTIONS + "/{uuid:subscription_id}"


@router.get(
    SUBSCRIPTIONS,
    response=list[schemas.RunSubscriptionOut],
    summary="List who is told when runs end",
)
@paginate(Pages)
def list_run_subscriptions(request: HttpRequest, workflow_id: UUID) -> "QuerySet[RunSubscription]":
    """Return the addresses that are told when runs of the workflow end, with those for all workflows of the team."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    return subscriptions.list_subscriptions(principal, workflow)


@router.post(
    SUBSCRIPTIONS,
    response={201: schemas.NewRunSubscriptionOut},
    summary="Tell an address when runs end",
)
def create_run_subscription(
    request: HttpRequest, workflow_id: UUID, body: schemas.RunSubscriptionIn
) -> Status[dict[str, object]]:
    """Tell an address when runs of the published versions end. The secret that signs the messages isn't shown again.

    For all workflows of the team, ``credentials:write`` is needed besides. Fails with InvalidValue for an address that
    can't be called.
    """
    principal, workflow = find_workflow(request, workflow_id, "publish")
    row, secret = subscriptions.subscribe(
        principal,
        workflow=workflow,
        url=body.url,
        events=body.events,
        is_for_team=body.all_workflows,
    )
    values = schemas.RunSubscriptionOut.from_orm(row).model_dump()
    return Status(201, values | {"secret": secret})


@router.patch(
    SUBSCRIPTION,
    response=schemas.RunSubscriptionOut,
    summary="Switch the messages to an address on or off",
)
def change_run_subscription(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID, body: schemas.TriggerPatch
) -> RunSubscription:
    """Switch the messages to an address on or off. Those that wait are sent nevertheless."""
    principal, workflow, row = _find(request, workflow_id, subscription_id)
    subscriptions.switch_subscription(
        principal, workflow=workflow, subscription=row, is_on=body.is_on
    )
    return row


@router.delete(SUBSCRIPTION, response={204: None}, summary="Tell an address no more")
def delete_run_subscription(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID
) -> Status[None]:
    """Delete a subscription with the log of its messages."""
    principal, workflow, row = _find(request, workflow_id, subscription_id)
    subscriptions.unsubscribe(principal, workflow=workflow, subscription=row)
    return Status(204, None)


@router.get(
    SUBSCRIPTION + "/deliveries",
    response=list[schemas.DeliveryOut],
    summary="List the messages to an address",
)
@paginate(Pages)
def list_deliveries(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID
) -> "QuerySet[Delivery]":
    """Return the messages of the last 30 days about runs of this workflow, the newest first."""
    principal, workflow, row = _find(request, workflow_id, subscription_id)
    return subscriptions.list_deliveries(principal, workflow, row)


@router.post(
    SUBSCRIPTION + "/deliveries/{uuid:delivery_id}/again",
    response=schemas.DeliveryOut,
    summary="Send a message again",
)
def send_delivery_again(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID, delivery_id: UUID
) -> Delivery:
    """Send a message again with its id, as soon as a worker comes to it."""
    principal, workflow, row = _find(request, workflow_id, subscription_id)
    rows = subscriptions.list_deliveries(principal, workflow, row)
    delivery = rows.filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound
    subscriptions.redeliver(principal, workflow=workflow, delivery=delivery)
    return delivery


def _find(
    request: HttpRequest, workflow_id: UUID, subscription_id: UUID
) -> tuple[Principal, Workflow, RunSubscription]:
    principal, workflow = find_workflow(request, workflow_id, "publish")
    row = subscriptions.find_subscription(principal, workflow, subscription_id)
    return principal, workflow, row

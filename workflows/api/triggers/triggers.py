"""Routes of ``/api/v1/workflows/{id}/triggers``."""

from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Router
from ninja.pagination import paginate

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.http.auth import api_auth
from config.http.context import get_base_url
from config.http.pages import Pages
from workflows import permissions
from workflows.api.request_context import find_workflow
from workflows.models import Trigger
from workflows.schemas import triggers as schemas
from workflows.services.triggers.activation import find_trigger, list_triggers, switch_trigger
from workflows.services.triggers.addresses import read_token, replace_secret


router = Router(auth=api_auth(), tags=["triggers"])

TRIGGERS = "/workflows/{uuid:workflow_id}/triggers"
TRIGGER = TRIGGERS + "/{node_id}"


@router.get(TRIGGERS, response=list[schemas.TriggerOut], summary="List triggers")
@paginate(Pages)
def list_workflow_triggers(request: HttpRequest, workflow_id: UUID) -> list[dict[str, object]]:
    """Return the triggers of a workflow, with the address of each webhook if you may publish."""
    principal, workflow = find_workflow(request, workflow_id)
    return [_serialize(request, principal, row) for row in list_triggers(principal, workflow)]


@router.patch(TRIGGER, response=schemas.TriggerOut, summary="Switch a trigger on or off")
def change_trigger(
    request: HttpRequest, workflow_id: UUID, node_id: str, body: schemas.TriggerPatch
) -> dict[str, object]:
    """Switch a trigger on or off. A schedule that is switched on goes on with its next time."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    trigger = find_trigger(principal, workflow, node_id)
    row = switch_trigger(principal, trigger=trigger, is_on=body.is_on)
    return _serialize(request, principal, row)


@router.post(
    TRIGGER + "/secret",
    response=schemas.TriggerSecretOut,
    summary="Replace the secret of a webhook",
)
def replace_trigger_secret(
    request: HttpRequest, workflow_id: UUID, node_id: str
) -> dict[str, object]:
    """Make a new secret and return it. It isn't shown again, and the old one ends now."""
    principal, workflow = find_workflow(request, workflow_id, "publish")
    trigger = find_trigger(principal, workflow, node_id)
    if not trigger.is_webhook:
        raise NotFound
    return {"secret": replace_secret(principal, trigger=trigger)}


def _serialize(request: HttpRequest, principal: Principal, row: Trigger) -> dict[str, object]:
    fields = (
        *("node_id", "kind", "title", "is_published", "is_on"),
        *("next_at", "last_at", "last_run_id", "error", "error_at"),
    )
    has_url = row.is_webhook and permissions.may_publish(principal, row.workflow)
    url = reverse("hooks:call", args=[read_token(row)]) if has_url else ""
    values = {name: getattr(row, name) for name in fields}
    return values | {"url": get_base_url(request) + url if url else ""}

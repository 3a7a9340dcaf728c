"""Pinned outputs: what a node gives in runs from the editor, without running. The team's, like the draft."""

import json
from collections.abc import Mapping

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.document import Json
from workflows.errors import InvalidValue
from workflows.models import Node, Pin, Workflow
from workflows.services import audited


LARGEST = 256 * 1024  # characters of JSON; a pin is read with every run from the editor


def pin_node(
    principal: Principal,
    *,
    workflow: Workflow,
    node: str,
    outputs: Mapping[str, Json],
    handle: str | None = None,
) -> Pin:
    """Pin, or change what is pinned. ``handle``: the way a branch takes."""
    permissions.check_edit(principal, workflow)
    if len(json.dumps(outputs)) > LARGEST:
        raise InvalidValue(_("That is too much to pin."), field="outputs")
    with tenant([workflow.team_id]):
        if not Node.objects.unscoped().filter(workflow=workflow, key=node, is_note=False).exists():
            raise NotFound
        pin, _made = Pin.objects.unscoped().update_or_create(
            workflow=workflow,
            node_key=node,
            defaults={
                "team_id": workflow.team_id,
                "outputs": dict(outputs),
                "handle": handle or None,
                "pinned_by_id": principal.user_id,
            },
        )
        audited.note(principal, pin, "workflow.pinned", workflow=str(workflow.pk), node=node)
    return pin


def unpin_node(principal: Principal, *, workflow: Workflow, node: str) -> None:
    """Twice is once."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        pin = Pin.objects.unscoped().filter(workflow=workflow, node_key=node).first()
        if pin is None:
            return
        pin.delete()
        audited.note(principal, workflow, "workflow.unpinned", node=node)


def pinned_outputs(workflow: Workflow) -> dict[str, Json]:
    """By node, as the engine takes them. The caller found the workflow, so may see it."""
    with tenant([workflow.team_id]):
        return {pin.node_key: pin.mock for pin in Pin.objects.unscoped().filter(workflow=workflow)}

"""Triggers work from the publication of their node until it is gone, switched off, or its workflow is archived."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.models import ApiKey
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.disabled_nodes import remove_disabled
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.triggers.recurrence import ScheduleInvalid, build_recurrence
from workflows.execution.kinds import load_kinds
from workflows.models import Trigger, TriggerKind, Workflow
from workflows.services import audit_lines
from workflows.services.triggers.addresses import set_new_token
from workflows.services.triggers.keys import find_or_issue_key, record_new_key


def list_trigger_nodes(document: Document) -> dict[str, NodeSpec]:
    """Return the trigger nodes at which runs of the document can begin, by id."""
    nodes = remove_disabled(document, load_kinds())[0].nodes
    return {
        node.id: node for node in nodes if node.parent is None and node.kind in TriggerKind.values
    }


def list_triggers(principal: Principal, workflow: Workflow) -> "QuerySet[Trigger]":
    """Return the triggers of a workflow, the oldest first."""
    permissions.check_view(principal, workflow)
    rows = Trigger.objects.visible_to(principal).filter(workflow=workflow)
    return rows.select_related("workflow", "api_key").order_by("created_at", "id")


def find_trigger(principal: Principal, workflow: Workflow, node_id: str) -> Trigger:
    trigger = list_triggers(principal, workflow).filter(node_id=node_id).first()
    if trigger is None:
        raise NotFound
    return trigger


def activate_triggers(principal: Principal, workflow: Workflow, document: Document) -> None:
    """Make the triggers of a workflow those of the version that is being published, in the caller's transaction.

    A node keeps its address, its secret and its switch. The triggers of nodes that are gone stop.
    """
    nodes = list_trigger_nodes(document)
    rows = {row.node_id: row for row in _lock_rows(workflow)}
    key, is_new = find_or_issue_key(principal, workflow) if nodes else (None, False)
    for node_id, node in nodes.items():
        row = rows.get(node_id) or Trigger(
            team_id=workflow.team_id, workflow=workflow, node_id=node_id
        )
        _activate(row, node, key)
    stopped = [row for node_id, row in rows.items() if node_id not in nodes and row.is_published]
    for row in stopped:
        row.is_published, row.next_at = False, None
        row.save(update_fields=["is_published", "next_at"])
    if key is not None and is_new:
        record_new_key(principal, key)


def prepare_trigger(principal: Principal, *, workflow: Workflow, node: NodeSpec) -> Trigger:
    """Return the trigger of a node of the draft. A node that was never published gets its address now, for test calls."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        Workflow.objects.unscoped().select_for_update(no_key=True).get(pk=workflow.pk)
        row = Trigger.objects.unscoped().filter(workflow=workflow, node_id=node.id).first()
        if row is None:
            row = Trigger(team_id=workflow.team_id, workflow=workflow, node_id=node.id)
            _describe(row, node)
            row.save()
    return row


def switch_trigger(principal: Principal, *, trigger: Trigger, is_on: bool) -> Trigger:
    """Switch a trigger on or off. A schedule that is switched on goes on with its next time."""
    permissions.check_publish(principal, trigger.workflow)
    with tenant([trigger.team_id]):
        row = Trigger.objects.unscoped().select_for_update(no_key=True).get(pk=trigger.pk)
        row.is_on = is_on
        row.next_at = find_next_time(row)
        row.save(update_fields=["is_on", "next_at"])
        audit_lines.record(principal, row, "trigger.switched", is_on=is_on)
    return row


def restart_schedules(workflow: Workflow) -> None:
    """Set the next times of the schedules of a workflow that was archived or restored, in the caller's transaction."""
    for row in _lock_rows(workflow):
        row.next_at = None if workflow.is_archived else find_next_time(row)
        row.save(update_fields=["next_at"])


def find_next_time(trigger: Trigger, after: datetime | None = None) -> datetime | None:
    """Return the next time of a schedule that is active, and None for any other trigger."""
    if trigger.is_webhook or not trigger.is_active:
        return None
    try:
        return build_recurrence(trigger.settings).find_next(after or timezone.now())
    except ScheduleInvalid:
        return None


def _activate(row: Trigger, node: NodeSpec, key: ApiKey | None) -> None:
    is_unchanged = row.is_published and _has_same_times(row.settings, node.data)
    _describe(row, node)
    row.is_published, row.api_key = True, key
    if not is_unchanged or row.next_at is None:  # a time that is due now isn't lost by publishing
        row.next_at = find_next_time(row)
        row.error, row.error_at = "", None
    row.save()


def _describe(row: Trigger, node: NodeSpec) -> None:
    row.kind, row.settings = node.kind, dict(node.data)
    row.title = node.title[:255]
    if row.is_webhook and not row.token_hash:
        set_new_token(row)


def _has_same_times(before: Mapping[str, object], now: Mapping[str, object]) -> bool:
    names = ("type", "mode", "frequency", "cron_expression", "visual_config", "timezone")
    return all(before.get(name) == now.get(name) for name in names)


def _lock_rows(workflow: Workflow) -> list[Trigger]:
    rows = Trigger.objects.unscoped().filter(workflow=workflow)
    return list(rows.select_for_update(no_key=True).order_by("created_at", "id"))

"""Waiting for a test call: the next call within some minutes starts a run of the draft, and shows what came."""

from datetime import timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from config.redaction import build_redactor
from workflows import permissions
from workflows.engine.language.document import NodeSpec
from workflows.errors import CallRefused
from workflows.execution.journal.masking import load_secret_values
from workflows.models import Trigger, Workflow
from workflows.services.editor.drafts import load_draft
from workflows.services.triggers.activation import list_trigger_nodes, prepare_trigger
from workflows.services.triggers.addresses import read_secret
from workflows.services.triggers.calls import (
    FAULTS,
    Answer,
    build_answer,
    describe_error,
    read_config,
    start_run_of_call,
)
from workflows.services.triggers.requests import ReceivedCall, check_call, read_values


WAIT: Final = timedelta(minutes=10)


def find_draft_node(workflow: Workflow, node_id: str) -> NodeSpec:
    """Return a trigger node of the draft."""
    node = list_trigger_nodes(load_draft(workflow)).get(node_id)
    if node is None:
        raise NotFound
    return node


def wait_for_call(principal: Principal, *, workflow: Workflow, node_id: str) -> Trigger:
    """Wait for one call to the webhook's test address. What came before is forgotten."""
    permissions.check_edit(principal, workflow)
    permissions.check_run(principal, workflow)
    node = find_draft_node(workflow, node_id)
    trigger = prepare_trigger(principal, workflow=workflow, node=node)
    if not trigger.is_webhook:
        raise NotFound
    with tenant([workflow.team_id]):
        trigger.listener_id = principal.user_id
        trigger.listens_until = timezone.now() + WAIT
        trigger.test_call = trigger.test_run_id = None
        trigger.save(update_fields=["listener", "listens_until", "test_call", "test_run_id"])
    return trigger


def stop_waiting(principal: Principal, *, trigger: Trigger) -> Trigger:
    permissions.check_edit(principal, trigger.workflow)
    with tenant([trigger.team_id]):
        trigger.listens_until = None
        trigger.save(update_fields=["listens_until"])
    return trigger


def receive_test_call(trigger: Trigger, call: ReceivedCall) -> Answer:
    """Start a run of the draft for the member who waits. Raises CallRefused if nobody waits, or for a wrong call."""
    with tenant([trigger.team_id]):
        if trigger.workflow.is_archived or not _take_turn(trigger):
            message = _(
                "Nobody waits for a test call. Press “Wait for a test call” under Triggers first."
            )
            raise CallRefused(message, status=404)
    try:
        answer = _start_draft(trigger, call)
    except FAULTS as fault:
        _store(trigger, {"error": describe_error(fault), "method": call.method})
        raise
    return answer


def _start_draft(trigger: Trigger, call: ReceivedCall) -> Answer:
    with tenant([trigger.team_id]):
        node = find_draft_node(trigger.workflow, trigger.node_id)
        config = read_config(dict(node.data))
        check_call(config, call, read_secret(trigger))
        if trigger.listener is None:
            raise NotFound
        values = read_values(config, call)
        run = start_run_of_call(
            load_user_principal(trigger.listener), trigger, values, version="draft"
        )
    _store(trigger, values.whole_call, test_run_id=run.pk)
    return build_answer(config, run)


def _take_turn(trigger: Trigger) -> bool:
    """End the waiting, and return whether this call is the one that was waited for."""
    rows = Trigger.objects.unscoped().filter(pk=trigger.pk, listens_until__gt=timezone.now())
    return rows.update(listens_until=None) == 1


def _store(trigger: Trigger, call: object, **fields: object) -> None:
    """Store the call, without the webhook's own secret and those of its workflow: nobody reads it but people."""
    with tenant([trigger.team_id]):
        secrets = (*load_secret_values(trigger.workflow_id), read_secret(trigger))
        call = build_redactor(filter(None, secrets)).redact(call)
        Trigger.objects.unscoped().filter(pk=trigger.pk).update(test_call=call, **fields)

"""Pin the outputs that a node returns in runs from the editor instead of running. Pins belong to the team."""

import json
from collections.abc import Collection, Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.engine.foreign_kinds.read_outputs import build_pin_template
from workflows.engine.kind_examples import list_outputs
from workflows.engine.language.document import Json
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.language.values import ELEMENTS, ValueType, describe_type, matches, parse_type
from workflows.errors import ContentTooLarge, InvalidValue
from workflows.execution.kinds import load_kinds
from workflows.models import Edge, Node, Pin, Workflow
from workflows.services import audit_lines
from workflows.services.debugging.subjects import find_subject
from workflows.services.editor.drafts import load_draft


MAX_PIN_LENGTH = 256 * 1024  # characters of JSON; a pin is read with every run from the editor


def pin_node(
    principal: Principal,
    *,
    workflow: Workflow,
    node: str,
    outputs: Mapping[str, Json],
    handle: str | None = None,
    run_id: UUID | None = None,
) -> Pin:
    """Pin a node's outputs, or change them. ``handle``: the branch that the node takes.

    ``run_id``: the run that the outputs are from, with whose person they are erased.

    Raises InvalidValue for an output that doesn't have the type which its node declares; null is
    always allowed, and so are undeclared outputs, which some nodes have.
    """
    permissions.check_edit(principal, workflow)
    if len(json.dumps(outputs)) > MAX_PIN_LENGTH:
        raise ContentTooLarge(_("This output is too large to pin."), field="outputs")
    source = {"subject": find_subject(principal, workflow, run_id)} if run_id else {}
    with tenant([workflow.team_id]):
        row = Node.objects.unscoped().filter(workflow=workflow, key=node, is_note=False).first()
        if row is None:
            raise NotFound
        check_types(row.key, row.kind, row.data, outputs)
        pin, _created = Pin.objects.unscoped().update_or_create(
            workflow=workflow,
            node_key=node,
            defaults={
                "team_id": workflow.team_id,
                "outputs": dict(outputs),
                "handle": handle or None,
                "pinned_by_id": principal.user_id,
                **source,
            },
        )
        audit_lines.record(principal, pin, "workflow.pinned", workflow=str(workflow.pk), node=node)
    return pin


def unpin_node(principal: Principal, *, workflow: Workflow, node: str) -> None:
    """Remove a node's pin, if it has one."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        pin = Pin.objects.unscoped().filter(workflow=workflow, node_key=node).first()
        if pin is None:
            return
        pin.delete()
        audit_lines.record(principal, workflow, "workflow.unpinned", node=node)


def list_branches(workflow: Workflow, node: str) -> list[str]:
    """Return the branches of a node whose kind is missing, of which a pin takes one; none if there is only one.

    The caller has found the workflow and may therefore see it. A run tells which branch another node takes.
    """
    with reading([workflow.team_id]):
        row = Node.objects.unscoped().filter(workflow=workflow, key=node, is_note=False).first()
        if row is None or row.kind in load_kinds():
            return []
        edges = Edge.objects.unscoped().filter(workflow=workflow, source=node).order_by("rank")
        handles = dict.fromkeys(edges.values_list("handle", flat=True))
    handles.pop(FAIL_HANDLE, None)
    return [*handles] if len(handles) > 1 else []


def build_template(workflow: Workflow, node: str) -> dict[str, Json]:
    """Return the outputs with which a pin of a missing type begins: those that other nodes read; else none.

    The caller has found the workflow and may therefore see it.
    """
    document, kinds = load_draft(workflow), load_kinds()
    is_missing = any(each.id == node and each.kind not in kinds for each in document.nodes)
    return build_pin_template(document.nodes, kinds, node) if is_missing else {}


def load_pins(workflow: Workflow) -> dict[str, Json]:
    """Return the pins by node as mocks of the engine. The caller has found the workflow and may therefore see it."""
    with reading([workflow.team_id]):
        return {pin.node_key: pin.mock for pin in Pin.objects.unscoped().filter(workflow=workflow)}


def list_people(workflow: Workflow, nodes: Collection[str]) -> list[str]:
    """Return the people from whose runs the pins of these nodes are. The caller has found the workflow."""
    with reading([workflow.team_id]):
        pins = Pin.objects.unscoped().filter(workflow=workflow, node_key__in=nodes)
        return sorted(set(pins.exclude(subject="").values_list("subject", flat=True)))


def check_types(
    node: str, kind_name: str, data: Mapping[str, Json], outputs: Mapping[str, Json]
) -> None:
    """Raise InvalidValue for the first output that doesn't have the type which its node declares."""
    kind = load_kinds().get(kind_name)
    declared = list_outputs(kind, data) if kind is not None else ()
    types = {output.name: parse_type(output.type) for output in declared}
    for name, value in outputs.items():
        expected = types.get(name)
        if expected is not None and value is not None and not matches(value, expected):
            raise InvalidValue(
                _describe_mismatch(name, value, expected), field=f"outputs.{name}", node=node
            )


def _describe_mismatch(name: str, value: Json, expected: ValueType) -> str:
    """Return a message with the output, its list item if any, its type and the expected type."""
    values = {"output": name, "wanted": str(expected), "given": describe_type(value)}
    if expected in ELEMENTS and isinstance(value, list | tuple):
        element = ELEMENTS[expected]
        for position, item in enumerate(value, start=1):
            if not matches(item, element):
                values |= {
                    "wanted": str(element),
                    "given": describe_type(item),
                    "item": str(position),
                }
                return (
                    _("Item %(item)s of %(output)s is of type %(given)s, expected %(wanted)s.")
                    % values
                )
    return _("%(output)s is of type %(given)s, expected %(wanted)s.") % values

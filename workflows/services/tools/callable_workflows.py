"""The workflows that others can run as sub-workflows, and what is wrong with the nodes that run them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.sub_workflows.form import list_callable_inputs, list_callable_outputs
from workflows.engine.sub_workflows.merging import FIELD as MERGE
from workflows.engine.sub_workflows.merging import list_merged_by
from workflows.models import Workflow
from workflows.models.documents import from_json


SUB_WORKFLOW = "sub-workflow"


@dataclass(frozen=True, slots=True)
class Target:
    """A published workflow with the document of its published version."""

    workflow: Workflow
    document: Document


def find_target(principal: Principal, team_id: UUID, reference: str) -> Target | None:
    """Return the published workflow of a slug or an id that the principal may run, or None."""
    found = _find_row(team_id, reference)
    if found is None or found.published_version is None or found.is_archived:
        return None
    if not permissions.may_run(principal, found):
        return None
    return Target(found, from_json(found.published_version.snapshot.document))


def find_published_document(team_id: UUID, reference: str) -> Document | None:
    """Return the published document of a slug or an id. No permission is checked."""
    row = _find_row(team_id, reference)
    if row is None or row.published_version is None or row.is_archived:
        return None
    return from_json(row.published_version.snapshot.document)


def refresh_outputs(team_id: UUID, document: Document) -> Document:
    """Return the document with the outputs of its sub-workflow nodes as the published versions have them now.

    What reads an output that is gone is then a problem, and what reads a new one is none.
    """
    nodes = [_refresh_node(team_id, node) for node in document.nodes]
    return document if nodes == list(document.nodes) else replace(document, nodes=tuple(nodes))


def has_current_outputs(node: NodeSpec, published: Document) -> bool:
    """Return whether the node lists the outputs that the published workflow has."""
    return node.data.get("outputs") == list_outputs(published)


def list_outputs(published: Document) -> list[Json]:
    """Return the outputs of a published workflow as a sub-workflow node lists them."""
    return [
        {"variable": name, "value_type": value_type}
        for name, value_type in list_callable_outputs(published)
    ]


def _refresh_node(team_id: UUID, node: NodeSpec) -> NodeSpec:
    if node.kind != SUB_WORKFLOW or not node.data.get("workflow"):
        return node
    published = find_published_document(team_id, str(node.data["workflow"]))
    if published is None or has_current_outputs(node, published):
        return node
    return replace(node, data={**node.data, "outputs": list_outputs(published)})


def find_call_problems(
    team_id: UUID, document: Document, workflow_id: UUID | None = None
) -> Iterator[Problem]:
    """Yield the problems of sub-workflow nodes and merging agents that depend on the other workflows of the team.

    ``workflow_id`` is the workflow that the document belongs to, which can't run itself.
    """
    nodes = [node for node in document.nodes if node.kind == SUB_WORKFLOW]
    for node in nodes:
        if reference := str(node.data.get("workflow") or ""):
            yield from _check_node(team_id, node, reference, workflow_id)
    for node in document.nodes:
        for position, reference in enumerate(list_merged_by(node)):
            merged = _find_row(team_id, reference)
            field = f"{MERGE}.{position}"
            yield from _check_workflow(node, field, reference, merged, workflow_id)


def _check_workflow(
    node: NodeSpec, field: str, reference: str, workflow: Workflow | None, caller_id: UUID | None
) -> Iterator[Problem]:
    """Yield why the node can't run the workflow, if it can't."""
    if workflow is None:
        message = f"There is no workflow {reference} in this team"
        yield Problem("workflow.unknown", message, node=node.id, field=field)
    elif workflow.pk == caller_id:
        message = "A workflow can't run inside itself"
        yield Problem("workflow.circle", message, node=node.id, field=field)
    elif workflow.is_archived or workflow.published_version is None:
        state = "archived" if workflow.is_archived else "not published"
        message = f"The workflow {workflow.name} is {state}"
        yield Problem("workflow.unpublished", message, node=node.id, field=field)


def _check_node(
    team_id: UUID, node: NodeSpec, reference: str, caller_id: UUID | None
) -> Iterator[Problem]:
    workflow = _find_row(team_id, reference)
    problems = [*_check_workflow(node, "workflow", reference, workflow, caller_id)]
    yield from problems
    if problems or workflow is None or workflow.published_version is None:
        return
    inputs = list_callable_inputs(from_json(workflow.published_version.snapshot.document))
    given = node.data.get("inputs")
    values = given if isinstance(given, Mapping) else {}
    for each in inputs:
        if each.required and values.get(each.name) in (None, "", []):
            message = f"{each.label or each.name} is missing"
            yield Problem("input.missing", message, node=node.id, field=f"inputs.{each.name}")
    names = {each.name for each in inputs}
    for name, value in values.items():
        if name not in names and value not in (None, "", []):
            message = f"{name} is not an input of {workflow.name}"
            yield Problem("input.unknown", message, node=node.id, field=f"inputs.{name}")


def _find_row(team_id: UUID, reference: str) -> Workflow | None:
    with tenant([team_id]):
        rows = Workflow.objects.unscoped().filter(team_id=team_id)
        rows = rows.select_related("published_version__snapshot")
        row = rows.filter(slug=reference).first() if reference else None
        if row is None and (workflow_id := _parse_id(reference)) is not None:
            row = rows.filter(pk=workflow_id).first()
    return row


def _parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None

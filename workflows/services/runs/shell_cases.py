"""Load a workflow's stored test cases for the operator at the shell."""

from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.engine.testing.cases import Case, read_case
from workflows.execution.evaluation.case_runner import load_workflows
from workflows.models import DataCase, Workflow
from workflows.services.editor import draft_rows
from workflows.services.tools.callable_workflows import find_published_document


@dataclass(frozen=True, slots=True)
class StoredCases:
    """A workflow's current draft, its test cases, its secrets by name, and the workflows that it runs."""

    team_id: UUID
    document: Document
    cases: list[Case]
    secrets: dict[str, str] = field(repr=False)
    workflows: dict[str, Document] = field(default_factory=dict)


def load_stored_cases(workflow_id: UUID) -> StoredCases | None:
    """Return the workflow's cases, or None if there is no such workflow. No permission is checked."""
    team_id = find_team_id(workflow_id)
    if team_id is None:
        return None
    with tenant([team_id]):
        workflow = Workflow.objects.unscoped().get(pk=workflow_id)
        rows = (
            DataCase.objects.unscoped().filter(data_set__workflow=workflow).order_by("rank", "id")
        )
        document = draft_rows.read_rows(workflow)
        return StoredCases(
            team_id,
            document,
            [read_case(case.spec) for case in rows],
            {name: value for (_area, name), value in draft_rows.read_secrets(workflow).items()},
            load_workflows(document, partial(find_published_document, team_id)),
        )


def find_team_id(workflow_id: UUID) -> UUID | None:
    """Return the id of the team to which the workflow belongs, or None if there is no such workflow."""
    with tenant(Team.objects.values_list("pk", flat=True)):
        workflows = Workflow.objects.unscoped().filter(pk=workflow_id)
        return workflows.values_list("team_id", flat=True).first()

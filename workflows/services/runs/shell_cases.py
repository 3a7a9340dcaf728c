"""A workflow's test cases for who sits at the shell, which is to be on the machine."""

from dataclasses import dataclass, field
from uuid import UUID

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.engine.testing.cases import Case, read_case
from workflows.models import TestCase, Workflow
from workflows.services.editor import draft_rows


@dataclass(frozen=True, slots=True)
class Kept:
    """The draft as it is now, its cases, and what running it needs."""

    team_id: UUID
    document: Document
    cases: list[Case]
    secrets: dict[str, str] = field(repr=False)


def kept_cases(workflow_id: UUID) -> Kept | None:
    team_id = team_of(workflow_id)
    if team_id is None:
        return None
    with tenant([team_id]):
        workflow = Workflow.objects.unscoped().get(pk=workflow_id)
        found = TestCase.objects.unscoped().filter(workflow=workflow)
        return Kept(
            team_id,
            draft_rows.read_rows(workflow),
            [read_case(case.spec) for case in found],
            {name: value for (_area, name), value in draft_rows.read_secrets(workflow).items()},
        )


def team_of(workflow_id: UUID) -> UUID | None:
    """Which of the machine's teams it belongs to."""
    with tenant(Team.objects.values_list("pk", flat=True)):
        found = Workflow.objects.unscoped().filter(pk=workflow_id)
        return found.values_list("team_id", flat=True).first()

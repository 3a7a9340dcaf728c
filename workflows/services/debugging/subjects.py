"""For whom the run was from which a pin or a test case is made."""

from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import reading
from workflows.models import Run, Workflow


def find_subject(principal: Principal, workflow: Workflow, run_id: UUID) -> str:
    """Return the person of the run. Raise NotFound unless it is one of the workflow's that the caller sees."""
    with reading([workflow.team_id]):
        runs = Run.objects.visible_to(principal).filter(workflow=workflow, pk=run_id)
        subject = runs.values_list("subject", flat=True).first()
    if subject is None:
        raise NotFound
    return subject

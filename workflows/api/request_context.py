"""Find the caller of a request and the row that its address names, in one call."""

from uuid import UUID

from django.http import HttpRequest

from accounts.principals import Principal, get_principal
from workflows import selectors
from workflows.models import Run, Workflow


def find_workflow(
    request: HttpRequest, workflow_id: UUID, verb: str = "view"
) -> tuple[Principal, Workflow]:
    """Return the caller and the workflow. Raise NotFound or NotAllowed unless the caller may ``verb`` it."""
    principal = get_principal(request)
    return principal, selectors.find_workflow(principal, workflow_id, verb)


def find_run(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, selectors.find_run(principal, run_id)

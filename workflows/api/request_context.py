"""Find the caller of a request and the row that its address names, in one call."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts.principals import Principal, get_principal
from workflows import selectors
from workflows.errors import NotPublished
from workflows.models import Run, Workflow
from workflows.services.runs.runs import VersionChoice


DRAFT_ON_REQUEST = gettext_lazy(
    'This workflow has not been published yet. Publish it, or run its draft with "version": "draft".'
)


def find_workflow(
    request: HttpRequest, workflow_id: UUID, verb: str = "view"
) -> tuple[Principal, Workflow]:
    """Return the caller and the workflow. Raise NotFound or NotAllowed unless the caller may ``verb`` it."""
    principal = get_principal(request)
    return principal, selectors.find_workflow(principal, workflow_id, verb)


def check_version(workflow: Workflow, version: VersionChoice | None) -> None:
    """Raise NotPublished if the workflow has no version and its draft isn't asked for, which programs must do by name."""
    if version != "draft" and workflow.published_version_id is None:
        raise NotPublished(DRAFT_ON_REQUEST)


def find_run(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, selectors.find_run(principal, run_id)

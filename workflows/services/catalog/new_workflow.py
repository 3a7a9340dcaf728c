"""Create a new workflow: blank, ready to run, or drafted from a description by the team's model."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.language.document import Document, Mode
from workflows.models import Folder, Workflow
from workflows.services.catalog import importing
from workflows.services.catalog.drafting import draft_plan
from workflows.services.catalog.plan import WorkflowPlan
from workflows.services.catalog.workflow_plan import build_blank_document, build_document
from workflows.services.outside_calls import lock_row


def create_blank(
    principal: Principal,
    *,
    team_id: UUID,
    mode: Mode,
    name: str | None = None,
    folder: Folder | None = None,
) -> Workflow:
    """Create a workflow that has only a start node; the rest is added on the canvas."""
    document = build_blank_document(mode, name or _("Untitled workflow"))
    return _create(principal, team_id, document, folder)


def create_ready(
    principal: Principal, *, team_id: UUID, mode: Mode, name: str, folder: Folder | None = None
) -> Workflow:
    """Create a workflow that can be run: it asks a model and remembers what the person says."""
    document = build_document(WorkflowPlan(mode=mode, name=name))
    return _create(principal, team_id, document, folder)


def create_from_description(
    principal: Principal,
    *,
    team_id: UUID,
    description: str,
    name: str = "",
    folder: Folder | None = None,
) -> Workflow:
    """Create a draft that a model planned. Raises NoModelConnected or DraftingFailed."""
    permissions.check_create(principal, team_id)
    document = draft_plan(principal, team_id, description, name=name)
    with tenant([team_id]):
        if folder is not None:
            lock_row(folder)
        return _create(principal, team_id, document, folder)


def suggest_name(team_id: UUID, mode: Mode = Mode.CHAT) -> str:
    """Return a name for a new workflow of this mode that no workflow of the team has."""
    stem = _("My workflow") if mode is Mode.WORKFLOW else _("My chatbot")
    with tenant([team_id]):
        rows = Workflow.objects.unscoped().filter(team_id=team_id, name__startswith=stem)
        used = set(rows.values_list("name", flat=True))
    names = (stem, *(f"{stem} {number}" for number in range(2, len(used) + 2)))
    return next(name for name in names if name not in used)


def _create(
    principal: Principal, team_id: UUID, document: Document, folder: Folder | None
) -> Workflow:
    permissions.check_create(principal, team_id)
    return importing.create_from_document(
        principal, team_id=team_id, document=document, folder=folder, action="workflow.created"
    )

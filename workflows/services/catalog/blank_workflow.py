"""Create an empty workflow."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows import permissions
from workflows.engine.language.document import Document, Mode, NodeSpec, Position
from workflows.engine.language.dsl.versions import DIFY
from workflows.models import Folder, Workflow
from workflows.services.catalog import importing


START = Position(80.0, 160.0)


def create_blank(
    principal: Principal,
    *,
    team_id: UUID,
    mode: Mode,
    name: str | None = None,
    folder: Folder | None = None,
) -> Workflow:
    """Create a workflow that has only a start node; the rest is added on the canvas."""
    permissions.check_create(principal, team_id)
    start = NodeSpec(
        id="start",
        kind="start",
        title=_("Start"),
        data={"type": "start", "title": _("Start"), "variables": []},
        position=START,
    )
    document = Document(
        mode=mode, nodes=(start,), edges=(), name=name or _("Untitled workflow"), version=DIFY
    )
    return importing.create_from_document(
        principal, team_id=team_id, document=document, folder=folder, action="workflow.created"
    )

"""Workflows as tools: which of them offer themselves, and what models are told about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.access import Principal
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.engine.tool_calls import ToolSpec
from workflows.execution.ports.workflow_tools import describe_workflow
from workflows.models import Workflow
from workflows.services import audit_lines
from workflows.services.editor.drafts import lock
from workflows.services.publishing import list_published_workflows


MAX_DESCRIPTION = 2_000  # characters


@dataclass(frozen=True, slots=True)
class WorkflowTool:
    """A published workflow that can be used as a tool."""

    workflow: Workflow
    spec: ToolSpec


def change_tool_settings(
    principal: Principal, *, workflow: Workflow, is_tool: bool, description: str | None = None
) -> Workflow:
    """Let the workflow be used as a tool, or not. The description stays unchanged if it is None."""
    permissions.check_edit(principal, workflow)
    with tenant([workflow.team_id]):
        locked = lock(workflow)
        locked.is_tool = is_tool
        if description is not None:
            locked.tool_description = description.strip()[:MAX_DESCRIPTION]
        locked.save(update_fields=["is_tool", "tool_description", "updated_at"])
        audit_lines.record(principal, locked, "workflow.tool_changed", is_tool=is_tool)
    return locked


def list_workflow_tools(principal: Principal, team_id: UUID) -> Sequence[WorkflowTool]:
    """Return the published workflows of the team that offer themselves as tools and that the principal may run."""
    with reading([team_id]):
        return [
            WorkflowTool(workflow, describe_workflow(workflow))
            for workflow in list_published_workflows(principal, team_id, "name", "id")
            if workflow.is_tool
        ]

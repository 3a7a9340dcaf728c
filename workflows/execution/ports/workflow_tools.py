"""Published workflows as tools: what a model is told about them, and their calls as child runs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from accounts.principals import RunPrincipal
from accounts.tenancy import tenant
from workflows.engine.errors import SubWorkflowUnavailable, ToolFailed
from workflows.engine.language.document import Document, Json
from workflows.engine.nodes.agent.tool_use.merged_functions import MergedWorkflow
from workflows.engine.ports import SubWorkflowPort
from workflows.engine.sub_workflows.form import build_input_schema, list_callable_inputs
from workflows.engine.sub_workflows.tools import get_slug, run_workflow_tool
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult, ToolSpec
from workflows.execution.claims import Claim
from workflows.execution.ports.children import find_published, load_principal
from workflows.execution.ports.published_versions import Approval, compute_version
from workflows.execution.threads import run_in_thread
from workflows.models import Workflow
from workflows.models.documents import from_json, read_document


# What the interfaces of models accept as the name of a tool.
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MADE_NAME: Final = re.compile(r"workflow_([0-9a-f]{12})")


@dataclass(frozen=True, slots=True)
class WorkflowTools:
    """Implements ``engine.tool_calls.ToolPort`` for the workflows of a team that can be used as tools."""

    claim: Claim
    children: SubWorkflowPort

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        return await run_in_thread(self._find_all, references)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        return await run_workflow_tool(
            self.children, tool, arguments, idempotency_key=idempotency_key
        )

    async def load(self, reference: str) -> MergedWorkflow:
        """Load a workflow that the run merges. Raises ToolFailed if the run may not use it."""
        return await run_in_thread(self._load, reference)

    def _load(self, reference: str) -> MergedWorkflow:
        principal = load_principal(self.claim)
        approval = Approval.read(self.claim.row)
        with tenant([self.claim.team_id]):
            try:
                workflow = find_published(principal, self.claim.team_id, reference, approval)
            except SubWorkflowUnavailable as missing:
                raise ToolFailed(missing.message) from missing
            version = workflow.published_version
            document = from_json({}) if version is None else read_document(version.snapshot)
            description = workflow.tool_description or workflow.description
            return MergedWorkflow(
                workflow.slug,
                workflow.name,
                description,
                document,
                version=compute_version(workflow, approval),
            )

    def _find_all(self, references: Sequence[ToolReference]) -> list[Tool]:
        principal = load_principal(self.claim)
        with tenant([self.claim.team_id]):
            return [find_workflow_tool(principal, self.claim, each) for each in references]


def find_workflow_tool(principal: RunPrincipal, claim: Claim, reference: ToolReference) -> Tool:
    """Return the tool of a workflow. Raises ToolFailed if there is none that the run may use."""
    slug, approval = get_slug(reference), Approval.read(claim.row)
    try:
        workflow = find_published(principal, claim.team_id, slug, approval)
    except SubWorkflowUnavailable as missing:
        raise ToolFailed(missing.message) from missing
    if not workflow.is_tool:
        raise ToolFailed(f"The workflow {workflow.name} can't be used as a tool")
    version = compute_version(workflow, approval)
    return Tool(reference, describe_workflow(workflow), version=version)


def describe_workflow(workflow: Workflow) -> ToolSpec:
    """Return what a model is told about a published workflow: its name, purpose and inputs."""
    version = workflow.published_version
    document = read_document(version.snapshot) if version is not None else None
    return build_spec(workflow, document)


def build_spec(workflow: Workflow, document: Document | None) -> ToolSpec:
    description = workflow.tool_description or workflow.description or workflow.name
    inputs = list_callable_inputs(document) if document is not None else ()
    schema = build_input_schema(inputs)
    aliases = (workflow.name, workflow.slug)
    return ToolSpec(get_tool_name(workflow), description, schema, aliases=aliases)


def get_tool_name(workflow: Workflow) -> str:
    """Return the short name, or one made from the id if models don't accept the short name."""
    if _TOOL_NAME.fullmatch(workflow.slug):
        return workflow.slug
    return f"workflow_{workflow.pk.hex[-12:]}"


def match_tool_name(name: str) -> Q:
    """Return the condition for the few workflows of which one may have this name as a tool (``get_tool_name``)."""
    if not _TOOL_NAME.fullmatch(name):
        return Q(pk__in=())
    condition = Q(slug=name)
    if match := _MADE_NAME.fullmatch(name):
        condition |= Q(pk__endswith=match[1])
    return condition

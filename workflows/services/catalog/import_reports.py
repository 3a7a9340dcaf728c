"""Report what a document or a draft wants that this installation or the team lacks."""

from typing import Final
from uuid import UUID

from accounts.access import Principal
from workflows import permissions
from workflows.engine.import_report.building import build_report
from workflows.engine.import_report.data_sets import list_data_sets
from workflows.engine.import_report.report import ImportReport, Inventory, ModelAnswer
from workflows.engine.language.document import Document
from workflows.engine.nodes.agent.tool_use.tool_references import list_named_tools
from workflows.engine.nodes.memory.citations import CITATIONS
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.models import load_directory
from workflows.llm.config import DEFAULT, OFFLINE, normalize_name
from workflows.llm.directory import ModelDirectory
from workflows.llm.offline.script import SCRIPT
from workflows.llm.sent_parameters import SENT_PARAMETERS
from workflows.models import Workflow
from workflows.services.catalog.knowledge_mappings import find_knowledge_bases
from workflows.services.chat.suggestions import FOLLOW_UPS
from workflows.services.editor.code_problems import list_modules
from workflows.services.editor.drafts import list_problems, load_draft
from workflows.services.models.mappings import join_name
from workflows.services.tools.tool_problems import load_fault_finder


# The features of an application, beside its texts, that are carried out.
FEATURES: Final = frozenset({"file_upload", CITATIONS, FOLLOW_UPS})


def report_workflow(
    principal: Principal, workflow: Workflow, *, with_problems: bool = True
) -> ImportReport:
    """Return what the workflow's draft lacks now.

    Without its problems, which take longer to find, nodes with an error count as working.
    """
    permissions.check_view(principal, workflow)
    document = load_draft(workflow)
    problems = list_problems(workflow, document) if with_problems else ()
    inventory = build_inventory(workflow.team_id, document, principal)
    return build_report(document, inventory, problems)


def report_document(document: Document) -> ImportReport:
    """Return what a document lacks in this installation."""
    return build_report(document, build_inventory(None, document))


def build_inventory(
    team_id: UUID | None, document: Document, principal: Principal | None = None
) -> Inventory:
    """Return what the installation and the team have, as far as the document may want it and the principal may view it."""
    directory = load_directory(team_id) if team_id else ModelDirectory()
    data_sets = [each for node in document.nodes for each in list_data_sets(node)]
    knowledge_bases = (
        find_knowledge_bases(principal, team_id, data_sets) if principal and team_id else {}
    )
    tools = [tool for node in document.nodes for tool in list_named_tools(node)]
    return Inventory(
        kinds=load_kinds(),
        find_model=lambda provider, model: _find_model(directory, provider, model),
        find_tool_fault=load_fault_finder(team_id, tools),
        find_knowledge_base=lambda data_set: knowledge_bases.get(data_set, ""),
        modules=list_modules(),
        model_parameters=SENT_PARAMETERS | {SCRIPT},
        features=FEATURES,
        has_reranker=lambda provider, model: directory.find_reranker(provider, model) is not None,
    )


def _find_model(directory: ModelDirectory, provider: str, model: str) -> ModelAnswer:
    """Return the model that answers. One that the team mapped counts as the named one: the team has decided."""
    resolution = directory.resolve(provider, model)
    name = normalize_name(provider)
    is_chosen = directory.has_mapping(provider, model)
    is_named = is_chosen or name in (OFFLINE, DEFAULT) or name in directory.configs
    return ModelAnswer(
        join_name(resolution.provider, resolution.model if not resolution.is_offline else ""),
        is_named,
        reads_images=not resolution.is_offline,
        is_demo=resolution.is_offline,
    )

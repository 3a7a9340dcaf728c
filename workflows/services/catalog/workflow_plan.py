"""The document of a plan. Its nodes are added by the editor's own operations, so they have the defaults of new nodes."""

from django.utils.translation import gettext as _

from workflows.engine.editing import InMemoryStore, perform
from workflows.engine.language.document import Document, Json, Mode, NodeSpec
from workflows.engine.language.dsl.versions import DIFY
from workflows.engine.nodes.memory.citations import CITATIONS
from workflows.services.catalog.plan import PlannedInput, WorkflowPlan
from workflows.services.catalog.plan_nodes import START, PlanNodes
from workflows.services.editing.operation_context import build_context


def build_document(plan: WorkflowPlan) -> Document:
    """Return the document of the plan, which can be run."""
    blank = build_blank_document(plan.mode, plan.name, _list_variables(plan))
    store, context = InMemoryStore(blank), build_context()
    perform(store, PlanNodes(plan, context.kinds).build_ops(), context)
    document = store.build_document()
    return Document(
        mode=document.mode,
        nodes=document.nodes,
        edges=document.edges,
        name=plan.name,
        description=plan.description,
        features=_build_features(plan),
        version=DIFY,
    )


def build_blank_document(mode: Mode, name: str, variables: list[Json] | None = None) -> Document:
    """Return a document that has only a start node."""
    data: dict[str, Json] = {"type": "start", "title": _("Start"), "variables": variables or []}
    start = NodeSpec(id="start", kind="start", title=_("Start"), data=data, position=START)
    features = build_default_features(mode)
    return Document(mode=mode, nodes=(start,), edges=(), name=name, features=features, version=DIFY)


def build_default_features(mode: Mode) -> dict[str, Json]:
    """Return the features of a new workflow: a chat shows the knowledge pages that its answers rest on."""
    return {CITATIONS: {"enabled": True}} if mode is Mode.CHAT else {}


def _list_variables(plan: WorkflowPlan) -> list[Json]:
    if plan.mode is Mode.CHAT:
        return []
    inputs = plan.inputs or (PlannedInput("text", _("Text")),)
    return [
        {
            "variable": item.name,
            "label": item.label,
            "type": "paragraph" if item.is_long else "text-input",
            "required": True,
        }
        for item in inputs
    ]


def _build_features(plan: WorkflowPlan) -> dict[str, Json]:
    features = build_default_features(plan.mode)
    if plan.opening:
        features["opening_statement"] = plan.opening
    if plan.questions:
        features["suggested_questions"] = [*plan.questions]
    return features

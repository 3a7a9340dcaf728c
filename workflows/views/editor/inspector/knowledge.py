"""The choices in the form of a node that searches knowledge bases."""

from typing import Any, Final

from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.nodes.agent.agent import Agent
from workflows.engine.nodes.memory.knowledge.metadata_filters import OPERATORS, get_operator_label
from workflows.engine.nodes.memory.knowledge.questions import METADATA_NAMES
from workflows.engine.nodes.memory.knowledge_retrieval import KnowledgeRetrieval
from workflows.engine.nodes.memory.memory_recall import MemoryRecall
from workflows.models import Workflow
from workflows.views.editor.inspector.models import build_rerank_choices
from workflows.views.phrases import translate_text


KNOWLEDGE_KINDS: Final = frozenset({Agent.name, KnowledgeRetrieval.name, MemoryRecall.name})


def build_knowledge_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Build the context: the knowledge bases that the person may view, and what conditions on pages compare."""
    choices: list[memory_app.ChoosableKnowledgeBase] = []
    if memory_app.is_on():
        caller = memory_app.MemoryCaller(principal, workflow.team_id)
        choices = memory_app.list_choosable_knowledge_bases(caller)
    return {
        "knowledge_choices": choices,
        "rerank_choices": build_rerank_choices(principal, workflow),
        "knowledge_namespaces": [choice.namespace for choice in choices],
        "page_metadata_names": METADATA_NAMES,
        "page_operators": [(name, translate_text(get_operator_label(name))) for name in OPERATORS],
    }

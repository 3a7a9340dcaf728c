"""Warns of agents that get memories from the workflows that they call, and text from outside from other tools."""

from collections.abc import Iterator
from uuid import UUID

from pydantic import ValidationError

from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.memory_usage import recalls_memory
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.agent.agent import Agent, list_open_tools
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_use.tool_references import iter_workflow_references
from workflows.engine.sub_workflows.children import MAX_DEPTH
from workflows.engine.sub_workflows.tools import WORKFLOW, get_slug
from workflows.execution.kinds import load_kinds
from workflows.services.tools.callable_workflows import find_published_document


def find_recalling_problems(team_id: UUID, document: Document) -> Iterator[Problem]:
    """Yield a warning for each agent whose page could tell it to send away what a called workflow remembers.

    An agent with memory of its own has the warning anyway.
    """
    for node in document.nodes:
        config = _read_config(node)
        if config is None or config.has_memory:
            continue
        tools = list_open_tools(config)
        names = [tool.name for tool in tools if tool.source != WORKFLOW]
        slugs = [
            get_slug(tool.reference)
            for tool in config.all_tools
            if names and tool.source == WORKFLOW
        ]
        recalling = [slug for slug in slugs if _recalls(team_id, slug)]
        if recalling:
            message = (
                f"{', '.join(recalling)} gives the agent memories, and text from outside reaches it"
                f" through {', '.join(names)}: let a person allow each call of these tools"
            )
            yield build_warning("agent.outside", message, node=node.id, field="tools")


def _read_config(node: NodeSpec) -> AgentConfig | None:
    if node.kind != Agent.name:
        return None
    try:
        return AgentConfig.model_validate(dict(node.data))
    except ValidationError:
        return None  # an incomplete draft, which has other problems


def _recalls(team_id: UUID, reference: str) -> bool:
    """Return whether a published workflow, or one that it runs, is shown memories."""
    kinds, visited, level = load_kinds(), {reference}, [reference]
    for _depth in range(MAX_DEPTH):
        documents = [
            document for name in level if (document := find_published_document(team_id, name))
        ]
        if any(recalls_memory(document, kinds) for document in documents):
            return True
        called = {name for each in documents for name in iter_workflow_references(each)}
        level = sorted(called - visited)
        visited |= called
    return False

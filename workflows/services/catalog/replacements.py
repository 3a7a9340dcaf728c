"""Replace a tool that a document names by one of the team, in all nodes of the draft at once."""

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows import permissions
from workflows.engine.editing.ops import Op, Set
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_node.tool_arguments import merge_arguments
from workflows.engine.nodes.agent.tool_node.tool_choice import build_tool_data, get_named_tool
from workflows.engine.nodes.agent.tool_use.tool_references import list_named_tools
from workflows.models import Workflow
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import edit
from workflows.services.editor.drafts import load_draft
from workflows.services.tools.catalog import CatalogTool


def replace_tool(
    principal: Principal, *, workflow: Workflow, provider: str, name: str, tool: CatalogTool
) -> Change:
    """Let every node that names the tool call another one. Undo brings the old one back.

    Arguments that the new tool has under the same name are kept; it would refuse the others.
    """
    permissions.check_edit(principal, workflow)
    document = load_draft(workflow)
    ops = [op for node in document.nodes for op in _iter_ops(node, provider, name, tool)]
    names = {"name": name[:100], "new": _translate_title(tool)[:100]}
    label = _("Replace the tool %(name)s by %(new)s") % names
    return edit(principal, workflow=workflow, ops=ops, label=label)


def _translate_title(tool: CatalogTool) -> str:
    return _(tool.title) if tool.reference.source == "builtin" else tool.title


def _iter_ops(node: NodeSpec, provider: str, name: str, tool: CatalogTool) -> Iterator[Op]:
    if node.kind == "tool" and get_named_tool(node.data) == (name, provider):
        for key, value in _build_node_data(node, tool).items():
            yield Set(node.id, (key,), value)
    elif node.kind == "agent":
        named = [each.reference for each in list_named_tools(node)]
        if any((each.name, each.provider) == (name, provider) for each in named):
            yield Set(node.id, ("tools",), _build_agent_tools(node, provider, name, tool))


def _build_node_data(node: NodeSpec, tool: CatalogTool) -> dict[str, Json]:
    properties = tool.tool.spec.parameters.get("properties") or {}
    arguments = {
        key: value for key, value in merge_arguments(node.data).items() if key in properties
    }
    return {
        **build_tool_data(tool.reference, tool.title),
        "tool_parameters": arguments,
        "tool_configurations": {},
    }


def _build_agent_tools(
    node: NodeSpec, provider: str, name: str, tool: CatalogTool
) -> list[dict[str, Json]]:
    """Return all tools of an agent under the names of this product, which have priority over those of another one."""
    tools = AgentConfig.model_validate(dict(node.data)).tools
    new: Mapping[str, Json] = {
        "source": tool.reference.source,
        "provider": tool.reference.provider,
        "name": tool.reference.name,
        "settings": {},
        "description": "",
    }
    return [
        each.model_dump(mode="json")
        | (dict(new) if (each.name, each.provider) == (name, provider) else {})
        for each in tools
    ]

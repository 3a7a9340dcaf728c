"""The tools that a node names: those of an agent, and that of a tool node."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.nodes.agent.agent_config import AgentConfig
from workflows.engine.nodes.agent.tool_node.tool_choice import read_reference
from workflows.engine.sub_workflows.merging import list_merged_by
from workflows.engine.tool_calls import ToolReference


class NamedTool(NamedTuple):
    """A tool with the field that names it."""

    field: str
    reference: ToolReference


def list_named_tools(node: NodeSpec) -> tuple[NamedTool, ...]:
    """Return the tools that the node may call; none for an incomplete draft, and for other kinds."""
    if node.kind == "tool":
        reference = read_reference(node.data)
        return (NamedTool("tool_name", reference),) if reference is not None else ()
    if node.kind != "agent":
        return ()
    try:
        tools = AgentConfig.model_validate(dict(node.data)).tools
    except ValidationError:
        return ()
    return tuple(
        NamedTool(f"tools.{index}.name", tool.reference)
        for index, tool in enumerate(tools)
        if tool.enabled
    )


def iter_workflow_references(document: Document) -> Iterator[str]:
    """Yield the slug or id of each workflow that the document's nodes run: as a sub-workflow, a tool or a merged one."""
    for node in document.nodes:
        if node.kind == "sub-workflow" and node.data.get("workflow"):
            yield str(node.data["workflow"])
        yield from list_merged_by(node)
        for named in list_named_tools(node):
            if named.reference.source == "workflow":
                yield named.reference.provider or named.reference.name

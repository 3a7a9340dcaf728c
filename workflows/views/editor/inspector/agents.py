"""The choices in an agent's form: the tools of the team, and what the agent may do with memory."""

from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.language.document import Json
from workflows.engine.language.memory_usage import SCOPES
from workflows.engine.nodes.memory.memory_access import PAGE_SCOPES
from workflows.models import Workflow
from workflows.services.tools.catalog import CatalogTool, list_tool_groups
from workflows.views.editor.inspector.callable_workflows import list_workflow_choices
from workflows.views.phrases import translate_text


TOOL_SOURCES: Final[tuple[tuple[str, str | Promise], ...]] = (
    ("builtin", gettext_lazy("Built-in")),
    ("openapi", gettext_lazy("API")),
    ("mcp", gettext_lazy("MCP server")),
    ("workflow", gettext_lazy("Workflow")),
    ("plugin", gettext_lazy("Plug-in")),
)
# Tool of memory, its label, and whether it is about pages, which have fewer scopes.
_MEMORY_TOOLS: Final[tuple[tuple[str, str | Promise, bool], ...]] = (
    ("recall", gettext_lazy("Recall"), False),
    ("remember", gettext_lazy("Remember"), False),
    ("forget", gettext_lazy("Forget"), False),
    ("search_pages", gettext_lazy("Search pages"), True),
    ("write_page", gettext_lazy("Write pages"), True),
    ("read_page", gettext_lazy("Read a page with its sources"), True),
    ("add_source", gettext_lazy("Add sources of pages"), True),
    ("link_pages", gettext_lazy("Link pages"), True),
    ("compile_page", gettext_lazy("Compile pages by rules"), True),
    ("list_stale", gettext_lazy("List stale pages"), True),
    ("lint_pages", gettext_lazy("Check pages"), True),
    ("wiki_log", gettext_lazy("Read the log of pages"), True),
)
_MAX_DESCRIPTION: Final = 200


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool of the picker; ``entry`` is added to the node's list of tools."""

    title: str
    description: str
    entry: Json


@dataclass(frozen=True, slots=True)
class ToolGroup:
    label: str
    tools: tuple[ToolChoice, ...]


def build_agent_choices(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Build the context of the fields of agents."""
    choices = list_workflow_choices(principal, workflow)
    return {
        "tool_groups": _list_groups(principal, workflow),
        "tool_sources": TOOL_SOURCES,
        "workflow_choices": choices,
        "workflow_slugs": [slug for slug, _name in choices],
        "memory_scopes": [(scope, translate_text(label)) for scope, label in SCOPES],
        "memory_tools": [
            (name, label, [scope for scope, _label in (PAGE_SCOPES if is_page else SCOPES)])
            for name, label, is_page in _MEMORY_TOOLS
        ]
        if memory_app.is_on()
        else [],
    }


def _list_groups(principal: Principal, workflow: Workflow) -> list[ToolGroup]:
    """Return all tools of the team; a workflow is no tool of its own agents."""
    groups = list_tool_groups(principal, workflow.team_id, except_workflow=workflow.pk)
    return [ToolGroup(group.label, tuple(map(_build_choice, group.tools))) for group in groups]


def _build_choice(tool: CatalogTool) -> ToolChoice:
    reference = tool.reference
    title = translate_text(tool.title) if reference.source == "builtin" else tool.title
    provider = {"provider": reference.provider} if reference.provider else {}
    return ToolChoice(
        title,
        tool.tool.spec.description[:_MAX_DESCRIPTION],
        {"source": reference.source, **provider, "name": reference.name},
    )

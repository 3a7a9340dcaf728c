"""The choices in an agent's form: the tools of the team, and what the agent may do with memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.principals import Principal
from workflows import memory_app
from workflows.engine.language.document import Json
from workflows.engine.language.memory_usage import SCOPES
from workflows.engine.nodes.agent.agent_config import ALL_TOOLS
from workflows.engine.nodes.agent.agent_fields import INITIAL_MEMORY_TOOLS
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


# The icon of a tool: of its own, or that of its source.
_TOOL_ICONS: Final[Mapping[str, str]] = {
    "calculator": "usage",
    "http_request": "http",
    "json_query": "code",
    "time": "clock",
    "web_page": "globe",
}
_SOURCE_ICONS: Final[Mapping[str, str]] = {
    "builtin": "tool",
    "mcp": "link",
    "openapi": "http",
    "plugin": "plus",
    "workflow": "workflow",
}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool of the picker; ``entry`` is added to the node's list of tools."""

    title: str
    description: str
    icon: str
    entry: Json = None


class ToolChoices:
    """Finds what the form shows of a tool in the node's list."""

    def __init__(self, groups: Iterable["ToolGroup"]) -> None:
        choices = (choice for group in groups for choice in group.tools)
        self._choices = {_identify(choice.entry): choice for choice in choices}

    def find(self, entry: Json) -> ToolChoice:
        """Return the tool of the catalog; for one that isn't there, what the node says of it."""
        if choice := self._choices.get(_identify(entry)):
            return choice
        source, provider, name = _identify(entry)
        icon = _SOURCE_ICONS.get(source, "tool")
        if not name:
            return ToolChoice(_("No tool chosen"), _("It is left out."), icon)
        if name == ALL_TOOLS:
            return ToolChoice(_("All tools of %(provider)s") % {"provider": provider}, "", icon)
        return ToolChoice(name, _("Not connected"), icon)


@dataclass(frozen=True, slots=True)
class ToolGroup:
    label: str
    tools: tuple[ToolChoice, ...]


def build_agent_choices(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Build the context of the fields of agents."""
    choices = list_workflow_choices(principal, workflow)
    groups = _list_groups(principal, workflow)
    return {
        "tool_groups": groups,
        "tool_choices": ToolChoices(groups),
        "tool_sources": TOOL_SOURCES,
        "workflow_choices": choices,
        "workflow_slugs": [slug for slug, _name in choices],
        "initial_memory_tools": INITIAL_MEMORY_TOOLS,
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
    is_own = reference.source == "builtin"  # whose texts are those of the product
    description = tool.tool.spec.description
    provider = {"provider": reference.provider} if reference.provider else {}
    return ToolChoice(
        _(tool.title) if is_own else tool.title,
        (_(description) if is_own and description else description)[:_MAX_DESCRIPTION],
        (is_own and _TOOL_ICONS.get(reference.name)) or _SOURCE_ICONS.get(reference.source, "tool"),
        {"source": reference.source, **provider, "name": reference.name},
    )


def _identify(entry: Json) -> tuple[str, str, str]:
    """Return source, provider and name of a tool in a node's list."""
    if not isinstance(entry, Mapping):
        return ("builtin", "", "")
    source, provider, name = (str(entry.get(key) or "") for key in ("source", "provider", "name"))
    return (source or "builtin", provider, name)

"""Finds the tool that a node's document names, in Dify's and in xworkflow's form."""

import re
from collections.abc import Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolReference, ToolSource


# The provider of the built-in tools in documents that are written here.
OWN_PROVIDER: Final = "mnemoflow"

# Dify's built-in tools that exist here, too, by provider; see ``workflows.engine.tools.dify``.
DIFY_TOOLS: Final[Mapping[str, frozenset[str]]] = {
    "time": frozenset(
        {
            *("current_time", "timezone_conversion", "weekday"),
            *("localtime_to_timestamp", "timestamp_to_localtime"),
        }
    ),
    "maths": frozenset({"eval_expression"}),
    "webscraper": frozenset({"webscraper"}),
    "json_process": frozenset({"parse", "json_delete", "json_insert", "json_replace"}),
    "tavily": frozenset({"tavily_search", "tavily_extract"}),
    "google": frozenset({"google_search"}),
    "searxng": frozenset({"searxng_search"}),
    "duckduckgo": frozenset({"ddgo_search"}),
    "wikipedia": frozenset({"wikipedia_search"}),
    **dict.fromkeys(("jina", "jina_tool"), frozenset({"jina_reader", "jina_search"})),
    "firecrawl": frozenset({"scrape", "map"}),
}
# Dify's types of providers other than its built-in ones → the sources here.
_SOURCES: Final[Mapping[str, ToolSource]] = {
    "api": "openapi",
    "mcp": "mcp",
    "plugin": "plugin",
    "workflow": "workflow",
}
_PROVIDER_TYPES: Final[Mapping[ToolSource, str]] = {
    **{source: provider_type for provider_type, source in _SOURCES.items()},
    "builtin": "builtin",
}
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def read_reference(data: Mapping[str, Json]) -> ToolReference | None:
    """Return the tool that a node calls, or None if it names none or one of a product's that does not exist here."""
    name = _read_text(data, "tool_name")
    if not name:
        return None
    # A tool that was chosen here is in Dify's form, also in a document of xworkflow.
    if not data.get("provider_id") and (server := _read_server_name(data)):
        return ToolReference("mcp", name, server)
    provider_type, provider = _read_text(data, "provider_type"), _read_text(data, "provider_id")
    if provider_type in ("", "builtin") or "/" in provider:
        return _find_builtin(provider, name)
    source = _SOURCES.get(provider_type)
    if source is None:
        return None
    if source == "plugin":
        return ToolReference("plugin", name)
    # Dify names a provider by an id of its own database, which says nothing here.
    is_foreign = not provider or _UUID.fullmatch(provider)
    return ToolReference(
        source, name, _read_text(data, "provider_name") if is_foreign else provider
    )


def build_tool_data(reference: ToolReference, label: str) -> dict[str, Json]:
    """Return the part of a node's data that names the tool, in Dify's form."""
    provider = reference.provider or (
        OWN_PROVIDER if reference.source == "builtin" else reference.source
    )
    return {
        "provider_type": _PROVIDER_TYPES[reference.source],
        "provider_id": provider,
        "provider_name": provider,
        "tool_name": reference.name,
        "tool_label": label or reference.name,
        "tool_node_version": "2",
    }


def describe_choice(data: Mapping[str, Json]) -> str:
    """Return the name of the tool and of its provider, as the document has them."""
    name, provider = get_named_tool(data)
    return f"{name} of {provider}" if provider else name


def get_named_tool(data: Mapping[str, Json]) -> tuple[str, str]:
    """Return the names of the tool and of its provider, as the document has them."""
    provider = (
        _read_text(data, "provider_name")
        or _read_text(data, "provider_id")
        or _read_server_name(data)
    )
    return _read_text(data, "tool_name"), provider


def is_known_tool(provider: str, name: str) -> bool:
    """Return whether a built-in tool stands in for the tool of another product.

    A provider that moved into Dify's marketplace has a path, such as langgenius/time/time.
    """
    return name in DIFY_TOOLS.get(provider.rsplit("/", 1)[-1], ())


def _find_builtin(provider: str, name: str) -> ToolReference | None:
    if provider in ("", "builtin", OWN_PROVIDER):
        return ToolReference("builtin", name)
    return ToolReference("builtin", name) if is_known_tool(provider, name) else None


def _read_server_name(data: Mapping[str, Json]) -> str:
    """Return the name of xworkflow's MCP server, or the address of one that is written in the node."""
    if reference := _read_text(data, "mcp_server_ref"):
        return reference
    server = data.get("mcp_server")
    if isinstance(server, Mapping):
        return next(
            (text for key in ("name", "url", "command") if (text := _read_text(server, key))), ""
        )
    return server.strip() if isinstance(server, str) else ""


def _read_text(data: Mapping[str, Json], key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""

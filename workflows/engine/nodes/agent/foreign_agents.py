"""Reads the agents of Dify and xworkflow as settings of this engine, without changing the document.

A setting under its name here has priority, so that an imported agent can be edited.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_node.tool_choice import is_known_tool


Data = dict[str, Json]

# The names of Dify's strategies, in lower case, without hyphens → the strategies here.
_STRATEGIES: Final[Mapping[str, str]] = {
    "function_calling": "function_calling",
    "functioncalling": "function_calling",
    "mcp_agent": "function_calling",
    "react": "react",
    "mcp_react": "react",
    "chain_of_thought": "react",
    "cot": "react",
}
# Dify's types of tools → the sources here. Tools of plug-ins are "builtin" too; their providers have a slash.
_SOURCES: Final[Mapping[str, str]] = {
    "builtin": "builtin",
    "plugin": "plugin",
    "api": "openapi",
    "workflow": "workflow",
    "mcp": "mcp",
}
_ALL_TOOLS: Final = "*"


def read_agent_data(data: Json) -> Json:
    """Return the data of an agent with the names of this engine."""
    if not isinstance(data, Mapping):
        return data
    if "agent_parameters" in data or "agent_strategy_name" in data:
        return {**_read_dify(data), **data}
    names = ("system_prompt", "max_iterations")
    if any(name in data for name in names) or isinstance(data.get("tools"), Mapping):
        return _read_xworkflow(dict(data))
    return data


# -- Dify -----------------------------------------------------------------------------------------


def _read_dify(data: Mapping[str, Json]) -> Data:
    parameters = data.get("agent_parameters")
    values = dict(_iter_values(parameters if isinstance(parameters, Mapping) else {}))
    result: Data = {"strategy": _read_strategy(data.get("agent_strategy_name"))}
    model = values.get("model")
    if isinstance(model, Mapping):
        result["model"] = {**model, "name": model.get("model") or model.get("name") or ""}
    for name in ("instruction", "query"):
        if isinstance(values.get(name), str):
            result[name] = values[name]
    rounds = values.get("maximum_iterations")
    if isinstance(rounds, int | float | str) and str(rounds).strip():
        result["max_rounds"] = rounds  # pydantic reads numbers written as text
    result["tools"] = [
        *map(_read_dify_tool, _iter_objects(values.get("tools"))),
        *_iter_server_tools(values.get("mcp_server")),
    ]
    return result


def _iter_values(parameters: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield each parameter's value. One that is a variable becomes a text with a reference."""
    for name, parameter in parameters.items():
        if not isinstance(parameter, Mapping) or "value" not in parameter:
            yield name, parameter
        elif parameter.get("type") == "variable" and isinstance(parameter["value"], list | tuple):
            yield name, f"{{{{#{'.'.join(map(str, parameter['value']))}#}}}}"
        else:
            yield name, parameter["value"]


def _read_strategy(name: Json) -> str:
    text = str(name or "function_calling")
    return _STRATEGIES.get(text.lower().replace("-", "_").replace(" ", "_"), text)


def _read_dify_tool(tool: Mapping[str, Json]) -> Data:
    source = _SOURCES.get(str(tool.get("type")), "plugin")
    provider = str(tool.get("provider_name") or tool.get("provider_show_name") or "")
    if source == "builtin":
        is_plugin = "/" in provider and not is_known_tool(provider, str(tool.get("tool_name")))
        source, provider = ("plugin", provider) if is_plugin else ("builtin", "")
    extra = tool.get("extra")
    description = extra.get("description") if isinstance(extra, Mapping) else ""
    return {
        "source": source,
        "provider": provider,
        "name": str(tool.get("tool_name") or ""),
        "description": str(description or tool.get("tool_description") or ""),
        "enabled": tool.get("enabled") is not False,
        "settings": {**_read_manual_parameters(tool), **_read_settings(tool)},
    }


def _read_settings(tool: Mapping[str, Json]) -> Data:
    settings = tool.get("settings")
    return dict(_iter_set_values(settings)) if isinstance(settings, Mapping) else {}


def _read_manual_parameters(tool: Mapping[str, Json]) -> Data:
    """Return the parameters that the author sets, because ``auto`` leaves a parameter to the model."""
    parameters = tool.get("parameters")
    if not isinstance(parameters, Mapping):
        return {}
    manual = {
        name: parameter
        for name, parameter in parameters.items()
        if isinstance(parameter, Mapping) and not parameter.get("auto")
    }
    return dict(_iter_set_values(manual))


def _iter_set_values(settings: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, setting in settings.items():
        value = setting.get("value") if isinstance(setting, Mapping) else setting
        if value is not None:
            yield str(name), value


def _iter_server_tools(servers: Json) -> Iterator[Data]:
    """Yield a reference to all tools of each MCP server, whose address is the name of the connection."""
    for server in servers if isinstance(servers, list) else [servers]:
        if isinstance(server, str) and server.strip():
            yield {"source": "mcp", "provider": server.strip(), "name": _ALL_TOOLS}


# -- xworkflow ------------------------------------------------------------------------------------


def _read_xworkflow(data: Data) -> Data:
    result = dict(data)
    renames = {"system_prompt": "instruction", "max_iterations": "max_rounds"}
    for old, new in renames.items():
        if old in data and new not in data:
            result[new] = data[old]
    query = data.get("query")
    if isinstance(query, list | tuple):
        result["query"] = f"{{{{#{'.'.join(map(str, query))}#}}}}"
    tools = data.get("tools")
    if isinstance(tools, Mapping):
        result["tools"] = [
            {"source": "mcp", "provider": name, "name": _ALL_TOOLS} for name in _list_servers(tools)
        ]
    return result


def _list_servers(tools: Mapping[str, Json]) -> list[str]:
    """Return the names of the MCP servers, or the addresses of those without a name."""
    references = tools.get("mcp_server_refs")
    names = [str(name) for name in references] if isinstance(references, list) else []
    servers = tools.get("mcp_servers")
    if isinstance(servers, Mapping):
        return [*names, *map(str, servers)]
    for server in _iter_objects(servers):
        name = server.get("name") or server.get("url") or server.get("command")
        names += [str(name)] if name else []
    return names


def _iter_objects(value: Json) -> Iterable[Mapping[str, Any]]:
    items = value if isinstance(value, list | tuple) else ()
    return (item for item in items if isinstance(item, Mapping))

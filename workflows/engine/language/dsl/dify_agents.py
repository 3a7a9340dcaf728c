"""Writes the settings of an edited agent back into Dify's form, whose readers know no others."""

from collections.abc import Iterator, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.reading import get_text


Data = dict[str, Json]

PARAMETERS: Final = "agent_parameters"
# Names here → names of Dify's parameters.
_NAMES: Final[Mapping[str, str]] = {
    "instruction": "instruction",
    "query": "query",
    "max_rounds": "maximum_iterations",
}
_STRATEGIES: Final[Mapping[str, str]] = {"function_calling": "function_calling", "react": "ReAct"}
_TYPES: Final[Mapping[str, str]] = {"openapi": "api", "plugin": "builtin"}


def update_agent_parameters(data: Mapping[str, Json]) -> Data:
    """Return the data of an agent of Dify whose parameters have the settings that were edited here."""
    parameters = data.get(PARAMETERS)
    if not isinstance(parameters, Mapping):
        return dict(data)
    result: Data = {**data, PARAMETERS: {**parameters, **dict(_iter_edited(data, parameters))}}
    if name := _STRATEGIES.get(get_text(data.get("strategy"))):
        result["agent_strategy_name"] = name
    return result


def _iter_edited(
    data: Mapping[str, Json], parameters: Mapping[str, Json]
) -> Iterator[tuple[str, Data]]:
    for name, dify_name in _NAMES.items():
        if name in data:
            yield dify_name, {"type": "constant", "value": data[name]}
    if isinstance(model := data.get("model"), Mapping):
        old_model = _get_value(parameters, "model")
        value = {**(old_model if isinstance(old_model, Mapping) else {}), **model}
        yield "model", {"type": "constant", "value": {**value, "model": model.get("name", "")}}
    if isinstance(tools := data.get("tools"), list):
        value = _get_value(parameters, "tools")
        old_tools = value if isinstance(value, list) else []
        old_entries = [tool for tool in old_tools if isinstance(tool, Mapping)]
        entries = [_write_tool(tool, old_entries) for tool in tools if isinstance(tool, Mapping)]
        yield "tools", {"type": "constant", "value": entries}


def _write_tool(tool: Mapping[str, Json], old_entries: list[Mapping[str, Json]]) -> Data:
    """Return a tool in Dify's form, with what the imported document says about the same tool."""
    name = tool.get("name")
    old_tool = next((each for each in old_entries if each.get("tool_name") == name), None)
    source, settings = str(tool.get("source") or "builtin"), tool.get("settings")
    written: Data = {
        "type": _TYPES.get(source, source),
        "provider_name": tool.get("provider") or "",
        "tool_name": name,
        "tool_label": name,
        "parameters": {},
        "settings": {},
        **(old_tool or {}),
        "enabled": tool.get("enabled") is not False,
    }
    if isinstance(settings, Mapping):
        manual = {key for key in written["parameters"] if key in settings}
        written["parameters"] = {
            **written["parameters"],
            **{key: {"auto": 0, "value": settings[key]} for key in manual},
        }
        kept = {key: value for key, value in settings.items() if key not in manual}
        written["settings"] = {
            **written["settings"],
            **{key: {"value": value} for key, value in kept.items()},
        }
    return written


def _get_value(parameters: Mapping[str, Json], name: str) -> Json:
    parameter = parameters.get(name)
    return parameter.get("value") if isinstance(parameter, Mapping) else None

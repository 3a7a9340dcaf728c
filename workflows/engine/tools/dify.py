"""Dify's built-in tools that the tools here can stand in for, so that its documents run.

They have Dify's names, parameters and texts. ``nodes.agent.tool_node.tool_choice.DIFY_TOOLS`` lists them by provider.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from re import Match
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.calculator import CALCULATOR
from workflows.engine.tools.dates import TIME
from workflows.engine.tools.json_edit import (
    build_insertion,
    build_renaming,
    build_replacement,
    change,
    delete,
    split_path,
)
from workflows.engine.tools.json_query import JSON_QUERY
from workflows.engine.tools.local_tool import LocalTool, RunTool, ToolServices, build_error
from workflows.engine.tools.web.table import UNUSED_ARGUMENTS as _UNUSED_OF_WEB_TOOLS
from workflows.engine.tools.web_page import MAX_CHARACTERS, WEB_PAGE


_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
Values = Mapping[str, Json]


def convert_json_path(path: str) -> str:
    """Return a JSONPath of names, indexes and stars as JMESPath. Raises ValueError for anything else."""
    return "@" + "".join(map(_convert_step, split_path(path)))


def _convert_step(step: Match[str]) -> str:
    if step["index"]:
        return f"[{step['index']}]"
    return ".*" if step["any"] else f'."{step["name"] or step["quoted"]}"'


def _build_tool(
    name: str,
    base: LocalTool,
    parameters: Mapping[str, Json],
    convert: Callable[[Values], dict[str, Json]],
    render: Callable[[Values, Mapping[str, Json]], str] | None = None,
) -> LocalTool:
    """Return a tool that calls ``base`` with converted arguments, and renders its data as text."""
    required = [key for key, rule in parameters.items() if "default" not in rule]
    schema = {"type": "object", "properties": dict(parameters), "required": required}
    spec = ToolSpec(name, base.spec.description, schema)
    return replace(base, spec=spec, run=_build_run(base, convert, render))


def _build_run(
    base: LocalTool,
    convert: Callable[[Values], dict[str, Json]],
    render: Callable[[Values, Mapping[str, Json]], str] | None,
) -> RunTool:
    async def run(arguments: Values, services: ToolServices) -> ToolResult:
        try:
            result = await base.run(convert(arguments), services)
            if result.is_error or render is None:
                return result
            return replace(result, text=render(arguments, result.data[0]))
        except ValueError as error:
            return build_error(str(error))

    return run


def _format(values: Values, data: Mapping[str, Json]) -> str:
    pattern = str(values.get("format") or _FORMAT)
    return datetime.fromisoformat(data["datetime"]).strftime(pattern)[:1000]


def _format_weekday(_values: Values, data: Mapping[str, Json]) -> str:
    date = datetime.fromisoformat(data["datetime"])
    return f"{date:%B} {date.day}, {date.year} is {date:%A}."


def _text(default: str | None = None) -> dict[str, Json]:
    return {"type": "string"} if default is None else {"type": "string", "default": default}


def _build_date(values: Values) -> str:
    year, month, day = (int(values[key]) for key in ("year", "month", "day"))
    return datetime(year, month, day).date().isoformat()  # noqa: DTZ001 -- a date has no time zone


def _build_json_tool(
    name: str,
    description: str,
    parameters: Mapping[str, Json],
    run: Callable[[Values], Json],
) -> LocalTool:
    """Return a tool that changes JSON and answers with the whole of it as text."""

    async def change_json(arguments: Values, _services: ToolServices) -> ToolResult:
        try:
            value = run(arguments)
        except (ValueError, IndexError, RecursionError) as error:
            return build_error(str(error))
        text = json.dumps(value, ensure_ascii=_is_on(arguments.get("ensure_ascii", True)))
        return ToolResult(text, data=(value,))

    properties = {"content": _text(), "query": _text(), **parameters, "ensure_ascii": {}}
    schema = {"type": "object", "properties": properties, "required": ["content", "query"]}
    return LocalTool(ToolSpec(name, description, schema), change_json, is_untrusted=False)


def _is_on(value: Json) -> bool:
    return str(value).strip().lower() in ("true", "1", "yes", "on")


def _read_value(values: Values, name: str) -> Json:
    """Return a new value, which is JSON if the document says so."""
    value = values.get(name)
    if _is_on(values.get("value_decode")) and isinstance(value, str):
        return json.loads(value)
    return value


def _insert(values: Values) -> Json:
    index = str(values.get("index") or "").strip()
    position = int(index) if index.lstrip("-").isdigit() else None
    insertion = build_insertion(_read_value(values, "new_value"), position)
    return change(values["content"], values["query"], insertion)


def _replace(values: Values) -> Json:
    mode = str(values.get("replace_model") or "value").strip().lower()
    new, pattern = _read_value(values, "replace_value"), str(values.get("replace_pattern") or "")
    if mode == "key":
        return change(values["content"], values["query"], build_renaming(str(new)))
    if mode == "pattern":
        replacement = build_replacement(lambda old: str(old).replace(pattern, str(new)))
        return change(values["content"], values["query"], replacement)
    return change(values["content"], values["query"], build_replacement(lambda _old: new))


DIFY_TOOLS: Final = (
    _build_tool(
        "current_time",
        TIME,
        {"format": _text(_FORMAT), "timezone": _text("UTC")},
        lambda values: {"operation": "now", "time_zone": values.get("timezone") or "UTC"},
        _format,
    ),
    _build_tool(
        "timezone_conversion",
        TIME,
        {"current_time": _text(), "current_timezone": _text(), "target_timezone": _text()},
        lambda values: {
            "operation": "convert",
            "date": values["current_time"],
            "time_zone": values["current_timezone"],
            "to_time_zone": values["target_timezone"],
        },
        _format,
    ),
    _build_tool(
        "weekday",
        TIME,
        {key: {"type": "integer"} for key in ("year", "month", "day")},
        lambda values: {"operation": "convert", "date": _build_date(values)},
        _format_weekday,
    ),
    _build_tool(
        "localtime_to_timestamp",
        TIME,
        {"localtime": _text(), "timezone": _text("Asia/Shanghai")},
        lambda values: {
            "operation": "convert",
            "date": values["localtime"],
            "time_zone": values.get("timezone") or "Asia/Shanghai",
        },
        lambda _values, data: str(data["timestamp"]),
    ),
    _build_tool(
        "timestamp_to_localtime",
        TIME,
        {"timestamp": {"type": "number"}, "timezone": _text("Asia/Shanghai")},
        lambda values: {
            "operation": "convert",
            "date": str(values["timestamp"]),
            "to_time_zone": values.get("timezone") or "Asia/Shanghai",
        },
        _format,
    ),
    _build_tool(
        "eval_expression",
        CALCULATOR,
        {"expression": _text()},
        lambda values: {"expression": values["expression"]},
    ),
    _build_tool(
        "webscraper",
        WEB_PAGE,
        {"url": _text(), "user_agent": _text(""), "generate_summary": {"default": False}},
        lambda values: {
            "url": values["url"],
            "user_agent": values.get("user_agent") or "",
            "max_characters": MAX_CHARACTERS,
        },
    ),
    _build_tool(
        "parse",
        JSON_QUERY,
        {
            "content": {"description": "JSON"},
            "json_filter": _text(),
            "ensure_ascii": {"default": True},
        },
        lambda values: {
            "data": values["content"],
            "query": convert_json_path(values["json_filter"]),
        },
    ),
    _build_json_tool(
        "json_delete",
        "Delete a part of JSON.",
        {},
        lambda values: change(values["content"], values["query"], delete),
    ),
    _build_json_tool(
        "json_insert",
        "Insert a value into JSON.",
        {"new_value": {}, "index": {}, "value_decode": {}, "create_path": {}},
        _insert,
    ),
    _build_json_tool(
        "json_replace",
        "Replace a value, a name or a text in JSON.",
        {"replace_model": {}, "replace_pattern": {}, "replace_value": {}, "value_decode": {}},
        _replace,
    ),
)

# The name of a tool → its parameters that have no effect here, each with the values that ask for nothing.
UNUSED_ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[Json, ...]]]] = {
    "webscraper": {"generate_summary": ("false", "0")},
    "json_insert": {"create_path": ("false", "0", "true")},
    **_UNUSED_OF_WEB_TOOLS,
}

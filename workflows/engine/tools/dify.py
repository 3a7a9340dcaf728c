"""Dify's built-in tools that the tools here can stand in for, so that its documents run.

They have Dify's names, parameters and texts. ``nodes.agent.tool_node.tool_choice.DIFY_TOOLS`` lists them by provider.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.tool_calls import ToolResult, ToolSpec
from workflows.engine.tools.calculator import CALCULATOR
from workflows.engine.tools.dates import TIME
from workflows.engine.tools.json_query import JSON_QUERY
from workflows.engine.tools.local_tool import LocalTool, RunTool, ToolServices, build_error
from workflows.engine.tools.web_page import MAX_CHARACTERS, WEB_PAGE


_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
_JSON_PATH_STEP: Final = re.compile(
    r"\.(?P<name>[A-Za-z_][\w-]*)|\.(?P<any>\*)|\[['\"](?P<quoted>[^'\"\]]+)['\"]\]"
    r"|\[(?P<index>-?\d+|\*)\]"
)

Values = Mapping[str, Json]


def convert_json_path(path: str) -> str:
    """Return a JSONPath of names, indexes and stars as JMESPath. Raises ValueError for anything else."""
    rest, parts = path.strip().removeprefix("$"), []
    if rest and rest[0] not in ".[":
        rest = f".{rest}"
    position = 0
    while position < len(rest):
        step = _JSON_PATH_STEP.match(rest, position)
        if step is None:
            raise ValueError(
                f"The JSON filter {path[:100]!r} can't be used; only names, [0] and [*] can"
            )
        parts.append(_convert_step(step))
        position = step.end()
    return "@" + "".join(parts)


def _convert_step(step: "re.Match[str]") -> str:
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
        lambda values: {"url": values["url"], "max_characters": MAX_CHARACTERS},
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
)

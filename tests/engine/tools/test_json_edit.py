"""JSON is deleted, inserted and replaced at a path, as Dify's tools do it."""

from typing import Any

import pytest

from tests.support.cases import for_each
from workflows.engine.tool_calls import ToolReference
from workflows.engine.tools.port import LocalTools


CONTENT = '{"a": {"b": [1, 2, 3]}, "c": "é"}'

CASES = [
    ("json_delete", {"query": "$.a.b[0]"}, '{"a": {"b": [2, 3]}, "c": "\\u00e9"}'),
    ("json_delete", {"query": "a.b[*]", "ensure_ascii": False}, '{"a": {"b": []}, "c": "é"}'),
    ("json_delete", {"query": "$.nothing.here", "ensure_ascii": "false"},
     '{"a": {"b": [1, 2, 3]}, "c": "é"}'),
    ("json_insert", {"query": "$.d", "new_value": "x", "ensure_ascii": False},
     '{"a": {"b": [1, 2, 3]}, "c": "é", "d": "x"}'),
    ("json_insert", {"query": "$.a.b", "new_value": "4", "value_decode": True, "index": "0",
                     "ensure_ascii": False}, '{"a": {"b": [4, 1, 2, 3]}, "c": "é"}'),
    ("json_replace", {"query": "$.c", "replace_value": "new"}, '{"a": {"b": [1, 2, 3]}, "c": "new"}'),
    ("json_replace", {"query": "$.c", "replace_model": "key", "replace_value": "k"},
     '{"a": {"b": [1, 2, 3]}, "k": "\\u00e9"}'),
    ("json_replace", {"query": "$.c", "replace_model": "pattern", "replace_pattern": "é",
                      "replace_value": "e"}, '{"a": {"b": [1, 2, 3]}, "c": "e"}'),
]  # fmt: skip


async def call(name: str, **arguments: Any) -> Any:
    tools = LocalTools()
    (tool,) = await tools.find([ToolReference("builtin", name)])
    return await tools.call(tool, {"content": CONTENT, **arguments}, idempotency_key="key")


@pytest.mark.asyncio
@for_each("name, arguments, text", CASES)
async def test_json_is_changed(name: str, arguments: dict[str, Any], text: str) -> None:
    result = await call(name, **arguments)

    assert (result.is_error, result.text) == (False, text)


@pytest.mark.asyncio
@pytest.mark.parametrize("arguments", [
    {"query": "$"}, {"query": "$..a"}, {"query": "$.a", "content": "{"},
])  # fmt: skip
async def test_what_can_t_be_changed_is_an_error(arguments: dict[str, Any]) -> None:
    result = await call("json_delete", **arguments)

    assert result.is_error

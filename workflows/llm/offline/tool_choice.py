"""Decides whether the offline provider calls a tool without a script: only if it is told to, by name or by the request."""

import json
import re
from collections.abc import Sequence

from workflows.engine.ports import ModelRequest
from workflows.engine.tool_calls import ToolCall, ToolSpec
from workflows.llm.offline.filling import fill_schema
from workflows.llm.offline.remembering import TOOL as REMEMBER
from workflows.llm.offline.remembering import Wish, build_arguments, find_wish
from workflows.llm.offline.reply import build_call_ids


def choose_call(
    request: ModelRequest, question: str, sentences: Sequence[str]
) -> tuple[ToolCall, ...]:
    """Return the call of a tool whose name the question says, or nothing.

    A tool is called once for a question; that which remembers, only if the question says what. If the request requires a call and names no tool, it is the first one's.
    """
    if not request.tools or request.tool_choice == "none":
        return ()
    called = _list_called_tools(request)
    wish = find_wish(question)
    open_tools = (tool for tool in request.tools if tool.name not in called)
    tool = next((tool for tool in open_tools if _is_asked_for(tool, question, wish)), None)
    if tool is None and request.tool_choice == "required" and not called:
        tool = request.tools[0]
    if tool is None:
        return ()
    arguments = fill_schema({"type": "object", **tool.parameters}, question, sentences)
    if wish and tool.name == REMEMBER:
        arguments |= build_arguments(wish)
    text = json.dumps(arguments, ensure_ascii=False)
    return (ToolCall(next(build_call_ids(request)), tool.name, text),)


def _list_called_tools(request: ModelRequest) -> set[str]:
    """Return the names of the tools that were called since the user's last message."""
    names: set[str] = set()
    for message in reversed(request.messages):
        if message.role == "user":
            break
        names.update(call.name for call in message.tool_calls)
    return names


def _is_asked_for(tool: ToolSpec, question: str, wish: Wish | None) -> bool:
    """Return whether the question names the tool or, of the one that remembers, says what."""
    return wish is not None if tool.name == REMEMBER else _is_named(tool, question)


def _is_named(tool: ToolSpec, question: str) -> bool:
    words = re.escape(tool.name).replace("_", "[_ -]").replace(r"\-", "[_ -]")
    return re.search(rf"(?<![\w]){words}(?![\w])", question, re.IGNORECASE | re.ASCII) is not None

"""Plays the answers that the author of a node has written for the offline provider (``offline_script``).

A sample or a test shows with them how a model would use tools, without a model. No other provider reads the script.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workflows.engine.errors import ModelFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import Message, ModelRequest
from workflows.engine.tool_calls import ToolCall
from workflows.llm.offline.reply import Reply, build_call_ids


SCRIPT: Final = "offline_script"
_FIELDS: Final = frozenset({"text", "tool_calls", "reasoning", "when"})
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(tool|question|memory)\s*\}\}")
_MAX_VALUE: Final = 10_000  # characters of a text that replaces a placeholder

_Values = Mapping[str, Callable[[], str]]  # placeholder → its text


def play_script(request: ModelRequest, load_memory: Callable[[], str]) -> Reply | None:
    """Return the scripted answer to a request, or None if there is no script or it has ended.

    The number of the answer is the number of the assistant's messages after the last one of the user, so a script
    starts again with every question. Answers with ``when`` are for questions that contain this text; the others are for
    the remaining questions. Raises ModelFailed for a script that can't be read.
    """
    script = request.params.get(SCRIPT)
    if script is None:
        return None
    if not isinstance(script, list):
        raise ModelFailed(f"{SCRIPT} must be a list of answers")
    question, later = _split_messages(request.messages)
    number = sum(message.role == "assistant" for message in later)
    if number == 0:  # once a question; the script of a long loop is long, too
        for position, answer in enumerate(script, start=1):
            _check_answer(answer, position)
    answers = _select_answers(script, question)
    if number >= len(answers):
        return None
    answer = answers[number]
    _check_answer(answer, number + 1)
    values: _Values = {
        "question": lambda: question,
        "memory": load_memory,
        "tool": lambda: _find_tool_result(request.messages),
    }
    return Reply(
        text=_fill(answer.get("text") or "", values),
        reasoning=_fill(answer.get("reasoning") or "", values),
        tool_calls=_build_calls(answer.get("tool_calls") or [], values, request),
    )


def _find_tool_result(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "tool"), "")


def _split_messages(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return the text of the user's last message, and the messages after it."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            return messages[index].text, messages[index + 1 :]
    return "", messages


def _select_answers(script: Sequence[Any], question: str) -> list[Mapping[str, Any]]:
    answers = [answer for answer in script if isinstance(answer, Mapping)]
    conditional = [answer for answer in answers if answer.get("when")]
    if conditional:
        lowered = question.lower()
        matching = [answer for answer in conditional if str(answer["when"]).lower() in lowered]
        return matching or [answer for answer in answers if not answer.get("when")]
    return answers


def _check_answer(answer: Json, number: int) -> None:
    if not isinstance(answer, Mapping):
        raise ModelFailed(f"{SCRIPT}: answer {number} must be an object")
    if unknown := answer.keys() - _FIELDS:
        raise ModelFailed(f"{SCRIPT}: answer {number} has the unknown field {min(unknown)!r}")
    for name in ("text", "reasoning", "when"):
        if not isinstance(answer.get(name) or "", str):
            raise ModelFailed(f"{SCRIPT}: {name} of answer {number} must be a text")
    calls = answer.get("tool_calls") or []
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        message = f"{SCRIPT}: tool_calls of answer {number} must be a list of objects with a name"
        raise ModelFailed(message)


def _is_call(call: Json) -> bool:
    return isinstance(call, Mapping) and bool(call.get("name")) and isinstance(call["name"], str)


def _build_calls(
    calls: Sequence[Mapping[str, Any]], values: _Values, request: ModelRequest
) -> tuple[ToolCall, ...]:
    if calls and not request.tools:
        name = str(calls[0]["name"])[:80]
        raise ModelFailed(f"{SCRIPT} calls the tool {name!r}, but the request offers no tool")
    ids = build_call_ids(request)
    return tuple(
        ToolCall(next(ids), call["name"], _build_arguments(call.get("arguments"), values))
        for call in calls
    )


def _build_arguments(arguments: Json, values: _Values) -> str:
    """Return the arguments as a model writes them. A text is taken as it is, also if it is no JSON."""
    if isinstance(arguments, str):
        return _fill(arguments, values)
    return json.dumps(_fill_values(arguments or {}, values), ensure_ascii=False)


def _fill_values(value: Json, values: _Values) -> Json:
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, Mapping):
        return {name: _fill_values(inner, values) for name, inner in value.items()}
    if isinstance(value, list):
        return [_fill_values(inner, values) for inner in value]
    return value


def _fill(text: str, values: _Values) -> str:
    # In one pass, so that a placeholder in a tool's result stays a text.
    return _PLACEHOLDER.sub(lambda match: values[match[1]]()[:_MAX_VALUE], text)

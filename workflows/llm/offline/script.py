"""Plays the answers that the author of a node has written for the offline provider (``offline_script``).

A sample or a test shows with them how a model would use tools, without a model. No other provider reads the script.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workflows.engine.errors import ModelFailed, UnofferedToolCall
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.react_text import OBSERVATION_LABEL
from workflows.engine.nodes.agent.todo_prompts import CHINESE, ENGLISH
from workflows.engine.nodes.agent.tool_use.tool_results import UNTRUSTED_NOTE
from workflows.engine.ports import Message, ModelRequest
from workflows.engine.sentences import is_chinese
from workflows.engine.tool_calls import ToolCall
from workflows.llm.offline.filling import fill_schema
from workflows.llm.offline.phrases import PHRASES
from workflows.llm.offline.reply import Reply, build_call_ids


SCRIPT: Final = "offline_script"
_FIELDS: Final = frozenset({"text", "tool_calls", "reasoning", "when"})
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(tool|question|name|memory|found|key)\s*\}\}")
_MAX_VALUE: Final = 10_000  # characters of a text that replaces a placeholder
_MAX_WORDS: Final = 8  # of a name that is made from a question
_MAX_NAME: Final = 60
# A memory in the result of the tool "recall".
_RECALLED: Final = re.compile(
    r"^- (?P<key>.+?)(?: \(from outside\))?(?: \(relevance: -?[\d.]+\))?: (?P<value>.+)$",
    re.MULTILINE,
)
# The start of a result in the prompt of a step of the todo loop.
_STEP_RESULT: Final = re.compile(r"^[\w.-]{1,64}: ", re.MULTILINE)

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
        "name": lambda: _build_name(question),
        "memory": load_memory,
        "tool": lambda: _find_tool_result(request.messages),
        "found": lambda: _quote_found(request.messages, question),
        "key": lambda: _find_key(request.messages),
    }
    return Reply(
        text=_fill(answer.get("text") or "", values),
        reasoning=_fill(answer.get("reasoning") or "", values),
        tool_calls=_build_calls(answer.get("tool_calls") or [], values, request),
    )


def _find_tool_result(messages: Sequence[Message]) -> str:
    """Return the last result of a tool, which the todo loop quotes in its prompt."""
    last = next(
        (message for message in reversed(messages) if message.role in ("tool", "user")), None
    )
    if last is None or last.role == "tool" or last.text.startswith(OBSERVATION_LABEL):
        return _unquote(last.text.removeprefix(OBSERVATION_LABEL)) if last else ""
    for texts in (ENGLISH, CHINESE):
        _before, _heading, rest = last.text.rpartition(f"\n\n{texts.results}\n")
        results, end, _after = rest.partition(f"\n\n{texts.functions}\n")
        if end and rest:
            return _STEP_RESULT.split(results)[-1].strip()
    return ""


def _unquote(text: str) -> str:
    """Return what a tool returned, without the note and the quotation that untrusted results have."""
    _before, note, quoted = text.partition(f"{UNTRUSTED_NOTE}\n")
    return "\n".join(line.removeprefix("> ") for line in quoted.split("\n")) if note else text


def _quote_found(messages: Sequence[Message], question: str) -> str:
    """Return a sentence that quotes the memories that the last result lists, or says that there are none."""
    values = [match["value"] for match in _RECALLED.finditer(_find_tool_result(messages))]
    phrases = PHRASES["zh" if is_chinese(question) else "en"]
    quoted = " ".join(f"“{value}”" for value in values)
    return phrases["remember"] + quoted if quoted else phrases["unknown"]


def _find_key(messages: Sequence[Message]) -> str:
    """Return the key of the first memory that the last result lists."""
    match = _RECALLED.search(_find_tool_result(messages))
    return match["key"] if match else ""


def _build_name(question: str) -> str:
    """Return the first words of the question as a key of memory."""
    return "_".join(re.findall(r"\w+", question.lower())[:_MAX_WORDS])[:_MAX_NAME]


def _split_messages(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return the text of the user's last message, and the messages after it.

    An observation of ReAct, which answers a message of the assistant, is the result of a tool and no question.
    """
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and not _is_observation(messages, index):
            return messages[index].text, messages[index + 1 :]
    return "", messages


def _is_observation(messages: Sequence[Message], index: int) -> bool:
    is_answer = index > 0 and messages[index - 1].role == "assistant"
    return is_answer and messages[index].text.startswith(OBSERVATION_LABEL)


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
        raise UnofferedToolCall(f"{SCRIPT} calls the tool {name!r}, but the request offers no tool")
    ids = build_call_ids(request)
    schemas = {tool.name: tool.parameters for tool in request.tools}
    return tuple(
        ToolCall(next(ids), call["name"], _build_arguments(call, schemas, values)) for call in calls
    )


def _build_arguments(
    call: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Json]], values: _Values
) -> str:
    """Return the arguments as a model writes them. A text is taken as it is, also if it is no JSON.

    The arguments of a call without any are read from the question.
    """
    arguments = call.get("arguments")
    if arguments is None and call["name"] in schemas:
        schema = {"type": "object", **schemas[call["name"]]}
        return json.dumps(fill_schema(schema, values["question"](), ()), ensure_ascii=False)
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

"""Reads the actions that a model writes in the todo loop, and fits them to the tools.

The forms are ``[name:value:value]``, ``name.function(key="value")`` and ``{"name": …, "arguments": {…}}``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import to_json
from workflows.engine.nodes.http.json_repair import NotJson, read_json
from workflows.engine.tool_calls import ToolSpec


MAX_ACTIONS: Final = 16
_MAX_TEXT: Final = 20_000
_MAX_NAME: Final = 100
_ASK: Final = frozenset(
    {
        *("询问用户", "询问", "提问", "向用户提问", "询问使用者"),
        *("ask the person", "ask person", "ask the user", "ask user", "ask"),
    }
)
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_NAME: Final = re.compile(r"[^\W\d][\w.-]{0,99}(?=\()")
_COLONS: Final = ":："
_NAME_KEYS: Final = ("name", "action", "function", "tool", "type")
_ARGUMENT_KEYS: Final = ("arguments", "params", "parameters", "args", "input")


@dataclass(frozen=True, slots=True)
class Action:
    """An action as it was written: with named ``arguments``, or with a text of ``values`` that the tool's parameters split."""

    name: str
    values: str = ""
    separators: str = _COLONS
    arguments: Mapping[str, Json] | None = None
    error: str = field(default="")

    @property
    def is_question(self) -> bool:
        return " ".join(self.name.lower().replace("_", " ").split()) in _ASK

    @property
    def question(self) -> str:
        if self.arguments is not None:
            texts = [value for value in self.arguments.values() if isinstance(value, str)]
            return texts[0].strip() if texts else ""
        return self.values.strip().strip("\"'“”")


def parse_actions(text: str) -> tuple[Action, ...]:
    """Return the actions of a text in their order. One that never ends has an error."""
    actions = list(_iter_actions(text[:_MAX_TEXT]))
    if not actions:
        hint = "Write it as [name:value:value]."
        return (Action(text.strip()[:_MAX_NAME], error=f"The action cannot be read. {hint}"),)
    return tuple(actions[:MAX_ACTIONS])


def build_arguments(action: Action, spec: ToolSpec) -> str:
    """Return the action's arguments as the JSON that a tool call has."""
    if action.arguments is not None:
        return to_json(dict(action.arguments))
    properties = spec.parameters.get("properties")
    rules: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    if not action.values.strip():
        return "{}"
    values = _split(action.values, action.separators, max(len(rules), 1))
    if len(values) == 1 and values[0].startswith("{"):
        whole = _read_value(values[0], "object")
        if isinstance(whole, dict) and whole.keys() <= rules.keys():
            return to_json(whole)
    pairs = zip(rules.items(), values, strict=False)
    return to_json({name: _read_value(value, _get_type(rule)) for (name, rule), value in pairs})


def _iter_actions(text: str) -> Iterator[Action]:
    position = 0
    while position < len(text):
        character = text[position]
        name = _NAME.match(text, position) if character.isalpha() else None
        start = name.end() if name else position
        if name is None and character not in "[{":
            position += 1
            # The rest of a word does not start a name of its own.
            while character.isalnum() and position < len(text) and text[position].isalnum():
                position += 1
            continue
        end = _find_end(text, start)
        if end is None:
            yield Action(text[position:][:_MAX_NAME], error="The action has no end.")
            return
        inside = text[start + 1 : end]
        if character == "[" and inside.lstrip().startswith("{"):
            position += 1  # a list of JSON actions
            continue
        action = _read_call(name[0], inside) if name else _read_bracketed(text[start : end + 1])
        if action is not None:
            yield action
        position = end + 1


def _find_end(text: str, start: int) -> int | None:
    """Return the position of the bracket that closes the one at ``start``. Brackets in quotes do not count."""
    expected: list[str] = []
    is_quoted = is_escaped = False
    for position in range(start, len(text)):
        character = text[position]
        if is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in _CLOSING:
            expected.append(_CLOSING[character])
        elif expected and character == expected[-1]:
            expected.pop()
            if not expected:
                return position
    return None


def _read_bracketed(text: str) -> Action | None:
    if text.startswith("{"):
        return _read_map(text)
    name, values = _partition(text[1:-1])
    return Action(name, values) if name and "\n" not in name else None


def _read_map(text: str) -> Action | None:
    value = _read_value(text, "object")
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")
    if not name.strip():
        return None
    for key in _ARGUMENT_KEYS:
        arguments = value.get(key)
        if isinstance(arguments, dict):
            return Action(name.strip()[:_MAX_NAME], arguments=arguments)
        if isinstance(arguments, str):
            return Action(name.strip()[:_MAX_NAME], arguments)
    others = {key: item for key, item in value.items() if key not in (*_NAME_KEYS, *_ARGUMENT_KEYS)}
    return Action(name.strip()[:_MAX_NAME], arguments=others)


def _read_call(name: str, inside: str) -> Action:
    if inside.lstrip().startswith("{"):
        value = _read_value(inside.strip(), "object")
        if isinstance(value, dict):
            return Action(name, arguments=value)
    pieces = _split(inside, ",，", MAX_ACTIONS * 4)
    named = [re.match(r"\s{0,20}([^\W\d]\w{0,99})\s{0,20}=(?!=)", piece) for piece in pieces]
    if inside.strip() and all(named):
        arguments = {
            match[1]: _read_value(piece[match.end() :].strip(), "any")
            for match, piece in zip(named, pieces, strict=True)
            if match
        }
        return Action(name, arguments=arguments)
    return Action(name, inside, ",，")


def _partition(text: str) -> tuple[str, str]:
    first = min((text.find(colon) for colon in _COLONS if colon in text), default=-1)
    name, values = (text, "") if first < 0 else (text[:first], text[first + 1 :])
    return name.strip()[:_MAX_NAME], values.strip()


def _split(text: str, separators: str, count: int) -> list[str]:
    """Split at the separators outside of brackets and quotes, into at most ``count`` values."""
    pieces: list[str] = []
    depth, start = 0, 0
    is_quoted = is_escaped = False
    for position, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character in separators and depth <= 0 and not text.startswith("//", position + 1):
            if len(pieces) == count - 1:
                break
            pieces.append(text[start:position].strip())
            start = position + 1
    return [*pieces, text[start:].strip()]


def _get_type(rule: Json) -> str:
    value_type = rule.get("type") if isinstance(rule, Mapping) else None
    return value_type if isinstance(value_type, str) else "any"


def _read_value(text: str, value_type: str) -> Json:
    """Return the value of a text: the text itself for a text parameter, else JSON if it is any."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        try:
            quoted = json.loads(text) if text[0] == '"' else text[1:-1]
        except ValueError:
            quoted = text[1:-1]
        return quoted if value_type in ("string", "any") else _read_value(quoted, value_type)
    if value_type == "string":
        return text
    try:
        if value_type in ("object", "array"):
            return read_json(text)
        return json.loads(text)
    except (ValueError, RecursionError, NotJson):
        return text

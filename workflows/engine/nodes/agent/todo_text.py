"""Reads what a model writes in the todo loop, in Chinese or English: its decision, and its report on a step.

A model keeps to the format only roughly, so labels may be decorated, lines may be missing, and values may be written as
decimals, percentages or fractions. Every pattern runs in linear time, because the text may be hostile. Quoted lines hold
neither labels nor actions nor todos, because a model quotes what a tool returned.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final


MAX_TODOS: Final = 20
MAX_TODO_LENGTH: Final = 500
MAX_NOTE_LENGTH: Final = 2000
_MAX_TEXT: Final = 50_000

# Field → the labels that start it, in lower case.
_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "completion": ("完成度评估", "完成度", "completion assessment", "completion"),
    "action": ("执行动作", "执行操作", "动作", "actions", "action"),
    "next_step": ("下一步建议", "下一步", "next steps", "next step"),
    "note": ("笔记", "notes", "note"),
}
_FIELDS: Final = {label: field for field, labels in _LABELS.items() for label in labels}
_MAX_LABEL: Final = max(map(len, _FIELDS))
_NONE: Final = frozenset(
    {"", "无", "没有", "暂无", "none", "no", "nothing", "n/a", "na", "-", "null"}
)
_DONE: Final = frozenset({"完成", "已完成", "done", "complete", "completed"})
_HEADERS: Final = (
    *("todo列表", "todo 列表", "todo list", "todos", "todo"),
    *("待办列表", "待办事项", "任务列表"),
)
_ITEM: Final = re.compile(
    r"(?:[-*+][ \t]{0,4})?(?:\[[ xX]?\][ \t]{0,4})?(\d{1,3}[ \t]?[.)、::][ \t]{0,4})?"
)
_NUMBER: Final = re.compile(
    r"(-?\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})[ ]?(?:(%)|/[ ]?(\d{1,9}(?:\.\d{0,9})?))?"
)
_DECORATION: Final = " \t#*-_`【】[]"


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a model wrote about a step. ``completion`` is None if it said nothing about it that can be read."""

    completion: float | None = None
    action: str = ""
    next_step: str = ""
    note: str = ""


def parse_todos(text: str) -> tuple[str, ...]:
    """Return the todos of a decision, or none if the model decided that the task needs no todos."""
    lines = (line for line in _split_lines(text) if not _is_quoted(line))
    if not any(_is_header(line) for line in lines):
        return ()
    todos: list[str] = []
    for line in lines:
        item = _read_item(line)
        if item:
            todos.append(item[:MAX_TODO_LENGTH])
        elif line.strip() and todos:
            break
    return tuple(todos[:MAX_TODOS])


def parse_report(text: str) -> StepReport | None:
    """Return the report on a step, or None if the text has none of the labels."""
    values: dict[str, list[str]] = {}
    field = ""
    for line in _split_lines(text):
        label, rest = _read_label(line)
        # A label inside of an action's text does not start a second value.
        if label and label not in values:
            field = label
            values[field] = [rest]
        elif field and not (field == "action" and _is_quoted(line)):
            values[field].append(line)
    if not values:
        return None
    texts = {name: "\n".join(lines).strip() for name, lines in values.items()}
    return StepReport(
        parse_completion(texts.get("completion", "")),
        _drop_none(texts.get("action", "")),
        _drop_none(texts.get("next_step", ""))[:MAX_TODO_LENGTH],
        _drop_none(texts.get("note", ""))[:MAX_NOTE_LENGTH],
    )


def parse_completion(text: str) -> float | None:
    """Return a number from 0 to 1: ``0.3``, ``30%``, ``3/10``, ``30``; None if there is no number."""
    plain = unicodedata.normalize("NFKC", text[:200]).strip().strip("*`[]()").strip().lower()
    if plain.rstrip(".。!") in _DONE:
        return 1.0
    match = _NUMBER.search(plain)
    if match is None:
        return None
    value = float(match[1])
    if match[3] is not None:
        if float(match[3]) == 0:
            return None
        value /= float(match[3])
    elif match[2] or value > 1:
        value /= 100
    return min(max(value, 0.0), 1.0)


def is_none(text: str) -> bool:
    """Return whether a value says that there is nothing."""
    return text.strip().strip("*`[]【】()（）.。").strip().lower() in _NONE


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines without those that open or close a code fence."""
    return (line for line in text[:_MAX_TEXT].splitlines() if not line.lstrip().startswith("```"))


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _is_header(line: str) -> bool:
    plain = unicodedata.normalize("NFKC", line[:80]).strip(_DECORATION).lower()
    name = plain.rstrip(" :*").rstrip()
    return name in _HEADERS


def _read_item(line: str) -> str:
    """Return the text of a numbered or bulleted line, or an empty text."""
    stripped = line.strip()
    head = unicodedata.normalize("NFKC", stripped[:12])
    match = _ITEM.match(stripped if stripped[:1].isascii() else head + stripped[12:])
    if match is None or not match[0]:
        return ""
    source = stripped if stripped[:1].isascii() else head + stripped[12:]
    return source[match.end() :].strip().strip("*").strip()


def _read_label(line: str) -> tuple[str, str]:
    """Return the field that the line starts, and the rest of the line; or two empty texts."""
    stripped = line.lstrip(_DECORATION + "0123456789.、")
    head = stripped[: _MAX_LABEL + 8].replace("：", ":")
    name, colon, _ = head.partition(":")
    if not colon:
        return "", ""
    field = _FIELDS.get(name.strip(_DECORATION).lower())
    return (field, stripped[len(name) + 1 :].lstrip("* ").strip()) if field else ("", "")


def _drop_none(text: str) -> str:
    return "" if is_none(text) else text

"""Reads what a model writes in the todo loop, in Chinese or English: its decision, and its report on a step.

A model keeps to the format only roughly, so labels may be decorated, lines may be missing, and values may be written as
decimals, percentages or fractions. Every pattern runs in linear time, because the text may be hostile. Quoted lines hold
neither labels nor actions nor todos, because a model quotes what a tool returned.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
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
# "Decision: todos" begins the list as well, if the model forgets the line after it.
_DECISIONS: Final = frozenset({"decision", "决策"})
_ITEM: Final = re.compile(
    r"(?:[-*+][ \t]{0,4})?(?:\[[ xX]?\][ \t]{0,4})?(\d{1,3}[ \t]?[.)、::][ \t]{0,4})?"
)
_NUMBER: Final = re.compile(
    r"(-?\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})[ ]?(?:(%)|/[ ]?(\d{1,9}(?:\.\d{0,9})?))?"
)
# Bold and italics. What is between letters or digits, as in 2**3 or __init__.py, is none.
_EMPHASIS: Final = tuple(
    re.compile(rf"(?<![A-Za-z0-9{edge}]){mark}(?=\S)({inside}{{1,500}})(?<=\S){mark}(?![A-Za-z0-9{edge}]|\.\w)")
    for mark, inside, edge in (
        (r"\*\*", r"[^*]", "*"), ("__", "[^_]", "_"), (r"\*", r"[^*]", "*"), ("_", "[^_]", "_")
    )
)  # fmt: skip
_UNCLOSED: Final = re.compile(r"(?<!\S)\*\*(?=\S)|(?<=\S)\*\*(?!\S)")
_MAX_LINE: Final = 2 * MAX_TODO_LENGTH
_DECORATION: Final = " \t#*-_`【】[]"


@dataclass(frozen=True, slots=True)
class StepReport:
    """This is what a model wrote about a step. ``completion`` is None if it said nothing about it that can be read."""

    completion: float | None = None
    action: str = ""
    next_step: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Item:
    """A line of a list."""

    text: str
    indent: int
    is_numbered: bool


def parse_todos(text: str, task: str = "") -> tuple[str, ...]:
    """Return the todos of a decision, or none if the model decided that the task needs no todos.

    What stands below an item, such as an indented list, is its detail and stays with it. A small model may forget the
    line above the list; a list that repeats the steps of its ``task`` is a list of todos all the same.
    """
    lines = [line for line in _split_lines(text) if not _is_quoted(line)]
    start = next((index for index, line in enumerate(lines) if _is_header(line)), None)
    if start is not None:
        return _read_list(lines[start + 1 :])
    todos = _read_list(lines)
    steps = " ".join(task[:_MAX_TEXT].split())
    is_repeated = len(todos) > 1 and all(" ".join(todo.split()) in steps for todo in todos)
    return todos if is_repeated else ()


def _read_list(lines: Sequence[str]) -> tuple[str, ...]:
    todos: list[str] = []
    first: _Item | None = None
    for line in lines:
        item = _read_item(line)
        if item is not None and (first is None or _is_sibling(item, first)):
            first = first or item
            todos.append(item.text)
        elif line.strip() and first is not None:
            if item is None and not _is_indented(line, first):
                break
            todos[-1] = f"{todos[-1]}\n- {item.text if item else _remove_emphasis(line.strip())}"
    return tuple(todo[:MAX_TODO_LENGTH] for todo in todos[:MAX_TODOS])


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
    label, _colon, rest = plain.partition(":")
    if label.strip(_DECORATION) in _DECISIONS:
        answer = rest.strip(_DECORATION)
        return answer in _HEADERS or answer.startswith("需要todo")
    name = plain.rstrip(" :*").rstrip()
    return name in _HEADERS


def _read_item(line: str) -> _Item | None:
    """Return a numbered or bulleted line as an item, or None."""
    stripped = line.strip()[:_MAX_LINE].lstrip("#").lstrip()
    opening = stripped[:2] if stripped.startswith(("**", "__")) else ""
    stripped = stripped.removeprefix(opening)  # of a whole line in bold: **1. Ask**
    if not stripped[:1].isascii():
        stripped = unicodedata.normalize("NFKC", stripped[:12]) + stripped[12:]
    match = _ITEM.match(stripped)
    if match is None or not match[0]:
        return None
    text = _remove_emphasis(opening + stripped[match.end() :].strip())
    return _Item(text, _measure_indent(line), match[1] is not None) if text else None


def _is_sibling(item: _Item, first: _Item) -> bool:
    """Return whether the item belongs to the same list as the first one, and not to a list below an item."""
    is_deeper = item.indent > first.indent + 1
    return not is_deeper and (item.is_numbered or not first.is_numbered)


def _is_indented(line: str, first: _Item) -> bool:
    return _measure_indent(line) > first.indent


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _remove_emphasis(text: str) -> str:
    """Return the text without Markdown's bold and italics, also if a model forgot to close it."""
    for pattern in _EMPHASIS:
        text = pattern.sub(r"\1", text)
    return _UNCLOSED.sub("", text).strip()


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

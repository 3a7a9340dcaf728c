"""Reads data from a prompt: JSON, or a Python list, because templates print lists in that form."""

import ast
import json
import re
from typing import Any


# Quoted text is skipped, because a bracket inside it closes nothing.
_QUOTES_AND_BRACKETS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[\[\]{}]""", re.DOTALL)
_OPENING_BY_CLOSING = {"]": "[", "}": "{"}
# Limits, because literal_eval needs many times the text's memory, and its recursion grows with the depth.
_MAX_LENGTH = 200_000
_MAX_DEPTH = 40

_json = json.JSONDecoder()


def find_opening(text: str, start: int) -> int | None:
    """Return the position of the first bracket from ``start`` on that may open a list or an object."""
    positions = (text.find("[", start), text.find("{", start))
    return min((position for position in positions if position >= 0), default=None)


def read_literal(text: str, start: int) -> tuple[Any, int] | None:
    """Return the list or object that opens at ``start``, and its end; None if the text there is neither."""
    try:
        return _json.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = _find_closing(text, start)
    if end is None:
        return None
    try:
        value = ast.literal_eval(text[start:end])
        json.dumps(value)  # an example with "..." in it, a set or bytes are no data
        return value, end
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _find_closing(text: str, start: int) -> int | None:
    open_brackets: list[str] = []
    for match in _QUOTES_AND_BRACKETS.finditer(text, start, start + _MAX_LENGTH):
        bracket = match.group()
        if bracket in "[{":
            open_brackets.append(bracket)
            if len(open_brackets) > _MAX_DEPTH:
                return None
        elif bracket in _OPENING_BY_CLOSING:
            if not open_brackets or open_brackets.pop() != _OPENING_BY_CLOSING[bracket]:
                return None
            if not open_brackets:
                return match.end()
    return None

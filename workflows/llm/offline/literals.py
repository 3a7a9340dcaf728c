"""Data written into a prompt: JSON, or a list as Python writes one, which is how lists print in prompts."""

import ast
import json
import re
from typing import Any


# Quoted text is passed over whole, so that a bracket inside it closes nothing.
_PARTS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[\[\]{}]""", re.DOTALL)
_CLOSES = {"]": "[", "}": "{"}
# literal_eval needs memory many times its text, and recursion by its depth
_LONGEST = 200_000
_DEEPEST = 40

_json = json.JSONDecoder()


def next_opening(text: str, at: int) -> int | None:
    found = [place for place in (text.find("[", at), text.find("{", at)) if place >= 0]
    return min(found, default=None)


def read_literal(text: str, start: int) -> tuple[Any, int] | None:
    """The list or object that opens at ``start``, and where it ends; None when it is neither."""
    try:
        return _json.raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = _closing(text, start)
    if end is None:
        return None
    try:
        return ast.literal_eval(text[start:end]), end
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _closing(text: str, start: int) -> int | None:
    opened: list[str] = []
    for part in _PARTS.finditer(text, start, start + _LONGEST):
        sign = part.group()
        if sign in "[{":
            opened.append(sign)
            if len(opened) > _DEEPEST:
                return None
        elif sign in _CLOSES:
            if not opened or opened.pop() != _CLOSES[sign]:
                return None
            if not opened:
                return part.end()
    return None

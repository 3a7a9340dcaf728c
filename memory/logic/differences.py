"""Two states of a value as lines a person can compare."""

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from memory.core.records import Json


@dataclass(frozen=True, slots=True)
class Line:
    sign: Literal["same", "gone", "new"]
    text: str


def lines_between(before: Json, after: Json) -> tuple[Line, ...]:
    """``None`` is nothing there, so all of the other is gone or new."""
    old, new = _lines(before), _lines(after)
    found: list[Line] = []
    for tag, a, b, c, d in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "equal":
            found += (Line("same", text) for text in old[a:b])
        else:
            found += (Line("gone", text) for text in old[a:b])
            found += (Line("new", text) for text in new[c:d])
    return tuple(found)


def _lines(value: Json) -> list[str]:
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return text.splitlines()

"""Two states of a value side by side, word by word, as people read them.

What is written without spaces is compared sign by sign. Where little is the same, marking single words
would say nothing: then all of it counts as changed.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory.core.records import Json
from memory.logic.entries.texts import cut, single_text


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """Nothing on one side: it wasn't there, or won't be."""

    before: tuple[Piece, ...] | None
    after: tuple[Piece, ...] | None


class _Nothing:
    pass


NOTHING = _Nothing()  # ``None`` is a value like any other


def beside(before: Json | _Nothing, after: Json | _Nothing) -> Beside:
    if isinstance(before, _Nothing) or isinstance(after, _Nothing):
        return Beside(_whole(before), _whole(after))
    old, new = _words(as_lines(before)), _words(as_lines(after))
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    if old != new and matcher.ratio() < _ALIKE:
        return Beside((Piece("".join(old), True),), (Piece("".join(new), True),))
    left: list[Piece] = []
    right: list[Piece] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        left += _piece(old[a:b], tag != "equal")
        right += _piece(new[c:d], tag != "equal")
    return Beside(tuple(left), tuple(right))


def as_lines(value: Json) -> str:
    """One text as it is, members a line each, anything deeper as JSON."""
    if isinstance(value, str):
        return value
    if (one := single_text(value)) is not None and _wraps_only(value):
        return one
    if isinstance(value, dict) and value:
        return "\n".join(_member_lines(value))
    return json.dumps(value, ensure_ascii=False, indent=2)


def editable(value: Json) -> str | None:
    """What a person may change as plain text, whatever it is wrapped in."""
    return value if isinstance(value, str) else single_text(value) if _wraps_only(value) else None


def rewritten(value: Json, text: str) -> Json:
    """The same wrapping round another text."""
    if isinstance(value, dict):
        return {name: rewritten(one, text) for name, one in value.items()}
    if isinstance(value, list):
        return [rewritten(one, text) for one in value]
    return text


_ALIKE = 0.4
_LONGEST = 20_000  # signs; longer texts are compared line by line


def _wraps_only(value: Json) -> bool:
    """One text in members and lists that hold nothing else."""
    if isinstance(value, dict):
        return len(value) == 1 and _wraps_only(next(iter(value.values())))
    if isinstance(value, list):
        return len(value) == 1 and _wraps_only(value[0])
    return isinstance(value, str)


def _member_lines(value: dict[str, Json]) -> Iterator[str]:
    for name, one in value.items():
        if isinstance(one, list) and one and all(isinstance(part, str) for part in one):
            yield f"{name}:"
            yield from (f"– {part}" for part in one)
        else:
            said = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
            yield f"{name}: {said}"


def _words(text: str) -> list[str]:
    return text.splitlines(keepends=True) if len(text) > _LONGEST else cut(text)


def _whole(value: Json | _Nothing) -> tuple[Piece, ...] | None:
    return None if isinstance(value, _Nothing) else (Piece(as_lines(value)),)


def _piece(words: list[str], is_changed: bool) -> list[Piece]:
    return [Piece("".join(words), is_changed)] if words else []

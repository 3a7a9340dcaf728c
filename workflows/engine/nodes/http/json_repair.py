"""Reads JSON the way people write it in a form: quotes forgotten, commas too many, comments, Python's words.

Strict JSON is read by the standard library, to the letter. Only what that refuses is read here.

The json-repair package (0.64) was tried instead and isn't used: it finds a value in any text, so that "just words" would
be sent as "", it drops what stands behind the value, and 8,000 hostile characters keep it busy for nine seconds.
"""

import json
import re
from typing import Final

from workflows.engine.language.document import Json


class NotJson(ValueError):
    """There is no way to read this as JSON."""


_SPACE: Final = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_BARE: Final = re.compile(r"(?:[^,:{}\[\]\n\"'#/]|/(?![/*]))+")
_FENCE: Final = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?```\s*$", re.DOTALL)
_WORDS: Final[dict[str, Json]] = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None, "undefined": None,
}  # fmt: skip
_CLOSING: Final = {"“": "”", "‘": "’", '"': '"', "'": "'"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAX_DEPTH: Final = 100


def read_json(text: str) -> Json:
    """Raises NotJson. Numbers that aren't finite are no JSON, repaired or not."""
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        pass
    fenced = _FENCE.match(text)
    return _Reader(fenced[1] if fenced else text).document()


def _refuse(name: str) -> Json:
    raise NotJson(name)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def document(self) -> Json:
        if self._next() == "":
            raise NotJson("there is nothing")
        value = self._value()
        if self._next() != "":
            raise NotJson(f"unexpected {self._text[self._at : self._at + 20]!r}")
        return value

    def _next(self) -> str:
        """The next character that means something; "" at the end."""
        space = _SPACE.match(self._text, self._at)
        if space:
            self._at = space.end()
        return self._text[self._at : self._at + 1]

    def _value(self) -> Json:
        mark = self._next()
        if mark in ("{", "["):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise NotJson("nested too deeply")
            self._at += 1
            value = self._object() if mark == "{" else self._array()
            self._depth -= 1
            return value
        if mark in _CLOSING:
            return self._string()
        return self._word()

    def _object(self) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while True:
            mark = self._next()
            if mark == ",":
                self._at += 1
                continue
            if mark in ("}", ""):
                self._at += 1
                return members
            if mark in ("]", ":", "{", "["):
                raise NotJson(f"unexpected {mark!r} in an object")
            key = self._string() if mark in _CLOSING else self._bare()
            if self._next() != ":":
                raise NotJson(f"no value for {key[:40]!r}")
            self._at += 1
            members[key] = None if self._next() in (",", "}", "") else self._value()

    def _array(self) -> list[Json]:
        items: list[Json] = []
        while True:
            mark = self._next()
            if mark == ",":
                self._at += 1
            elif mark in ("]", ""):
                self._at += 1
                return items
            elif mark in ("}", ":"):
                raise NotJson(f"unexpected {mark!r} in a list")
            else:
                items.append(self._value())

    def _string(self) -> str:
        closing = _CLOSING[self._text[self._at]]
        self._at += 1
        parts: list[str] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == closing:
                return _whole(parts)
            parts.append(self._escaped() if character == "\\" else character)
        return _whole(parts)  # the closing quote was forgotten: all that is left

    def _escaped(self) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        if character != "u":
            return _ESCAPES.get(character, character)
        code = self._text[self._at : self._at + 4]
        self._at += 4
        try:
            return json.loads(f'"\\u{code}"')  # type: ignore[no-any-return]
        except ValueError:
            return f"u{code}"

    def _bare(self) -> str:
        found = _BARE.match(self._text, self._at)
        if found is None:
            raise NotJson(f"unexpected {self._text[self._at : self._at + 20]!r}")
        self._at = found.end()
        return found[0].strip()

    def _word(self) -> Json:
        if self._next() in ("", ",", "}", "]", ":"):
            raise NotJson("a value is missing")
        word = self._bare()
        if word in _WORDS:
            return _WORDS[word]
        if _NUMBER.fullmatch(word):
            return _number(word)
        if word in ("NaN", "Infinity", "-Infinity"):
            raise NotJson(word)
        if self._depth == 0:
            raise NotJson(f"{word[:40]!r} is no value")
        return word


def _whole(parts: list[str]) -> str:
    """Joined, halves of characters beyond the first plane included; half a character alone goes."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(word: str) -> int | float:
    if re.fullmatch(r"[-+]?\d{1,400}", word):
        return int(word)
    value = float(word)
    if value in (float("inf"), float("-inf")):
        raise NotJson(word)
    return value

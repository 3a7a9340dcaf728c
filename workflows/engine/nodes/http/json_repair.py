"""Reads JSON, also malformed JSON: with missing quotes, extra commas, comments or Python's constants.

Only text that the standard library rejects is repaired.
The json-repair package (0.64) was tried instead and isn't used: it finds a value in any text, so that "just words"
would be sent as "", it drops text behind the value, and 8,000 malicious characters take it nine seconds.
"""

import json
import re
from math import isinf
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.nodes.http.marks import BEGIN


_SPACE_OR_COMMENT: Final = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_UNQUOTED: Final = re.compile(r"(?:[^,:{}\[\]\n\"'#/]|/(?![/*]))+")
_FENCE: Final = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?```\s*$", re.DOTALL)
_LITERALS: Final[dict[str, Json]] = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None, "undefined": None,
}  # fmt: skip
_CLOSING_QUOTES: Final = {"“": "”", "‘": "’", '"': '"', "'": "'"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MAX_DEPTH: Final = 100


class NotJson(ValueError):
    """The text cannot be read as JSON."""


class UnquotedText(str):
    """A text that malformed JSON has outside quotes."""

    __slots__ = ()


def read_json(text: str) -> Json:
    """Return the value in a text, which is repaired if need be. Raises NotJson, also for numbers that are not finite."""
    try:
        return load_json(text)
    except NotJson:
        return repair_json(text)


def load_json(text: str) -> Json:
    """Return the value in a text that is JSON. Line breaks inside strings are allowed. Raises NotJson."""
    try:
        return json.loads(
            text, strict=False, parse_constant=_reject_constant, parse_float=_parse_float
        )
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def repair_json(text: str, *, tells_unquoted: bool = False) -> Json:
    """Return the value that the author of a malformed text meant. Raises NotJson.

    With ``tells_unquoted``, texts that have no quotes around them are of the type UnquotedText.
    """
    text_type = UnquotedText if tells_unquoted else str
    return _Reader(remove_fence(text), text_type).read_document()


def remove_fence(text: str) -> str:
    """Return the code in a Markdown block of code, and any other text as it is."""
    fenced = _FENCE.match(text)
    return fenced[1] if fenced else text


def _reject_constant(name: str) -> Json:
    raise NotJson(name)


def _parse_float(literal: str) -> float:
    value = float(literal)
    if isinf(value):
        raise NotJson(literal[:40])
    return value


class _Reader:
    """Reads one value from a text that may be malformed, from its beginning to its end."""

    def __init__(self, text: str, unquoted_type: type[str]) -> None:
        self._text = text
        self._unquoted_type = unquoted_type
        self._position = 0
        self._depth = 0

    def read_document(self) -> Json:
        if self._skip_space() == "":
            raise NotJson("there is nothing")
        value = self._read_value()
        if self._skip_space() != "":
            raise self._build_error()
        return value

    def _build_error(self) -> NotJson:
        return NotJson(f"unexpected {self._text[self._position : self._position + 20]!r}")

    def _skip_space(self) -> str:
        """Skip white space and comments. Return the next character, or an empty string at the end."""
        skipped = _SPACE_OR_COMMENT.match(self._text, self._position)
        if skipped:
            self._position = skipped.end()
        return self._text[self._position : self._position + 1]

    def _read_value(self) -> Json:
        character = self._skip_space()
        if character in ("{", "["):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise NotJson("nested too deeply")
            self._position += 1
            value = self._read_object() if character == "{" else self._read_array()
            self._depth -= 1
            return value
        if character in _CLOSING_QUOTES:
            return self._read_string()
        return self._read_literal()

    def _read_object(self) -> dict[str, Json]:
        members: dict[str, Json] = {}
        while True:
            character = self._skip_space()
            if character == ",":
                self._position += 1
                continue
            if character in ("}", ""):
                self._position += 1
                return members
            if character in ("]", ":", "{", "["):
                raise NotJson(f"unexpected {character!r} in an object")
            key = self._read_string() if character in _CLOSING_QUOTES else self._read_unquoted()
            if self._skip_space() != ":":
                raise NotJson(f"no value for {key[:40]!r}")
            self._position += 1
            members[key] = None if self._skip_space() in (",", "}", "") else self._read_value()

    def _read_array(self) -> list[Json]:
        items: list[Json] = []
        while True:
            character = self._skip_space()
            if character == ",":
                self._position += 1
            elif character in ("]", ""):
                self._position += 1
                return items
            elif character in ("}", ":"):
                raise NotJson(f"unexpected {character!r} in a list")
            else:
                items.append(self._read_value())

    def _read_string(self) -> str:
        closing = _CLOSING_QUOTES[self._text[self._position]]
        self._position += 1
        parts: list[str] = []
        while self._position < len(self._text):
            character = self._text[self._position]
            self._position += 1
            if character == closing:
                return _join_parts(parts)
            parts.append(self._read_escape() if character == "\\" else character)
        return _join_parts(parts)  # without a closing quote the string extends to the end

    def _read_escape(self) -> str:
        character = self._text[self._position : self._position + 1]
        if character == BEGIN:  # the backslash stands before a value
            return "\\"
        self._position += 1
        if character != "u":
            return _ESCAPES.get(character, character)
        code = self._text[self._position : self._position + 4].partition(BEGIN)[0]
        self._position += len(code)
        try:
            return json.loads(f'"\\u{code}"')  # type: ignore[no-any-return]
        except ValueError:
            return f"u{code}"

    def _read_unquoted(self) -> str:
        match = _UNQUOTED.match(self._text, self._position)
        if match is None:
            raise self._build_error()
        self._position = match.end()
        return match[0].strip()

    def _read_literal(self) -> Json:
        if self._skip_space() in ("", ",", "}", "]", ":"):
            raise NotJson("a value is missing")
        literal = self._read_unquoted()
        if literal in _LITERALS:
            return _LITERALS[literal]
        if _NUMBER.fullmatch(literal):
            return _parse_number(literal)
        if literal in ("NaN", "Infinity", "-Infinity"):
            raise NotJson(literal)
        if self._depth == 0:
            raise NotJson(f"{literal[:40]!r} is no value")
        return self._unquoted_type(literal)


def _join_parts(parts: list[str]) -> str:
    """Join the parts of a string. Surrogate pairs become one character, and a lone surrogate is replaced."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _parse_number(literal: str) -> int | float:
    if re.fullmatch(r"[-+]?\d{1,400}", literal):
        return int(literal)
    return _parse_float(literal)

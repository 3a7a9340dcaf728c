"""Tolerant parsing of JSON as models write it.

Models wrap JSON in fences and prose, use single or curly quotes, leave commas after the last item, write Python's
words, add comments, put line ends into strings, and stop in the middle when their tokens run out. A value that was
cut is dropped, since half a sentence is wrong; the complete values before it stay, and the repair is reported.

The json-repair package (0.64) was tried instead and isn't used: it keeps values that were cut, takes prose for values
and doesn't report its repairs (14 of the 33 cases of the test), and 8,000 hostile characters keep it busy for nine
seconds.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from memory.core.errors import InvalidInput
from memory.core.records import Json


_MAX_LENGTH = 400_000
_MAX_CANDIDATES = 20
_MAX_DEPTH = 40

_WORDS: dict[str, Json] = {"true": True, "false": False, "True": True, "False": False}
_WORDS |= dict.fromkeys(["null", "None", "undefined", "NaN"])
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`", "「": "」", "＂": "＂"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAME = re.compile(r"[A-Za-z_\u0080-\uffff][\w-]*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*|\ufeff)+", re.DOTALL)
_SPACES = re.compile(r"\s+")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class UnreadableAnswer(InvalidInput):
    """The answer contains no readable JSON object."""


@dataclass(frozen=True, slots=True)
class RepairedObject:
    """A parsed object. ``repairs`` names the repairs in order, each once."""

    value: dict[str, Json]
    repairs: tuple[str, ...] = ()


def read_object(text: str, *, expected: frozenset[str] = frozenset()) -> RepairedObject:
    """Return the object with the most expected names; raise ``UnreadableAnswer`` if there is none.

    Of several such objects the last is returned, because models show drafts before their answer.
    """
    if (length := len(text)) > _MAX_LENGTH:
        raise UnreadableAnswer(f"The answer has {length} characters; the limit is {_MAX_LENGTH}.")
    value = _parse_strictly(text.strip())
    if value is not None:
        return RepairedObject(value)
    candidates = _list_candidates(text)
    if not candidates:
        raise UnreadableAnswer("The answer contains no JSON object.")
    return max(reversed(candidates), key=lambda candidate: len(expected & candidate.value.keys()))


def _parse_strictly(text: str) -> dict[str, Json] | None:
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reject_constant(word: str) -> Json:
    raise ValueError(word)


def _list_candidates(text: str) -> list[RepairedObject]:
    """Return every outermost object that can be read, in order."""
    candidates = []
    start = text.find("{")
    for _ in range(_MAX_CANDIDATES):
        if start < 0:
            break
        reader = _Reader(text, start)
        try:
            value = reader.read_object()
        except _NoObject:
            start = text.find("{", start + 1)
            continue
        repairs = ["text around"] if text[:start].strip() or text[reader.position :].strip() else []
        if value:
            repairs = list(dict.fromkeys([*repairs, *reader.repairs]))
            candidates.append(RepairedObject(value, tuple(repairs)))
        start = text.find("{", max(reader.position, start + 1))
    return candidates


class _NoObject(Exception):
    """There is no object at this position."""


class _EndOfText(Exception):
    """The input ended inside a value."""


@dataclass
class _Reader:
    """A reader of one object at ``position``, which moves behind the object."""

    text: str
    position: int
    repairs: list[str] = field(default_factory=list)
    depth: int = 0

    def read_object(self) -> dict[str, Json]:
        members: dict[str, Json] = {}

        def read_member() -> None:
            name = self._read_name()
            if self._peek() not in ":：=":
                raise _NoObject
            self._record_repair("colon", self.text[self.position] != ":")
            self.position += 1
            members[name] = self._read_value()

        self._read_until("}", read_member)
        return members

    def _read_list(self) -> list[Json]:
        items: list[Json] = []
        self._read_until("]", lambda: items.append(self._read_value()))
        return items

    def _read_until(self, closing: str, read_item: Callable[[], None]) -> None:
        """Read the items up to the closing bracket; if the text ends before it, the complete items stay."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _NoObject
        self.position += 1
        try:
            while self._peek() != closing:
                read_item()
                self._read_comma(closing)
            self.position += 1
        except _EndOfText:
            self.position = len(self.text)
            self._record_repair("missing end")
        self.depth -= 1

    def _read_value(self) -> Json:
        character = self._peek()
        if character == "{":
            return self.read_object()
        if character == "[":
            return self._read_list()
        if character in _QUOTES:
            return self._read_string()
        return self._read_number_or_word()

    def _read_name(self) -> str:
        if self._peek() in _QUOTES:
            return self._read_string()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise _NoObject
        self.position = match.end()
        self._record_repair("unquoted name")
        return match[0]

    def _read_number_or_word(self) -> Json:
        number = _NUMBER.match(self.text, self.position)
        word = _NAME.match(self.text, self.position)
        if word and word[0] in _WORDS:
            self.position = word.end()
            self._record_repair("word", word[0] not in ("true", "false", "null"))
            return _WORDS[word[0]]
        if number is None:
            if word and word.end() == len(self.text):
                raise _EndOfText
            raise _NoObject
        if number.end() == len(self.text):
            raise _EndOfText  # more digits may have followed
        self.position = number.end()
        return _parse_number(number[0])

    def _read_string(self) -> str:
        opening = self.text[self.position]
        closing = _QUOTES[opening]
        self._record_repair("quotes", opening != '"')
        self.position += 1
        parts: list[str] = []
        while True:
            character = self._read_character()
            if character == closing and self._is_closing(closing):
                return "".join(parts)
            if character == "\\":
                parts.append(self._read_escape())
                continue
            self._record_repair("line end in a text", character in "\n\r\t")
            parts.append(character)

    def _is_closing(self, closing: str) -> bool:
        """Return whether the quotation mark before the position ends a string, because JSON goes on after it."""
        spaces = _SPACES.match(self.text, self.position)
        position = spaces.end() if spaces else self.position
        if position >= len(self.text) or self.text[position] in ",:}]：，/#":
            return True
        if "\n" in self.text[self.position : position] and self.text[position] in _QUOTES:
            return True  # the comma is missing
        self._record_repair(f"{closing} in a text")
        return False

    def _read_escape(self) -> str:
        character = self._read_character()
        if character == "u":
            digits = self.text[self.position : self.position + 4]
            if len(digits) < 4:
                raise _EndOfText
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits) is None:
                self._record_repair("escape")
                return "\\u"
            self.position += 4
            return self._read_surrogates(chr(int(digits, 16)))
        self._record_repair("escape", character not in '"\\/bfnrt')
        return _ESCAPES.get(character, character)

    def _read_surrogates(self, first: str) -> str:
        """Join two escapes that are one character; half of one becomes a replacement character."""
        if not "\ud800" <= first <= "\udfff":
            return first
        second = _LOW_SURROGATE.match(self.text, self.position)
        if first > "\udbff" or second is None:
            self._record_repair("escape")
            return "\ufffd"
        self.position += 6
        pair = first + chr(int(second[1], 16))
        return pair.encode("utf-16", "surrogatepass").decode("utf-16")

    def _read_comma(self, closing: str) -> None:
        character = self._peek()
        if character in ",，;":
            self._record_repair("comma", character != ",")
            self.position += 1
            self._record_repair("trailing comma", self._peek() == closing)
        elif character != closing:
            if character not in _QUOTES and character not in "{[":
                raise _NoObject
            self._record_repair("missing comma")

    def _read_character(self) -> str:
        if self.position >= len(self.text):
            raise _EndOfText
        self.position += 1
        return self.text[self.position - 1]

    def _peek(self) -> str:
        """Return the character after spaces and comments, without consuming it."""
        match = _SKIPPED.match(self.text, self.position)
        if match:
            self._record_repair("comment", not match[0].isspace())
            self.position = match.end()
        if self.position >= len(self.text):
            raise _EndOfText
        return self.text[self.position]

    def _record_repair(self, repair: str, is_needed: bool = True) -> None:
        if is_needed and repair not in self.repairs:
            self.repairs.append(repair)


def _parse_number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        value = float(text)
        return value if abs(value) < float("inf") else None

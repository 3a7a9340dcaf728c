"""JSON as models write it, read as they meant it, or refused: never half of it.

Models wrap JSON in fences and prose, use single or curly quotes, leave commas behind the last
item, write Python's words, add comments, put line ends into texts, and stop in the middle when
their tokens run out. A value that was cut is dropped, since half a sentence is a wrong one; what
was complete before it stays, and the repair is named.

The json-repair package (0.64) was tried instead and isn't used: it keeps values that were cut, takes prose for values and
doesn't say what it did (14 of the 33 cases of the test), and 8,000 hostile characters keep it busy for nine seconds.
"""

import json
import re
from dataclasses import dataclass, field

from memory.core.errors import InvalidInput
from memory.core.records import Json


class Unreadable(InvalidInput):
    """There is no JSON object in the answer that can be made sense of."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """``repairs`` names what had to be done, in order, each once; ``cut``: the end was missing."""

    value: dict[str, Json]
    repairs: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        return "missing end" in self.repairs


def read_object(text: str, *, expected: frozenset[str] = frozenset()) -> Repaired:
    """The object that has the expected names, or as many of them as any has; of equals the last.

    A model that thinks aloud shows drafts before its answer. Raises ``Unreadable``.
    """
    if len(text) > _LONGEST:
        raise Unreadable(f"The answer has {len(text)} characters; the limit is {_LONGEST}.")
    whole = _strictly(text.strip())
    if whole is not None:
        return Repaired(whole)
    candidates = list(_candidates(text))
    if not candidates:
        raise Unreadable("The answer contains no JSON object.")
    return max(enumerate(candidates), key=lambda one: (_fit(one[1], expected), one[0]))[1]


_LONGEST = 400_000
_MOST_CANDIDATES = 20
_DEEPEST = 40


def _fit(found: Repaired, expected: frozenset[str]) -> int:
    return len(expected & found.value.keys())


def _strictly(text: str) -> dict[str, Json] | None:
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(word: str) -> Json:
    raise ValueError(word)


def _candidates(text: str) -> list[Repaired]:
    """Every outermost object that can be read, one after the other."""
    found = []
    at = text.find("{")
    for _ in range(_MOST_CANDIDATES):
        if at < 0:
            break
        reader = _Reader(text, at)
        try:
            value = reader.object()
        except _Hopeless:
            at = text.find("{", at + 1)
            continue
        around = ["text around"] if text[:at].strip() or text[reader.at :].strip() else []
        if value:
            found.append(Repaired(value, tuple(dict.fromkeys([*around, *reader.repairs]))))
        at = text.find("{", max(reader.at, at + 1))
    return found


class _Hopeless(Exception):
    """This is no object."""


class _Cut(Exception):
    """The text ended inside a value."""


_WORDS: dict[str, Json] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "undefined": None,
    "NaN": None,
}
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`", "「": "」", "＂": "＂"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAME = re.compile(r"[A-Za-z_\u0080-\uffff][\w-]*")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*|\ufeff)+", re.DOTALL)
_SPACES = re.compile(r"\s+")


@dataclass
class _Reader:
    """Reads one object from ``at`` on; afterwards ``at`` stands behind it."""

    text: str
    at: int
    repairs: list[str] = field(default_factory=list)
    depth: int = 0

    def object(self) -> dict[str, Json]:
        self._enter()
        found: dict[str, Json] = {}
        try:
            while self._next() != "}":
                name = self._name()
                if self._next() not in ":：=":
                    raise _Hopeless
                self._repaired("colon", self.text[self.at] != ":")
                self.at += 1
                found[name] = self._value()
                self._comma("}")
            self.at += 1
        except _Cut:
            self._end()
        self.depth -= 1
        return found

    def _list(self) -> list[Json]:
        self._enter()
        found: list[Json] = []
        try:
            while self._next() != "]":
                found.append(self._value())
                self._comma("]")
            self.at += 1
        except _Cut:
            self._end()
        self.depth -= 1
        return found

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Hopeless
        self.at += 1

    def _end(self) -> None:
        self.at = len(self.text)
        self._repaired("missing end")

    def _value(self) -> Json:
        character = self._next()
        if character == "{":
            return self.object()
        if character == "[":
            return self._list()
        if character in _QUOTES:
            return self._string()
        return self._bare()

    def _name(self) -> str:
        if self._next() in _QUOTES:
            return self._string()
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise _Hopeless
        self.at = match.end()
        self._repaired("unquoted name")
        return match[0]

    def _bare(self) -> Json:
        number = _NUMBER.match(self.text, self.at)
        word = _NAME.match(self.text, self.at)
        if word and word[0] in _WORDS:
            self.at = word.end()
            self._repaired("word", word[0] not in ("true", "false", "null"))
            return _WORDS[word[0]]
        if number is None:
            if word and word.end() == len(self.text):
                raise _Cut
            raise _Hopeless
        if number.end() == len(self.text):
            raise _Cut  # more digits may have followed
        self.at = number.end()
        return _number(number[0])

    def _string(self) -> str:
        opening = self.text[self.at]
        closing = _QUOTES[opening]
        self._repaired("quotes", opening != '"')
        self.at += 1
        parts: list[str] = []
        while True:
            character = self._character()
            if character == closing and self._closes(closing):
                return "".join(parts)
            if character == "\\":
                parts.append(self._escape())
                continue
            self._repaired("line end in a text", character in "\n\r\t")
            parts.append(character)

    def _closes(self, closing: str) -> bool:
        """A quotation mark ends a text where the grammar goes on; elsewhere it belongs to it."""
        after = _SPACES.match(self.text, self.at)
        at = after.end() if after else self.at
        if at >= len(self.text) or self.text[at] in ",:}]：，/#":
            return True
        if "\n" in self.text[self.at : at] and self.text[at] in _QUOTES:
            return True  # the comma is missing
        self._repaired(f"{closing} in a text")
        return False

    def _escape(self) -> str:
        character = self._character()
        if character == "u":
            digits = self.text[self.at : self.at + 4]
            if len(digits) < 4:
                raise _Cut
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits) is None:
                self._repaired("escape")
                return "\\u"
            self.at += 4
            return self._surrogates(chr(int(digits, 16)))
        self._repaired("escape", character not in '"\\/bfnrt')
        return _ESCAPES.get(character, character)

    def _surrogates(self, first: str) -> str:
        """Two escapes may be one character; half of one is none."""
        if not "\ud800" <= first <= "\udfff":
            return first
        second = re.match(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})", self.text[self.at : self.at + 6])
        if first > "\udbff" or second is None:
            self._repaired("escape")
            return "\ufffd"
        self.at += 6
        pair = first + chr(int(second[1], 16))
        return pair.encode("utf-16", "surrogatepass").decode("utf-16")

    def _comma(self, closing: str) -> None:
        character = self._next()
        if character in ",，;":
            self._repaired("comma", character != ",")
            self.at += 1
            self._repaired("trailing comma", self._next() == closing)
        elif character != closing:
            if character not in _QUOTES and character not in "{[":
                raise _Hopeless
            self._repaired("missing comma")

    def _character(self) -> str:
        if self.at >= len(self.text):
            raise _Cut
        self.at += 1
        return self.text[self.at - 1]

    def _next(self) -> str:
        """What comes after spaces and comments, without taking it."""
        match = _SKIPPED.match(self.text, self.at)
        if match:
            self._repaired("comment", not match[0].isspace())
            self.at = match.end()
        if self.at >= len(self.text):
            raise _Cut
        return self.text[self.at]

    def _repaired(self, what: str, really: bool = True) -> None:
        if really and what not in self.repairs:
            self.repairs.append(what)


def _number(text: str) -> Json:
    try:
        return int(text)
    except ValueError:
        value = float(text)
        return value if abs(value) < float("inf") else None

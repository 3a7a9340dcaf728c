"""Finds secrets however their letters are spelled: in another case, with signs between them, as escapes, in several strings.

Only letters and digits are compared, and these without marks and in small letters. A secret is looked for in the whole
text, in the text with its escapes read, and in its strings one after the other. Where a letter stands is only worked out
for a text that has a secret.
"""

import base64
import binascii
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self


MIN_LETTERS: Final = 8  # fewer letters and digits are part of too many texts
MIN_WORDS: Final = (
    12  # the same, for a secret without any digit, which may be words of the language
)

_SIGNS: Final = re.compile(r"[\W_]+")
_ASCII_SIGNS: Final = bytes(code for code in range(128) if not chr(code).isalnum())
# Escapes of programming languages, addresses, HTML and mail; the last one is a line break that isn't part of the text.
_ESCAPE: Final = re.compile(
    r"\\u\{([0-9a-fA-F]{1,6})\}|\\U([0-9a-fA-F]{8})|\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})"
    r"|%([0-9a-fA-F]{2})|=([0-9a-fA-F]{2})|&#[xX]([0-9a-fA-F]{1,6});"
    r"|&#([0-9]{1,7});|\\([0-3][0-7]{2})|=\r?\n"
)
_ESCAPE_SIGNS: Final = frozenset("\\%=&")
_BASES: Final = (16, 16, 16, 16, 16, 16, 16, 10, 8)  # of the groups above
# A string of JSON or of a program, and the colon after the name of a field.
_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"(\s{0,9}:)?', re.DOTALL)

# Each with the bits of a digit, and the bytes after which a group of digits ends.
_ENCODERS: Final[tuple[tuple[Callable[[bytes], bytes], int, int], ...]] = (
    (base64.b64encode, 6, 3),
    (base64.b32encode, 5, 5),
    (base64.b32hexencode, 5, 5),
    (binascii.hexlify, 4, 1),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text as it is read. Each letter of it stands for itself, or all of it is said by one escape.

    ``string`` is the number of the string that it is of, if only strings are read.
    """

    text: str
    start: int
    end: int
    is_escape: bool = False
    string: int = 0

    def iter_letters(self) -> Iterator[tuple[str, int, int]]:
        """Yield each letter that is compared, with where the text has it."""
        if self.is_escape:
            yield from ((letter, self.start, self.end) for letter in squeeze(self.text))
            return
        for position, character in enumerate(self.text, start=self.start):
            yield from ((letter, position, position + 1) for letter in squeeze(character))


def squeeze(text: str) -> str:
    """Return the letters and digits of a text, in small letters and without marks."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_SIGNS).decode()
    return _SIGNS.sub("", unicodedata.normalize("NFKD", text).casefold())


class SpellingFinder:
    """Finds secrets by their letters, forwards and backwards."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = self._list_forms(secrets)

    @classmethod
    def of_encoded(cls, secrets: Iterable[str]) -> Self:
        """Return a finder of secrets in an encoding whose digits something divides: ``czNj.cl9r``, lines, strings."""
        return cls(form for secret in secrets for form in _iter_encoded(secret.encode()))

    @staticmethod
    def _list_forms(secrets: Iterable[str]) -> tuple[str, ...]:
        squeezed = filter(None, map(_squeeze_secret, secrets))
        forms = (form for letters in squeezed for form in (letters, letters[::-1]))
        return tuple(dict.fromkeys(forms))

    def is_in(self, text: str) -> bool:
        return any(self._is_spelled(read(text)) for read in _READERS)

    def find_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the text spells a secret. One in several strings has a span in each."""
        spans = set[tuple[int, int]]()
        for read in _READERS:
            pieces = read(text)
            if self._is_spelled(pieces):
                spans |= self._locate(pieces)
        return sorted(spans)

    def find_strings(self, strings: Sequence[str]) -> set[int]:
        """Return the numbers of the strings that spell a secret one after the other."""
        pieces = [Piece(text, 0, 0) for text in strings]
        if not self._is_spelled(pieces):
            return set()
        numbers = [number for number, text in enumerate(strings) for _letter in squeeze(text)]
        letters = "".join(map(squeeze, strings))
        return {number for start, end in self._iter_forms(letters) for number in numbers[start:end]}

    def _is_spelled(self, pieces: Sequence[Piece]) -> bool:
        if not self._forms or not pieces:
            return False
        letters = squeeze("".join(piece.text for piece in pieces))
        return any(form in letters for form in self._forms)

    def _locate(self, pieces: Sequence[Piece]) -> set[tuple[int, int]]:
        """Return from where to where the text has each secret, in each of its strings if only these are read."""
        letters = [(piece.string, *letter) for piece in pieces for letter in piece.iter_letters()]
        spans = set[tuple[int, int]]()
        for first, last in self._iter_forms("".join(letter for _string, letter, *_ends in letters)):
            ends: dict[int, tuple[int, int]] = {}
            for string, _letter, start, end in letters[first:last]:
                ends[string] = (ends.get(string, (start, end))[0], end)
            spans |= set(ends.values())
        return spans

    def _iter_forms(self, letters: str) -> Iterator[tuple[int, int]]:
        for form in self._forms:
            start = letters.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = letters.find(form, start + len(form))


def _squeeze_secret(secret: str) -> str:
    """Return the letters to look for, or "" if they are too few to mean the secret."""
    letters = squeeze(secret)
    has_digit = any(letter.isdigit() for letter in letters)
    return letters if len(letters) >= (MIN_LETTERS if has_digit else MIN_WORDS) else ""


def _iter_encoded(raw: bytes) -> Iterator[str]:
    """Yield the digits that say all of the bytes and nothing else, for each position in a group at which they may begin."""
    for encode, bits, group in _ENCODERS:
        for skipped in range(group):
            first, last = -(-skipped * 8 // bits), (skipped + len(raw)) * 8 // bits
            yield encode(bytes(skipped) + raw).decode()[first:last]


def _read_whole(text: str) -> list[Piece]:
    return [Piece(text, 0, len(text))]


def _read_escapes(text: str) -> list[Piece]:
    """Return the text with what its escapes say; nothing for a text without any."""
    if not _ESCAPE_SIGNS.intersection(text):
        return []
    pieces, position = [], 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        pieces.append(Piece(text[position:start], position, start))
        pieces.append(Piece(_read_escape(match), start, end, is_escape=True))
        position = end
    return [*pieces, Piece(text[position:], position, len(text))] if pieces else []


def _read_escape(match: re.Match[str]) -> str:
    number = match.lastindex
    if number is None:
        return ""
    code = int(match[number], _BASES[number - 1])
    return chr(code) if code <= sys.maxunicode else ""


def _read_strings(text: str) -> list[Piece]:
    """Return the strings of JSON or of a program with what their escapes say, without the names of fields."""
    if text.count('"') < 4:  # fewer than two strings
        return []
    strings = (match for match in _STRING.finditer(text) if match[2] is None)
    return [
        replace(
            piece, start=piece.start + match.start(1), end=piece.end + match.start(1), string=number
        )
        for number, match in enumerate(strings)
        for piece in _read_escapes(match[1]) or _read_whole(match[1])
    ]


_READERS: Final[tuple[Callable[[str], list[Piece]], ...]] = (
    *(_read_whole, _read_escapes, _read_strings),
)

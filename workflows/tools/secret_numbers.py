"""Finds secrets that numbers say: one that consists of digits, or the bytes of one, whatever stands between them.

Programs show bytes in decimal, octal, hexadecimal or binary numbers: as calls (``CHAR(115)``), as the fields of an object, in
several lists, or in groups of a dump. Only the numbers are compared, in their order. Where one stands is only worked out
for a text that has a secret.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from workflows.tools.value_texts import TextKind, ValueText


@dataclass(frozen=True, slots=True)
class _Notation:
    """How bytes are written: the numbers of a text, which are compared with the separator between them."""

    number: re.Pattern[str]
    separator: str
    write: Callable[[bytes], str]

    def join(self, numbers: Iterable[str]) -> str:
        """Return the numbers in a row. A separator stands at both ends, too, so that no number is a part of one."""
        return self.separator + "".join(f"{number}{self.separator}" for number in numbers)

    def locate(self, text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
        """Yield from where to where the numbers of a text are one of the forms."""
        spelled = self.join(self.number.findall(text))
        present = [form for form in forms if form in spelled]
        if present:
            spans = [match.span() for match in self.number.finditer(text)]
            lengths = list(map(len, self.number.findall(text)))
            for form in present:
                for first, last in self.find(spelled, lengths, form):
                    yield spans[first][0], spans[last][1]

    def find(self, spelled: str, lengths: Sequence[int], form: str) -> Iterator[tuple[int, int]]:
        """Yield the first and the last of the numbers of these lengths that have the form, each time that they do."""
        ends = list(accumulate(len(self.separator) + length for length in lengths))
        start = spelled.find(form)
        while start >= 0:
            end = start + len(form) - len(self.separator)
            yield bisect_right(ends, start), bisect_left(ends, end)
            start = spelled.find(form, end)


def _write_numbers(template: str) -> Callable[[bytes], str]:
    return lambda content: "".join(f" {template.format(byte)}" for byte in content) + " "


# A number in quotes before a colon is the name of a field.
_SMALL: Final = re.compile(r"(?<![\w.-])(?:0o)?([0-9]{1,3})(?:\.0+)?(?![\w.]|[\"']\s{0,9}:)")
# Not the position at the start of a line of a dump.
_HEXADECIMAL: Final = re.compile(
    r"(?<![0-9a-zA-Z])(?!(?<![^\n])[0-9a-fA-F]{7,8}:?\s)(?:0x)?([0-9a-fA-F]{2,})(?![0-9a-zA-Z])"
)
_BINARY: Final = re.compile(r"(?<!\w)(?:0b)?([01]{6,})(?!\w)")
_DECIMALS: Final = _Notation(_SMALL, " ", _write_numbers("{:d}"))
_NOTATIONS: Final = (
    _DECIMALS,
    _Notation(_SMALL, " ", _write_numbers("{:o}")),
    _Notation(_SMALL, " ", _write_numbers("{:03o}")),
    _Notation(_HEXADECIMAL, "", bytes.hex),
    _Notation(_BINARY, "", lambda content: "".join(f"{byte:08b}" for byte in content)),
)


class NumberFinder:
    """Finds these secrets, which are in the forms in which they are looked for."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = list(secrets)
        self._digits = tuple(form for form in forms if form.isascii() and form.isdigit())
        contents = [form.encode(errors="replace") for form in forms]
        self._forms = [
            (notation, tuple(notation.write(content) for content in contents))
            for notation in _NOTATIONS
        ]

    def is_in(self, text: str) -> bool:
        return next(self.find_spans(text), None) is not None

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield from where to where the numbers of a text say a secret."""
        for notation, forms in self._forms:
            yield from notation.locate(text, forms)

    def find(self, texts: Sequence[ValueText]) -> set[int]:
        """Return the positions of the numbers of a JSON value that say a secret, each alone or several together."""
        kinds = {TextKind.NUMBER, TextKind.BYTES}
        positions = [index for index, each in enumerate(texts) if each.kind in kinds]
        numbers = [texts[position].text for position in positions]
        masked = {
            position
            for position, number in zip(positions, numbers, strict=True)
            if any(secret in number for secret in self._digits)
        }
        spelled, lengths = _DECIMALS.join(numbers), list(map(len, numbers))
        for form in self._forms[0][1]:
            for first, last in _DECIMALS.find(spelled, lengths, form):
                masked |= set(positions[first : last + 1])
        return masked

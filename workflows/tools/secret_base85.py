"""Finds secrets in texts that are written in base 85, whose groups can't be told from the words around them.

Four bytes are five letters, so that what a secret's own groups look like depends only on where in a group it begins.
"""

import base64
import html
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final


GROUP: Final = 4  # bytes
LETTERS: Final = 5  # of a group
MIN_GROUPS: Final = 2  # fewer groups are part of too many texts
_ENCODERS: Final[tuple[Callable[[bytes], bytes], ...]] = (base64.b85encode, base64.a85encode)
_ESCAPERS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    lambda text: json.dumps(text)[1:-1],
    html.escape,
)


def list_base85_forms(secrets: Iterable[str]) -> list[str]:
    """Return the groups that lie within each secret, for each of the four positions at which it may begin."""
    return list(dict.fromkeys(form for secret in secrets for form in _iter_forms(secret.encode())))


def find_base85_spans(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield where the forms are, together with the groups around them, which have the secret's ends."""
    for form in forms:
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            yield _extend(text, start, -1), _extend(text, end, 1)
            start = text.find(form, end)


def _iter_forms(raw: bytes) -> Iterator[str]:
    for skipped in range(GROUP):
        inner = raw[skipped:]
        inner = inner[: len(inner) - len(inner) % GROUP]
        if len(inner) >= MIN_GROUPS * GROUP:
            for encode in _ENCODERS:
                text = encode(inner).decode()
                yield from (escape(text) for escape in _ESCAPERS)


def _extend(text: str, position: int, step: int) -> int:
    """Return the position a group further, or at the end of the word."""
    for _letter in range(LETTERS):
        neighbour = position if step > 0 else position - 1
        if not 0 <= neighbour < len(text) or text[neighbour] in " \t\r\n\"'":
            break
        position += step
    return position

"""Finds secrets in texts in uuencode, whose signs can't be told from the text around them.

Three bytes are four signs. What a secret's own signs look like depends only on where in such a group it begins, and a line
may end after each group: the next line begins with its length. Where a sign stands is only worked out for a text that has
a secret.
"""

import binascii
import html
import re
from collections.abc import Iterable, Iterator
from typing import Final


GROUP: Final = 3  # bytes
SIGNS: Final = 4  # of a group
MIN_SIGNS: Final = 6  # fewer are part of too many texts
_LINE_BREAK: Final = r"(?:\r?\n|\\r\\n|\\n)(?:&[a-z0-9#]{2,5};|\\?[ -`])?"
_LINES: Final = re.compile(_LINE_BREAK)
# The same, and the signs as JSON and HTML write them.
_ESCAPED_LINES: Final = re.compile(_LINE_BREAK + r"|\\[\"\\]|&(?:quot|amp|lt|gt|#x27|#39);")


class UuencodeFinder:
    def __init__(self, secrets: Iterable[str]) -> None:
        forms = (form for secret in secrets for form in _iter_forms(secret.encode()))
        self._forms = tuple(dict.fromkeys(forms))

    def is_in(self, text: str) -> bool:
        return any(any(self._list_present(signs)) for signs, _pattern in self._iter_readings(text))

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the signs are that say a secret and nothing else."""
        for signs, pattern in self._iter_readings(text):
            if present := self._list_present(signs):
                positions = _list_positions(text, pattern)
                for form in present:
                    for start in _iter_places(signs, form):
                        yield positions[start], positions[start + len(form) - 1] + 1

    def _list_present(self, signs: str) -> list[str]:
        return [form for form in self._forms if form in signs]

    def _iter_readings(self, text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
        """Yield the signs of a text without its line breaks, as they are, and as they are if JSON or HTML has them."""
        if self._forms:
            for pattern in (_LINES, _ESCAPED_LINES):
                yield pattern.sub(_read, text).replace("`", " "), pattern


def _iter_forms(raw: bytes) -> Iterator[str]:
    """Yield the signs that lie within the bytes, for each position in a group at which they may begin."""
    for skipped in range(GROUP):
        first = -(-skipped * SIGNS // GROUP)
        last = (skipped + len(raw)) * SIGNS // GROUP
        if last - first >= MIN_SIGNS:
            yield _encode(bytes(skipped) + raw)[first:last]


def _encode(content: bytes) -> str:
    """Return the signs of the content as if it were one line."""
    content += bytes(-len(content) % GROUP)
    groups = (content[start : start + GROUP] for start in range(0, len(content), GROUP))
    return "".join(binascii.b2a_uu(group).decode()[1 : SIGNS + 1] for group in groups)


def _read(match: re.Match[str]) -> str:
    """Return the sign that is written with an escape, or nothing for a line break."""
    text = match.group()
    if text.startswith("&"):
        return html.unescape(text)
    return text[1] if text in ('\\"', "\\\\") else ""


def _list_positions(text: str, pattern: re.Pattern[str]) -> list[int]:
    """Return where the text has each of its signs. One with an escape stands where that begins."""
    positions, position = list[int](), 0
    for match in pattern.finditer(text):
        positions += range(position, match.start())
        positions += [match.start()] * len(_read(match))
        position = match.end()
    return [*positions, *range(position, len(text))]


def _iter_places(signs: str, form: str) -> Iterator[int]:
    start = signs.find(form)
    while start >= 0:
        yield start
        start = signs.find(form, start + len(form))

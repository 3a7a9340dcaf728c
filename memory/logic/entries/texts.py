"""The texts in a value, whatever its shape: what the rest of the logic reads of an entry."""

import re
from collections.abc import Iterator, Mapping

from memory.core.records import Json


def texts_in(value: Json) -> list[str]:
    """Every text, names of members left out, in the order they stand."""
    return list(_walk(value))


def single_text(value: Json) -> str | None:
    """What a value says, if it is one sentence in whatever wrapping."""
    found = texts_in(value)
    return found[0] if len(found) == 1 else None


def cut(text: str) -> list[str]:
    """Into what people compare: a word, spaces, or one sign; of a script without spaces every character is a word."""
    return _WORD.findall(text)


_WORD = re.compile(
    r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+|\s+|.", re.DOTALL
)


def _walk(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _walk(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _walk(one)

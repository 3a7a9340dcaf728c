"""The strings in a value of any shape."""

import re
from collections.abc import Iterator, Mapping

from memory.core.records import Json


_WORD = re.compile(
    r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+|\s+|.", re.DOTALL
)


def list_texts(value: Json) -> list[str]:
    """Return all strings in the value in order, without the names of members."""
    return list(_iterate_strings(value))


def join_texts(value: Json) -> str:
    """Return all strings in the value as one."""
    return " ".join(list_texts(value))


def get_single_text(value: Json) -> str | None:
    """Return the string of a value that contains exactly one, at any depth."""
    if isinstance(value, str):
        return value
    texts = list_texts(value)
    return texts[0] if len(texts) == 1 else None


def split_words(text: str) -> list[str]:
    """Split a string into words, spaces and single signs; in scripts without spaces, every character is a word."""
    return _WORD.findall(text)


def _iterate_strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _iterate_strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iterate_strings(item)

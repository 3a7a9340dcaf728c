"""The texts of a JSON value, in the order in which they are written, and the value with other texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeGuard

from workflows.engine.language.document import Json


MIN_BYTES: Final = 6  # a shorter list of numbers says nothing


class TextKind(StrEnum):
    STRING = "string"
    NAME = "name"  # of a field
    BYTES = "bytes"  # the numbers of a list, as programs write bytes
    NUMBER = "number"  # any other one


@dataclass(frozen=True, slots=True)
class ValueText:
    text: str
    kind: TextKind


def iter_texts(value: Json) -> Iterator[ValueText]:
    if isinstance(value, str):
        yield ValueText(value, TextKind.STRING)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield ValueText(name, TextKind.NAME)
            yield from iter_texts(item)
    elif _is_list_of_bytes(value):
        yield ValueText(_join(value), TextKind.BYTES)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iter_texts(item)
    elif _is_number(value):
        yield ValueText(_write(value), TextKind.NUMBER)


def rebuild(value: Json, texts: Iterator[str]) -> Json:
    """Return the value with these texts, one for each of ``iter_texts``. What is no text and gets another one becomes it."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, dict):
        return {next(texts): rebuild(item, texts) for item in value.values()}
    if _is_list_of_bytes(value):
        text = next(texts)
        return value if text == _join(value) else text
    if isinstance(value, list | tuple):
        return [rebuild(item, texts) for item in value]
    if _is_number(value):
        text = next(texts)
        return value if text == _write(value) else text
    return value


def _is_list_of_bytes(value: Json) -> TypeGuard[list[int]]:
    if not isinstance(value, list | tuple) or len(value) < MIN_BYTES:
        return False
    return all(type(item) is int for item in value)


def _is_number(value: Json) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _write(number: float) -> str:
    """Return the digits of a number, without an exponent."""
    return str(number) if isinstance(number, int) else f"{number:f}".rstrip("0").rstrip(".")


def _join(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))

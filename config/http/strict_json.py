"""Parses the JSON of request bodies, and refuses anything that two parsers could read differently.

Duplicate keys, NaN, Infinity, NUL characters, lone surrogates, deep nesting and very long numbers are refused.
"""

import json
import math
import re
from typing import Any, Never

from django.http import HttpRequest
from django.http.request import RawPostDataException


MAX_DIGITS = 400  # per number; this also bounds the quadratic cost of int()
MAX_DEPTH = 64

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


class NotStrictJson(ValueError):
    """The body is not valid JSON, or two parsers could read it differently."""

    retryable = False


class StrictDecoder(json.JSONDecoder):
    """Decodes JSON as ``loads`` does, for ``forms.JSONField``."""

    def decode(self, s: str, _w: Any = None) -> Any:
        """Raise ``JSONDecodeError``, the only error that the field expects."""
        try:
            return loads(s)
        except NotStrictJson as error:
            raise json.JSONDecodeError(str(error), "", 0) from error


def read_body(request: HttpRequest) -> bytes:
    """Return the raw body where JSON is expected, or text that isn't JSON if a middleware has read the body as a form."""
    try:
        return request.body
    except RawPostDataException:
        return b"a form"


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse any JSON value. Raise ``NotStrictJson`` with the reason if it is invalid."""
    text = _decode(data)
    _check_depth(text, max_depth)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
            parse_float=_parse_number,
        )
    except NotStrictJson:
        raise
    except ValueError as error:
        raise NotStrictJson(f"Not JSON: {error}") from error
    _check_text(value)
    return value


def _decode(data: bytes | str) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotStrictJson(f"Not UTF-8: {error.reason} at byte {error.start}") from error


def _check_depth(text: str, max_depth: int) -> None:
    """Check the depth before parsing, because Python's parser recurses."""
    depth = 0
    for bracket in _BRACKETS.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > max_depth:
            raise NotStrictJson(f"Nested more than {max_depth} levels deep")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        earlier_keys: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in earlier_keys or earlier_keys.add(key))  # type: ignore[func-returns-value]
        raise NotStrictJson(f"The key {duplicate[:80]!r} appears twice in one object")
    return result


def _refuse_constant(name: str) -> Never:
    raise NotStrictJson(f"{name} is not a JSON number")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotStrictJson(f"A number has more than {MAX_DIGITS} digits")
    return int(digits)


def _parse_number(digits: str) -> float:
    number = float(digits)
    if len(digits) > MAX_DIGITS or math.isinf(number):
        raise NotStrictJson(f"The number {digits[:20]}… is out of range")
    return number


def _check_text(value: Any) -> None:
    """Refuse NUL and lone surrogates, which PostgreSQL can't store and which would cause a server error later."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str) and ("\x00" in item or not _is_encodable(item)):
            raise NotStrictJson("The text contains a NUL character or half a surrogate pair")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

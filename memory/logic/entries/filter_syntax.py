"""A metadata filter as people type it: ``topic=cats n>=3 status=open|new !draft``, or the JSON of the language."""

import json
import re
from collections.abc import Mapping
from typing import Final

from memory.core.errors import InvalidInput
from memory.core.filters import parse_filter
from memory.core.records import Json


def read_filter(text: str) -> dict[str, Json]:
    """Every condition must hold. Quotes keep spaces together: ``title="the big one"``."""
    text = text.strip()
    found = _json(text) if text.startswith("{") else _conditions(text)
    parse_filter(found)  # refuses here what the query would refuse
    return found


def _json(text: str) -> dict[str, Json]:
    try:
        found = json.loads(text)
    except ValueError:
        raise InvalidInput("invalid JSON") from None
    if not isinstance(found, dict):
        raise InvalidInput("must be an object")
    return found


_PART: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONDITION: Final = re.compile(
    r"(?P<name>[^\s=<>!|\"]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)", re.S
)
_BARE: Final = re.compile(r"(?P<not>!?)(?P<name>[^\s=<>!|\"?]+)\??")
_SIGNS: Final[Mapping[str, str]] = {
    "!=": "$ne",
    ">=": "$gte",
    "<=": "$lte",
    ">": "$gt",
    "<": "$lt",
}


def _conditions(text: str) -> dict[str, Json]:
    parts = [_condition(part) for part in _PART.findall(text)]
    if len(parts) > 1 and len({name for name, _ in parts}) < len(parts):
        return {"$and": [{name: wanted} for name, wanted in parts]}
    return dict(parts)


def _condition(part: str) -> tuple[str, Json]:
    if found := _CONDITION.fullmatch(part):
        name, sign, value = found["name"], found["sign"], found["value"]
        if not value or name.startswith("$"):
            raise InvalidInput(part)
        if sign == "=":
            return name, _among(value)
        return name, {_SIGNS[sign]: _read(value)}
    bare = _BARE.fullmatch(part)
    if bare is None or bare["name"].startswith("$") or not (bare["not"] or part.endswith("?")):
        raise InvalidInput(part)
    return bare["name"], {"$exists": not bare["not"]}


def _among(value: str) -> Json:
    if "|" in value and not value.startswith('"'):
        return {"$in": [_read(one) for one in value.split("|") if one]}
    return _read(value)


def _read(value: str) -> Json:
    """What reads as JSON is that, anything else is text."""
    try:
        found: Json = json.loads(value)
    except ValueError:
        return value.strip('"')
    return value if isinstance(found, dict | list) else found

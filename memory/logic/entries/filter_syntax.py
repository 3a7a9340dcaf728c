"""The text syntax of metadata filters: ``topic=cats n>=3 status=open|new !draft``."""

import json
import re
from typing import Final

from memory.core.errors import InvalidInput
from memory.core.filters import parse_filter
from memory.core.records import Json


_PART: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONDITION: Final = re.compile(
    r"(?P<name>[^\s=<>!|\"]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)", re.S
)
_BARE: Final = re.compile(r"(?P<not>!?)(?P<name>[^\s=<>!|\"?]+)\??")
_SIGNS: Final = {"!=": "$ne", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}


def read_filter(text: str) -> dict[str, Json]:
    """Parse conditions that all must hold, in the text syntax (quotes keep spaces together) or as the filter's JSON."""
    text = text.strip()
    conditions = _parse_json(text) if text.startswith("{") else _parse_conditions(text)
    parse_filter(conditions)  # raises the same error as the query
    return conditions


def _parse_json(text: str) -> dict[str, Json]:
    try:
        conditions = json.loads(text)
    except ValueError:
        raise InvalidInput("invalid JSON") from None
    if not isinstance(conditions, dict):
        raise InvalidInput("must be an object")
    return conditions


def _parse_conditions(text: str) -> dict[str, Json]:
    parts = [_parse_condition(part) for part in _PART.findall(text)]
    if len(parts) > 1 and len({name for name, _ in parts}) < len(parts):
        return {"$and": [{name: condition} for name, condition in parts]}
    return dict(parts)


def _parse_condition(part: str) -> tuple[str, Json]:
    if match := _CONDITION.fullmatch(part):
        name, sign, value = match["name"], match["sign"], match["value"]
        if not value or name.startswith("$"):
            raise InvalidInput(part)
        if sign == "=":
            return name, _parse_alternatives(value)
        return name, {_SIGNS[sign]: _parse_value(value)}
    bare = _BARE.fullmatch(part)
    if bare is None or bare["name"].startswith("$") or not (bare["not"] or part.endswith("?")):
        raise InvalidInput(part)
    return bare["name"], {"$exists": not bare["not"]}


def _parse_alternatives(value: str) -> Json:
    if "|" in value and not value.startswith('"'):
        return {"$in": [_parse_value(part) for part in value.split("|") if part]}
    return _parse_value(value)


def _parse_value(value: str) -> Json:
    """Return the JSON scalar that the string spells, or else the string itself."""
    try:
        parsed: Json = json.loads(value)
    except ValueError:
        return value.strip('"')
    return value if isinstance(parsed, dict | list) else parsed

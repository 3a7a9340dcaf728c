"""The text syntax of metadata filters: ``topic=cats n>=3 status=open|new !draft``."""

import json
import re
from typing import Final

from memory.core.errors import InvalidInput
from memory.core.filters import parse_filter
from memory.core.records import Json


_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONDITION: Final = re.compile(
    r"(?P<name>[^\s=<>!|\"]+)(?P<sign>!=|>=|<=|=|>|<)(?P<value>.*)", re.S
)
_EXISTENCE: Final = re.compile(r"(?P<not>!?)(?P<name>[^\s=<>!|\"?]+)\??")
_SIGNS: Final = {"!=": "$ne", ">=": "$gte", "<=": "$lte", ">": "$gt", "<": "$lt"}


def parse_filter_text(text: str) -> dict[str, Json]:
    """Parse a filter in the text syntax, in which quotes keep spaces together, or in JSON; raise InvalidInput."""
    text = text.strip()
    conditions = _parse_json(text) if text.startswith("{") else _parse_conditions(text)
    parse_filter(conditions)  # raises the same error as the query
    return conditions


def _parse_json(text: str) -> dict[str, Json]:
    try:
        conditions = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("invalid JSON") from None
    if not isinstance(conditions, dict):
        raise InvalidInput("must be an object")
    return conditions


def _parse_conditions(text: str) -> dict[str, Json]:
    conditions = [_parse_condition(word) for word in _WORD.findall(text)]
    if len(conditions) > 1 and len({name for name, _ in conditions}) < len(conditions):
        return {"$and": [{name: condition} for name, condition in conditions]}
    return dict(conditions)


def _parse_condition(word: str) -> tuple[str, Json]:
    if match := _CONDITION.fullmatch(word):
        name, sign, value = match["name"], match["sign"], match["value"]
        if not value or name.startswith("$"):
            raise InvalidInput(word)
        if sign == "=":
            return name, _parse_alternatives(value)
        return name, {_SIGNS[sign]: _parse_value(value)}
    match = _EXISTENCE.fullmatch(word)
    if match is None or match["name"].startswith("$") or not (match["not"] or word.endswith("?")):
        raise InvalidInput(word)
    return match["name"], {"$exists": not match["not"]}


def _parse_alternatives(value: str) -> Json:
    if "|" in value and not value.startswith('"'):
        return {"$in": [_parse_value(item) for item in value.split("|") if item]}
    return _parse_value(value)


def _parse_value(value: str) -> Json:
    """Return the JSON scalar that the string spells, or else the string itself."""
    try:
        parsed: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value.strip('"')
    return value if isinstance(parsed, dict | list) else parsed

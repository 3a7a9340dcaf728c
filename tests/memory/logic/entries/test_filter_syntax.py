"""A metadata filter as people type it, and what the language makes of it."""

from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.logic.entries.filter_syntax import parse_filter_text
from tests.support.cases import for_each


TYPED: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("topic=cats", {"topic": "cats"}),
    ("topic=cats n=3 done=true", {"topic": "cats", "n": 3, "done": True}),
    ("n>=3", {"n": {"$gte": 3}}),
    ("n>3 m<2.5 k<=1", {"n": {"$gt": 3}, "m": {"$lt": 2.5}, "k": {"$lte": 1}}),
    ("status!=open", {"status": {"$ne": "open"}}),
    ("status=open|new|7", {"status": {"$in": ["open", "new", 7]}}),
    ("draft?", {"draft": {"$exists": True}}),
    ("!draft", {"draft": {"$exists": False}}),
    ("by.name=Mia", {"by.name": "Mia"}),
    ('title="the big one" n=1', {"title": "the big one", "n": 1}),
    ("n>=3 n<9", {"$and": [{"n": {"$gte": 3}}, {"n": {"$lt": 9}}]}),
    ('{"$or": [{"a": 1}, {"$not": {"b": 2}}]}', {"$or": [{"a": 1}, {"$not": {"b": 2}}]}),
]


@for_each("typed, filter_", TYPED)
def test_what_is_typed_is_the_languages_filter(typed: str, filter_: dict[str, Any]) -> None:
    assert parse_filter_text(typed) == filter_


@for_each("typed", ["topic", "=cats", "n>=", "$or=1", "{", '{"$like": 1}', "[1]", "a..b=1"])
def test_nonsense_is_refused_rather_than_matching_nothing(typed: str) -> None:
    with pytest.raises(InvalidInput):
        parse_filter_text(typed)

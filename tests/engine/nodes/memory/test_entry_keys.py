"""Keys that nobody chose: the same for the same words, valid for every store, and without a word of the value."""

import pytest

from memory.core.identifiers import parse_id
from workflows.engine.nodes.memory.entry_keys import build_key, is_built_key


def test_key_tells_nothing_of_the_value() -> None:
    key = build_key("My name is Ana.")

    assert "ana" not in key
    assert len(key) == len(build_key({"city": "Lyon"}))


def test_same_words_have_the_same_key_and_others_do_not() -> None:
    assert build_key("I’m  Allergic to peanuts!") == build_key("I'm allergic to peanuts.")
    assert build_key("I live in Lyon") != build_key("I live in Rome")
    assert build_key("👍") != build_key("👎")


@pytest.mark.parametrize(
    "value", ["x" * 5_000, "我" * 5_000, "a:b%c " * 50, "", None, [1, 2], "👍"]
)
def test_key_of_any_value_is_valid(value: object) -> None:
    key = build_key(value)

    assert parse_id(key, "key") == key
    assert is_built_key(key)


@pytest.mark.parametrize("key", ["diet", "m-", "m-123", "m-0123456789abc", "order-1f3a9c"])
def test_keys_of_authors_are_told_from_ours(key: str) -> None:
    assert not is_built_key(key)

"""What a question finds, in which order, with which score."""

from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.core.provider import MAX_TOP_K
from tests.spec.providers.conftest import Memory
from tests.support.score_parts import check_parts


FACTS = {
    "cat": "My cat is called Miso.",
    "dog": "My dog is called Rex.",
    "home": "I live in Oslo, near the harbour.",
    "work": "I am a carpenter and I build boats.",
    "猫": "我的猫叫米索。",
    "城市": "我2012年的时候住在上海。",
}

QUESTIONS = [
    ("What is my cat called?", "cat"),
    ("what's the name of my DOG", "dog"),
    ("Where do I live?", "home"),
    ("boat builder", "work"),
    ("我的猫叫什么？", "猫"),
    ("上海", "城市"),
    ("2012", "城市"),
    ("carpent", "work"),
]


def fill(memory: Memory) -> None:
    for key, value in FACTS.items():
        memory.store(key, value)


def test_question_finds_its_answer_first(memory: Memory) -> None:
    fill(memory)

    found = {question: memory.recall(query_text=question, top_k=3) for question, _ in QUESTIONS}

    assert {question: entries[0].key for question, entries in found.items()} == dict(QUESTIONS)
    scores = [entry.score for entries in found.values() for entry in entries]
    assert all(score is not None and 0 < score <= 1 for score in scores)


def test_question_about_nothing_known_finds_nothing(memory: Memory) -> None:
    fill(memory)

    assert memory.recall(query_text="quantum chromodynamics") == []


def test_score_is_explained_by_its_parts(memory: Memory) -> None:
    fill(memory)

    best, second = memory.recall(query_text="What is my cat called?")

    assert (best.key, second.key) == ("cat", "dog")
    assert best.explain == {
        "words": 1.0,
        "context": 0.0,
        "literal": 0.0,
        "rank": 1.0,
        "rank_words": 0.5,
        "rank_context": 0.5,
    }
    assert best.score == 1.0
    assert second.score is not None
    assert 0.4 < second.score < 0.5  # "called" of "cat" and "called"
    check_parts(second)


PIECES = ("HARBOUR", "near the har", "o, n", "home\ni live")


def test_literal_piece_of_key_or_value_is_found_whatever_its_case(memory: Memory) -> None:
    fill(memory)

    found = {text: memory.recall(query_text=text) for text in PIECES}

    assert {
        text: [(entry.key, entry.score) for entry in entries] for text, entries in found.items()
    } == {text: [("home", 1.0)] for text in PIECES}


SPELLINGS = {"way": "Die lange Straße am See", "kana": "カタカナを習う", "town": "İzmir güzel"}


OTHER_SPELLINGS = {
    "strasse": "way",
    "trass": "way",
    "ｶﾀｶﾅ": "kana",
    "IZMIR": "town",
    "u\u0308zel": "town",
}


def test_other_spellings_are_found(memory: Memory) -> None:
    for name, value in SPELLINGS.items():
        memory.store(name, value)

    first = {text: memory.recall(query_text=text)[0] for text in OTHER_SPELLINGS}

    assert {text: (entry.key, entry.score) for text, entry in first.items()} == {
        text: (key, 1.0) for text, key in OTHER_SPELLINGS.items()
    }


def test_values_that_are_not_text_are_searched_as_json(memory: Memory) -> None:
    memory.store("profile", {"city": "Bergen", "age": 41})

    assert memory.keys(query_text="who lives in bergen?") == ["profile"]
    assert memory.keys(query_text='"age":41') == ["profile"]


def test_key_alone_gives_that_entry_without_a_score(memory: Memory) -> None:
    fill(memory)

    (found,) = memory.recall(key="dog", query_text="cat")

    assert (found.key, found.score) == ("dog", None)
    assert memory.recall(key="bird") == []


def test_no_question_gives_all_newest_first_cut_to_top_k(memory: Memory) -> None:
    fill(memory)
    memory.store("cat", "changed")

    assert memory.keys() == ["cat", "城市", "猫", "work", "home", "dog"]
    assert memory.keys(top_k=2) == ["cat", "城市"]
    assert memory.keys(top_k=0) == []
    assert memory.keys(query_text="  ", top_k=1) == ["cat"]


def test_equal_ranks_come_newest_first(memory: Memory) -> None:
    for key in ("a", "b", "c"):
        memory.store(key, "the same words")

    found = memory.recall(query_text="words same")

    assert [e.key for e in found] == ["c", "b", "a"]
    assert len({e.score for e in found}) == 1


def test_top_k_keeps_the_best(memory: Memory) -> None:
    fill(memory)

    assert memory.keys(query_text="my cat is called", top_k=1) == ["cat"]


@pytest.mark.parametrize("top_k", [-1, MAX_TOP_K + 1])
def test_top_k_out_of_range_is_refused(memory: Memory, top_k: int) -> None:
    with pytest.raises(InvalidInput, match="top_k"):
        memory.recall(top_k=top_k)


PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"age": 30, "role": "lead", "address": {"city": "Oslo"}, "tags": ["a", "b"], "ok": True},
    "ben": {"age": 40.5, "role": "dev", "address": {"city": "Bergen"}, "ok": False},
    "cid": {"age": "30", "role": None, "address": "Oslo", "ok": 1},
    "dot": {},
}

FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"ann", "ben", "cid", "dot"}),
    ({"age": 30}, {"ann"}),
    ({"age": 30.0}, {"ann"}),
    ({"age": "30"}, {"cid"}),
    ({"ok": True}, {"ann"}),
    ({"ok": 1}, {"cid"}),
    ({"role": None}, {"cid"}),
    ({"tags": ["a", "b"]}, {"ann"}),
    ({"tags": ["b", "a"]}, set()),
    ({"address": {"city": "Oslo"}}, {"ann"}),
    ({"address.city": "Oslo"}, {"ann"}),
    ({"tags.0": "a"}, set()),
    ({"age": {"$gt": 30}}, {"ben"}),
    ({"age": {"$gte": 30}}, {"ann", "ben"}),
    ({"age": {"$lt": 40.5}}, {"ann"}),
    ({"age": {"$gte": 30, "$lte": 40}}, {"ann"}),
    ({"role": {"$gt": "dev"}}, {"ann"}),
    ({"role": {"$lte": "dev"}}, {"ben"}),
    ({"role": {"$ne": "dev"}}, {"ann", "cid", "dot"}),
    ({"role": {"$in": ["dev", "lead"]}}, {"ann", "ben"}),
    ({"role": {"$in": [None]}}, {"cid"}),
    ({"role": {"$in": []}}, set()),
    ({"role": {"$exists": True}}, {"ann", "ben", "cid"}),
    ({"role": {"$exists": False}}, {"dot"}),
    ({"address.city": {"$exists": True}}, {"ann", "ben"}),
    ({"$or": [{"age": 30}, {"role": "dev"}]}, {"ann", "ben"}),
    ({"$and": [{"age": {"$gt": 1}}, {"role": "dev"}]}, {"ben"}),
    ({"$not": {"age": {"$gt": 1}}}, {"cid", "dot"}),
    ({"age": {"$not": {"$gt": 30}}}, {"ann", "cid", "dot"}),
    ({"age": 30, "role": "dev"}, set()),
    ({"category": "fact"}, {"ann", "ben", "cid", "dot"}),
    ({"tier": "working"}, set()),
    ({"x'); DROP TABLE memory_entry; --": 1}, set()),
    ({"role": "%s"}, set()),
]


@pytest.mark.parametrize("text", [None, "person"])
def test_filter_lets_through(memory: Memory, text: str | None) -> None:
    for key, metadata in PEOPLE.items():
        memory.store(key, "a person", metadata=metadata)

    found = [
        (filter_, set(memory.keys(filter=filter_, query_text=text))) for filter_, _keys in FILTERS
    ]

    assert found == FILTERS


def test_filter_comes_before_top_k(memory: Memory) -> None:
    memory.store("old", "a note", metadata={"wanted": True})
    for number in range(5):
        memory.store(f"new{number}", "a note note")

    assert memory.keys(filter={"wanted": True}, top_k=1) == ["old"]
    assert memory.keys(filter={"wanted": True}, query_text="note", top_k=1) == ["old"]


BAD_FILTERS: list[tuple[Any, str]] = [
    ({"age": {"$regex": "x"}}, r"\$regex"),
    ({"$nor": []}, r"\$nor"),
    ({"age": {"$gt": 1, "x": 2}}, "operator x"),
    ({"age": {"$gt": None}}, r"\$gt"),
    ({"age": {"$in": "x"}}, r"\$in"),
    ({"age": {"$exists": 1}}, r"\$exists"),
    ({"$or": []}, r"\$or"),
    ({"$not": []}, r"\$not"),
    ({"a..b": 1}, "key"),
    ({"a": "\x00"}, "NUL"),
    ([], "object"),
]


def test_filter_that_makes_no_sense_is_refused_by_name(memory: Memory) -> None:
    for filter_, named in BAD_FILTERS:
        with pytest.raises(InvalidInput, match=named):
            memory.recall(filter=filter_)

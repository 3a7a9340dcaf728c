"""The floor under what enters a prompt."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import pytest

from memory.core.errors import InvalidInput
from memory.core.provider import check_query
from memory.core.recall.floor import (
    CERTAIN_CONCERN,
    STEEPNESS,
    LeftOutReason,
    find_floor,
    select_relevant,
)
from memory.core.records import Json, MemoryEntry, MemoryQuery, QueryEmbedding, TopicFloors


NO_LABELS: Final[Mapping[str, Json]] = MappingProxyType({})
EMBEDDED = QueryEmbedding("any/1", (1.0,), floors=(0.1, 0.9))
QUERY = MemoryQuery("user:mia", query_text="Where do I live?", meaning=EMBEDDED, concern=0.0)


@pytest.mark.parametrize(
    ("concern", "floor"),
    [(0.0, 0.9), (CERTAIN_CONCERN / 2, 0.9 / 2**STEEPNESS), (CERTAIN_CONCERN, 0.1), (1.0, 0.1)],
)
def test_floor_falls_from_that_of_the_world_to_that_of_the_person(
    concern: float, floor: float
) -> None:
    assert find_floor(replace(QUERY, concern=concern)) == pytest.approx(floor)


@pytest.mark.parametrize(
    "query",
    [
        replace(QUERY, concern=None),
        replace(QUERY, min_score=0.0),
        replace(QUERY, min_score=0.5),
        replace(QUERY, query_text=None),
        replace(QUERY, meaning=None),
        replace(QUERY, meaning=replace(EMBEDDED, vector=())),  # the embedder did not answer
        replace(QUERY, meaning=replace(EMBEDDED, floors=None)),
    ],
)
def test_without_a_floor_everything_enters(query: MemoryQuery) -> None:
    faint = build_hit(0.01)

    assert find_floor(query) is None
    assert select_relevant(query, [faint]) == [faint]


def test_entries_enter_by_their_meaning_or_by_enough_words() -> None:
    near, far = build_hit(0.95, vector=0.95), build_hit(0.8, vector=0.8)
    in_words, in_few_words = build_hit(0.5, words=0.3, context=0.2), build_hit(0.3, words=0.3)

    assert select_relevant(QUERY, [near, far, in_words, in_few_words]) == [near, in_words]


def test_what_is_left_out_is_named_with_its_reason_and_nothing_that_it_says() -> None:
    used, below = build_hit(0.95), replace(build_hit(0.2), id="2")
    former = [replace(build_hit(0.95), id="3"), replace(build_hit(0.2), id="4")]

    found = select_relevant(QUERY, [used, below], former)

    assert found == [used]
    assert [(each.id, each.score, each.reason) for each in found.left_out] == [
        ("3", 0.95, LeftOutReason.FORMER),
        ("2", 0.2, LeftOutReason.IRRELEVANT),
    ]


def test_entry_about_what_is_not_asked_for_needs_more_nearness_or_a_word_that_says_something() -> (
    None
):
    floors = TopicFloors({"home": 0.0, "name": 0.6}, others=0.3, words=frozenset({"oslo"}))
    query = replace(QUERY, concern=1.0, topic_floors=floors)
    home = build_hit(0.2, metadata={"attribute": "home"}, vector=0.2)
    near = build_hit(0.6, metadata={"attribute": "name"}, vector=0.6)
    far = build_hit(0.5, metadata={"attribute": "name"}, vector=0.5)
    of_sister = build_hit(0.4, metadata={"attribute": "name", "about": "other"}, vector=0.4)
    note, faint_note = build_hit(0.3, vector=0.3), build_hit(0.2, vector=0.2)
    authors = build_hit(0.3, metadata={"attribute": ["name"]}, vector=0.3)
    by_light_words = build_hit(0.7, value="This is my name", words=0.7)
    by_word = build_hit(0.7, value="The fair of Oslo", words=0.7)
    in_few_words = build_hit(0.4, value="Oslo", words=0.4)
    hits = [
        *(home, near, far, of_sister, note, faint_note),
        *(authors, by_light_words, by_word, in_few_words),
    ]

    assert select_relevant(query, hits) == [home, near, of_sister, note, authors, by_word]


def test_floors_of_topics_hold_nothing_back_where_there_is_no_floor() -> None:
    floors = TopicFloors({}, others=1.0, words=frozenset())
    faint = build_hit(0.01, vector=0.01)

    assert select_relevant(replace(QUERY, topic_floors=floors, min_score=0.0), [faint]) == [faint]


@pytest.mark.parametrize("concern", [-0.1, 1.1])
def test_concern_is_a_probability(concern: float) -> None:
    with pytest.raises(InvalidInput, match="concern"):
        check_query(replace(QUERY, concern=concern))


def build_hit(
    score: float, *, value: str = "v", metadata: Mapping[str, Json] = NO_LABELS, **parts: float
) -> MemoryEntry:
    return MemoryEntry(
        "1", "user:mia", "k", value=value, metadata=metadata, score=score, explain=parts
    )

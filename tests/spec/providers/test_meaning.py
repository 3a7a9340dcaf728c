"""The same table by meaning: the default provider, embedded in the background, answers as the oracle does at once."""

from datetime import timedelta
from typing import Any

import pytest

from memory.providers.in_memory import InMemoryProvider
from tests.spec.providers.conftest import Memory, Ticking, make_postgres
from tests.support.embedding import Tiny


pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = {
    "a": "a boat lies at the pier",
    "b": "the kitten sleeps on a ship",
    "c": "an automobile was parked at the pier",
    "d": "我的小船",
    "e": "nothing of it",
    "f": "a loaf, a baguette, and a vessel",
}
QUESTIONS: list[dict[str, Any]] = [
    {"query_text": "ship"},
    {"query_text": "the pier"},
    {"query_text": "feline on a vessel", "top_k": 2},
    {"query_text": "船"},
    {"query_text": "vehicle", "filter": {"odd": True}},
    {"query_text": "Schiffe und ship", "language": "german"},
    {"query_text": "bread", "recency_days": 1.0},
    {"query_text": "quantum chromodynamics"},
    {"query_text": "ship", "include_former": True},
    {"query_text": "Schiffe und ship", "language": "german", "include_former": True},
    {"query_text": "feline on a ship", "concern": 1.0},
    {"query_text": "feline on a ship", "concern": 0.0},
    {"query_text": "feline on a ship", "concern": 0.0, "min_score": 0.0},
]


@pytest.fixture
def both(tiny: Tiny) -> tuple[Memory, Memory]:
    tiny.floors = (0.6, 1.0)
    clocks = Ticking(), Ticking()
    oracle = Memory(InMemoryProvider(clock=clocks[0], embedder=tiny), clocks[0])
    ours = make_postgres(clock=clocks[1])
    for memory in (oracle, ours):
        fill(memory)
    embed(ours)
    return oracle, ours


def fill(memory: Memory) -> None:
    for number, (key, text) in enumerate(TEXTS.items()):
        group = {"group": "talk"} if number < 4 else {}
        memory.store(key, text, metadata={"odd": bool(number % 2), **group})
    memory.store("h", "a ship that was scrapped", valid_until=memory.clock.now)


def embed(memory: Memory) -> None:
    from memory.upkeep.embedding import embed_team

    assert embed_team(memory.provider._team_id) > 0


def told(memory: Memory, **query: Any) -> list[tuple[Any, ...]]:
    return [
        (hit.key, pytest.approx(hit.score, abs=1e-3), sorted(hit.explain))
        for hit in memory.recall(**query)
    ]


@pytest.mark.parametrize("query", QUESTIONS, ids=lambda one: " ".join(map(str, one.values())))
def test_answers_are_the_oracles(both: tuple[Memory, Memory], query: dict[str, Any]) -> None:
    oracle, ours = both

    assert told(ours, **query) == told(oracle, **query)


def test_meaning_finds_what_words_do_not(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        (hit,) = memory.recall(query_text="automobiles or a vehicle", top_k=1)
        assert hit.key == "c"
        assert hit.explain["vector"] > 0


def test_floor_falls_with_the_concern_of_the_question(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        matches = memory.keys(query_text="feline or vehicle")
        of_person = memory.keys(query_text="feline or vehicle", concern=1.0)
        of_world = memory.keys(query_text="feline or vehicle", concern=0.0)

        assert of_person == ["c"]  # the kitten on the ship has only half of it
        assert {"b", "c"} <= set(matches)
        assert of_world == []
        assert set(memory.keys(query_text="a kitten sleeps", concern=0.0)) == {"b"}  # by its words
        switched_off = memory.keys(query_text="feline or vehicle", concern=0.0, min_score=0.0)
        assert switched_off == matches


def test_query_with_a_concern_names_what_it_left_out(both: tuple[Memory, Memory]) -> None:
    told_of = []
    for memory in both:
        keys = {hit.id: hit.key for hit in memory.recall(include_former=True)}
        found: Any = memory.recall(query_text="feline on a ship", concern=1.0)
        told_of.append(sorted((keys[each.id], str(each.reason)) for each in found.left_out))

    oracle, ours = told_of
    assert ours == oracle
    assert ("h", "former") in ours
    assert "irrelevant" in {reason for _key, reason in ours}


def test_past_answers_as_it_would_have(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        then = memory.clock()
        memory.clock.sleep(timedelta(hours=1).total_seconds())
        memory.store("g", "yet another boat")
    oracle, ours = both
    embed(ours)

    assert told(ours, query_text="ship", as_of=then) == told(oracle, query_text="ship", as_of=then)
    assert "g" in ours.keys(query_text="ship")
    assert "g" not in ours.keys(query_text="ship", as_of=then)

from collections.abc import Mapping

import pytest

from memory.core.recall.ranking import Text, rank_texts
from memory.core.recall.speakers import Turn, find_marks, list_asked_marks, read_turn
from tests.support.cases import for_each


MARKS = [
    ("k\nMia: I live in Oslo.", {".:": 1, ".mia": 1}),
    ("k\nFahim Khan: I was out.", {".:": 1, ".fahim": 1, ".khan": 1}),
    ("k\n小明：我住在上海。", {".:": 1, ".小明": 1}),
    ("k\nMia: And you?", {".:": 1, ".mia": 1, ".?": 255}),
    ("k\nMia: I see. And you?", {".:": 1, ".mia": 1, ".?": 153}),
    ("k\nassistant: Shall I?", {".!": 1}),
    ("k\nuser: Shall I?", {}),
    ("k\nI live in Oslo.", {}),
    ("Mia: a key\nnobody", {}),
    ("k\nhttp://example.org", {}),
    ("k\nwhat I wanted to say is: no", {}),
    ('k\n{"Mia": "Oslo"}', {}),
    ("", {}),
]


@for_each("text, marks", MARKS)
def test_marks_say_who_speaks_and_how_much_is_asked(text: str, marks: Mapping[str, int]) -> None:
    assert find_marks(text) == marks


def test_turn_is_read_by_what_the_question_asks() -> None:
    asked = list_asked_marks(["mia", "live", "我"])

    assert asked == (".live", ".mia", ".:", ".!", ".?")
    assert read_turn({".:": 1, ".mia": 1, ".?": 51}, asked) == Turn(1, 0, 1, 0.2)
    assert read_turn({".:": 1, ".rex": 1}, asked) == Turn(1, 0, 0, 0.0)
    assert read_turn({".!": 1}, asked) == Turn(0, 1, 0, 0.0)
    assert read_turn({}, asked) == Turn()


def rank(question: str, *turns: str) -> dict[str, float]:
    texts = [Text(f"k{place}\n{turn}", ("s", place)) for place, turn in enumerate(turns, 1)]
    hits = rank_texts(question, texts)
    for hit in hits:
        parts = [part for name, part in hit.parts.items() if name.startswith("rank_")]
        assert sum(parts) == pytest.approx(hit.rank)
    return {turns[hit.position]: hit.rank for hit in hits}


def test_who_is_asked_about_ranks_before_who_only_speaks_of_them() -> None:
    of_mia, to_mia = "Mia: my boat is blue", "Rex: Mia, your boat is a nice boat"

    ranks = rank("Which boat has Mia?", to_mia, "Rex: hm", "Rex: so", of_mia)

    assert ranks[of_mia] > ranks[to_mia]
    unnamed = rank("Which boat?", to_mia, "Rex: hm", "Rex: so", of_mia)
    assert unnamed[to_mia] > unnamed[of_mia]


def test_words_of_the_person_rank_before_those_of_an_assistant() -> None:
    told, answered = "user: I have a boat now", "assistant: a boat needs a boat shed"

    ranks = rank("boat", told, "user: hm", "user: so", answered)

    assert ranks[told] > ranks[answered]


def test_turn_that_asks_ranks_after_one_that_tells() -> None:
    asks, tells = "Mia: do you have a boat?", "Mia: I do have a boat."

    ranks = rank("Does Mia have a boat?", asks, "Mia: hm", "Mia: so", tells)

    assert ranks[tells] > ranks[asks]


def test_long_turn_lifts_its_neighbours_less() -> None:
    short, long = "user: the boat", "user: the boat " + "and so on " * 60

    beside_short = rank("boat", short, "user: yes")["user: yes"]
    beside_long = rank("boat", long, "user: yes")["user: yes"]

    assert beside_short > beside_long > 0

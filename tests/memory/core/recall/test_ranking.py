"""The recipe itself, on a handful of texts."""

import pytest

from memory.core.recall.ranking import Hit, Text, rank_texts
from memory.core.recall.similarity import Nearness


def chat(*texts: str, group: str = "s1", start: int = 1) -> list[Text]:
    return [Text(text, (group, place)) for place, text in enumerate(texts, start)]


def positions(hits: list[Hit]) -> list[int]:
    return [hit.position for hit in sorted(hits, key=lambda hit: -hit.rank)]


def rank_parts(hit: Hit) -> dict[str, float]:
    return {name: part for name, part in hit.parts.items() if name.startswith("rank_")}


def test_parts_add_up_to_the_rank():
    texts = chat("a boat", "blue boat", "nothing here", "boat shed", "boat boat")

    hits = rank_texts("blue boat", texts)

    assert {hit.position for hit in hits} == {0, 1, 2, 3, 4}
    for hit in hits:
        assert sum(rank_parts(hit).values()) == pytest.approx(hit.rank) == hit.parts["rank"]
        assert 0 < hit.rank <= 1


def test_answer_without_a_word_of_the_question_is_found_beside_the_one_that_asks():
    texts = [
        *chat("Where did you spend the summer?", "In Lisbon."),
        *chat("Rain again.", "Indeed.", group="s2"),
    ]

    hits = rank_texts("Where do I spend the summer?", texts)

    assert positions(hits) == [0, 1]
    assert rank_parts(hits[1]).keys() == {"rank_context", "rank_neighbours"}
    assert (hits[1].parts["words"], hits[1].parts["context"]) == (0.0, 0.5)
    assert (hits[0].score, hits[1].score) == (1.0, 0.5)


def test_entries_of_no_group_neither_lend_nor_are_context():
    hits = rank_texts("summer", [Text("the summer"), Text("In Lisbon.")])

    assert [hit.position for hit in hits] == [0]
    assert "rank_neighbours" not in hits[0].parts
    assert hits[0].rank == 1.0


def test_groups_do_not_touch():
    texts = [*chat("the summer"), *chat("In Lisbon.", group="s2", start=2)]

    assert positions(rank_texts("summer", texts)) == [0]


def test_empty_place_keeps_its_width():
    """Four places away is too far, though only one of them is taken."""
    near = [Text("summer", ("s", 1)), Text("Lisbon", ("s", 3))]
    far = [Text("summer", ("s", 1)), Text("Lisbon", ("s", 4))]

    assert positions(rank_texts("summer", near)) == [0, 1]
    assert positions(rank_texts("summer", far)) == [0]


def test_literal_never_ranks_under_half():
    texts = [Text("boat " * 3), Text("sailboats are fast"), Text("a boathouse")]

    hits = rank_texts("boath", texts)

    assert [(hit.position, hit.rank, hit.score) for hit in hits] == [(2, 0.5, 1.0)]
    assert hits[0].parts == {
        "words": 0.0,
        "context": 0.0,
        "literal": 1.0,
        "rank": 0.5,
        "rank_literal": 0.5,
    }


def test_recency_lifts_what_is_new():
    texts = [Text("the boat", recency=0.1), Text("the boat", recency=0.9)]

    hits = rank_texts("boat", texts)

    assert positions(hits) == [1, 0]
    assert hits[1].parts["rank_recency"] == pytest.approx(0.3)
    assert sum(rank_parts(hits[1]).values()) == pytest.approx(hits[1].rank)
    assert hits[0].score == hits[1].score == 1.0


def test_vector_is_a_part_like_the_others():
    texts = [
        Text("the boat", nearness=Nearness(0.0, 0.1)),
        Text("a ship", nearness=Nearness(1.0, 0.6)),
        Text("a tree", nearness=Nearness(0.2, 0.2)),
    ]

    hits = rank_texts("boat", texts)

    assert positions(hits) == [0, 1, 2]
    assert hits[1].parts["rank_vector"] == hits[1].rank == pytest.approx(1 / 2)
    assert [hit.score for hit in hits] == [1.0, 0.6, 0.2]
    assert [hit.parts["vector"] for hit in hits] == [0.0, 0.6, 0.2]


def test_nothing_asked_of_nothing_is_nothing():
    assert rank_texts("boat", []) == []
    assert rank_texts("…", [Text("boat")]) == []


def test_light_word_that_is_all_of_a_question_outweighs_no_meaning():
    texts = [
        Text("I collect old stamps.", nearness=Nearness(0.5, 0.3)),
        Text("I was born in 1987.", nearness=Nearness(1.0, 0.3)),
    ]

    assert positions(rank_texts("How old am I?", texts)) == [1, 0]


FILLER = " of all sorts" * 40


@pytest.mark.parametrize(("filler", "order"), [("", [1, 0]), (FILLER, [0, 1])])
def test_meaning_weighs_less_among_long_texts(filler: str, order: list[int]) -> None:
    """One vector says little of a text that is about many things, whose words then say more."""
    texts = [
        Text(f"The harbour opens at nine{filler}", nearness=Nearness(0.0, 0.2)),
        Text(f"A harbour for boats{filler}", nearness=Nearness(1.0, 0.4)),
    ]

    assert positions(rank_texts("Which harbour opens?", texts)) == order


def test_word_in_common_says_less_among_short_texts() -> None:
    def measure_words(filler: str) -> float:
        texts = [
            Text(f"A harbour town novel{filler}", nearness=Nearness(0.0, 0.0)),
            Text(f"Towns by the sea{filler}", nearness=Nearness(0.0, 0.0)),
        ]
        return rank_texts("Which novel is about harbour towns?", texts)[1].rank

    assert measure_words("") < measure_words(FILLER)

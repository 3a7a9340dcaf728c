"""The recipe itself, on a handful of texts."""

import pytest

from memory.core.recall.ranking import Hit, Text, rank


def chat(*texts: str, group: str = "s1", start: int = 1) -> list[Text]:
    return [Text(text, (group, place)) for place, text in enumerate(texts, start)]


def positions(hits: list[Hit]) -> list[int]:
    return [hit.position for hit in sorted(hits, key=lambda hit: -hit.score)]


def test_parts_add_up_to_the_score():
    texts = chat("a boat", "blue boat", "nothing here", "boat shed", "boat boat")

    hits = rank("blue boat", texts)

    assert {hit.position for hit in hits} == {0, 1, 2, 3, 4}
    for hit in hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert 0 < hit.score <= 1


def test_answer_without_a_word_of_the_question_is_found_beside_the_one_that_asks():
    texts = [
        *chat("Where did you spend the summer?", "In Lisbon."),
        *chat("Rain again.", "Indeed.", group="s2"),
    ]

    hits = rank("Where was the summer spent?", texts)

    assert positions(hits) == [0, 1]
    assert hits[1].parts["words"] == 0
    assert hits[1].parts["context"] > 0
    assert hits[1].parts["neighbours"] > 0


def test_entries_of_no_group_neither_lend_nor_are_context():
    hits = rank("summer", [Text("the summer"), Text("In Lisbon.")])

    assert [(hit.position, hit.parts["neighbours"]) for hit in hits] == [(0, 0.0)]
    assert hits[0].score == 1.0


def test_groups_do_not_touch():
    texts = [*chat("the summer"), *chat("In Lisbon.", group="s2", start=2)]

    assert positions(rank("summer", texts)) == [0]


def test_empty_place_keeps_its_width():
    """Four places away is too far, though only one of them is taken."""
    near = [Text("summer", ("s", 1)), Text("Lisbon", ("s", 3))]
    far = [Text("summer", ("s", 1)), Text("Lisbon", ("s", 4))]

    assert positions(rank("summer", near)) == [0, 1]
    assert positions(rank("summer", far)) == [0]


def test_literal_never_ranks_under_half():
    texts = [Text("boat " * 3), Text("sailboats are fast"), Text("a boathouse")]

    hits = rank("boath", texts)

    assert [(hit.position, hit.score) for hit in hits] == [(2, 0.5)]
    assert hits[0].parts == {"words": 0.0, "context": 0.0, "neighbours": 0.0, "literal": 0.5}


def test_recency_lifts_what_is_new():
    texts = [Text("the boat", recency=0.1), Text("the boat", recency=0.9)]

    hits = rank("boat", texts)

    assert positions(hits) == [1, 0]
    assert hits[1].parts["recency"] == pytest.approx(0.3)
    assert sum(hits[1].parts.values()) == pytest.approx(hits[1].score)


def test_vector_is_a_part_like_the_others():
    texts = [
        Text("the boat", similarity=0.0),
        Text("a ship", similarity=1.0),
        Text("a tree", similarity=0.2),
    ]

    hits = rank("boat", texts)

    assert positions(hits) == [0, 1, 2]
    assert hits[1].parts["vector"] == hits[1].score == pytest.approx(1 / 3)


def test_nothing_asked_of_nothing_is_nothing():
    assert rank("boat", []) == []
    assert rank("…", [Text("boat")]) == []

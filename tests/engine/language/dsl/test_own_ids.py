"""Nodes with one id get ids of their own, and what is inside a container of that id stays in it."""

from dataclasses import replace

from tests.support.documents import document, node, start
from workflows.engine.language.dsl.own_ids import give_own_ids
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()


def test_first_node_keeps_the_id_and_edges_mean_it():
    drawn = document(
        [start("q"), node("a", "answer"), node("a", "llm"), node("a_2", "answer")], ["start -> a"]
    )

    changed, warnings = give_own_ids(drawn, KINDS)

    assert [(each.id, each.kind) for each in changed.nodes] == [
        ("start", "start"), ("a", "answer"), ("a_3", "llm"), ("a_2", "answer")]  # fmt: skip
    assert changed.edges == drawn.edges
    assert [(warning.node, warning.is_error) for warning in warnings] == [("a", False)]
    assert warnings[0].message.startswith("2 nodes had the ID a:")


def test_what_is_inside_a_container_stays_in_it():
    place = {"positionAbsolute": {"x": 1, "y": 2}, "zIndex": 1}
    inner = replace(node("a", "llm"), parent="a", extra=place)
    first = replace(node("first", "iteration-start"), parent="a")
    drawn = document([node("a", "start"), node("a", "iteration"), inner, first], [])

    changed, _warnings = give_own_ids(drawn, KINDS)

    assert [(each.id, each.parent) for each in changed.nodes] == [
        ("a", None), ("a_2", None), ("a_3", "a_2"), ("first", "a_2")]  # fmt: skip
    assert changed.nodes[2].extra == {"zIndex": 1}


def test_document_whose_ids_differ_stays_as_it_is():
    drawn = document([start("q"), node("a", "answer")], ["start -> a"])

    assert give_own_ids(drawn, KINDS) == (drawn, [])

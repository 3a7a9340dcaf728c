"""Nodes with one id get ids of their own, variables with one name get names of their own, and what is inside a container of that id stays in it."""

from dataclasses import replace

from tests.support.documents import document, node, start
from workflows.engine.language.document import VariableSpec
from workflows.engine.language.dsl.own_ids import give_own_ids, give_own_names
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


def test_last_variable_keeps_the_name_that_several_have():
    same = [VariableSpec("KEY", "string", value) for value in ("one", "two", "three")]
    drawn = replace(
        document([start("q")], []),
        environment=(*same, VariableSpec("KEY_2", "string", "four")),
        conversation=(VariableSpec("KEY", "string", "five"),),
    )

    changed, warnings = give_own_names(drawn)

    values = {variable.name: variable.value for variable in changed.environment}
    assert values == {"KEY_3": "one", "KEY_4": "two", "KEY": "three", "KEY_2": "four"}
    assert changed.conversation == drawn.conversation
    assert [(warning.code, warning.field) for warning in warnings] == [
        ("variable.name_given", "environment_variables")]  # fmt: skip
    assert warnings[0].message.startswith("3 variables were named KEY: the last one keeps the name")
    assert give_own_names(changed) == (changed, [])

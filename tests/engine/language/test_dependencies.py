"""What a node's picker lists: only what can be there, nearest first, with types."""

from dataclasses import replace

import pytest

from tests.support.cases import for_each
from tests.support.documents import (
    answer,
    document,
    end,
    inside,
    iteration,
    llm,
    node,
    start,
    template,
)
from workflows.engine.kinds import DerivedType, Execution, NodeKind, Output, TypeRule
from workflows.engine.language.dependencies import list_node_outputs, list_sources
from workflows.engine.language.document import Mode, VariableSpec
from workflows.engine.language.validation import validate_node
from workflows.engine.nodes import build_kinds


class Box(NodeKind):
    """A container, as plain as it can be."""

    name = "box"
    title = "Box"
    execution = Execution.CONTAINER

    def list_outputs(self, spec):
        return (Output("output", "array[any]"),)

    def list_inner_outputs(self, spec):
        return (Output("item", "string"), Output("index", "number"))


KINDS = build_kinds(plugins=[Box()])


def heads(doc, node_id):
    return [
        (s.id, s.position) for s in list_sources(doc, KINDS, node_id) if s.position != "built-in"
    ]


def types(doc, node_id, head):
    found = next(s for s in list_sources(doc, KINDS, node_id) if s.id == head)
    return {".".join(v.selector[1:]): v.type for v in found.variables}


def test_reach_chain_lists_the_nearest_node_first_and_nothing_behind():
    doc = document(
        [start("q"), template("one", ""), template("two", ""), template("three", ""), end()],
        ["start -> one", "one -> two", "two -> three", "three -> end"],
    )

    assert heads(doc, "two") == [("one", "upstream"), ("start", "upstream")]
    assert types(doc, "two", "start") == {"q": "string"}


def test_reach_other_branch_is_not_listed():
    doc = document(
        [start("q"), template("left", ""), template("right", ""), end()],
        ["start -> left", "start -> right", "left -> end", "right -> end"],
    )

    assert heads(doc, "left") == [("start", "upstream")]
    assert heads(doc, "end") == [("left", "upstream"), ("right", "upstream"), ("start", "upstream")]


def test_reach_inside_a_container_sees_its_item_and_what_is_upstream_of_it():
    inner = replace(template("inner", ""), parent="box")
    doc = document(
        [start("q"), node("box", "box"), inner, template("after", ""), end()],
        ["start -> box", "box -> after", "after -> end"],
    )

    assert heads(doc, "inner") == [("box", "around"), ("start", "upstream")]
    assert types(doc, "inner", "box") == {"item": "string", "index": "number"}
    assert heads(doc, "box") == [("box", "own"), ("start", "upstream"), ("inner", "inside")]
    assert types(doc, "after", "box") == {"output": "array[any]"}
    assert ("inner", "inside") not in heads(doc, "after")


def test_reach_built_in_heads_follow_the_mode_and_the_declarations():
    doc = replace(
        document([start(), answer("a", "")], ["start -> a"], mode=Mode.CHAT),
        environment=(VariableSpec("KEY", "secret"),),
        conversation=(VariableSpec("seen", "array[string]", description="What was seen"),),
    )

    assert types(doc, "a", "env") == {"KEY": "secret"}
    assert types(doc, "a", "conversation") == {"seen": "array[string]"}
    assert "query" in types(doc, "a", "sys")
    assert "query" not in types(replace(doc, mode=Mode.WORKFLOW), "a", "sys")


def test_reach_structured_output_offers_its_parts():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    asked = llm("llm", structured_output_switch_on=True, structured_output={"schema": schema})
    doc = document([start(), asked, end()], ["start -> llm", "llm -> end"])

    source = next(s for s in list_sources(doc, KINDS, "end") if s.id == "llm")
    made = next(v for v in source.variables if v.selector[1] == "structured_output")

    assert [(v.selector[2], v.type) for v in made.parts] == [
        ("name", "string"),
        ("tags", "array[string]"),
        ("place", "object"),
    ]
    assert made.parts[2].parts[0].selector == ("llm", "structured_output", "place", "city")


def test_reach_files_offer_their_attributes():
    files = node("start", "start", variables=[{"variable": "doc", "type": "file"}])
    doc = document([files, end()], ["start -> end"])

    source = next(s for s in list_sources(doc, KINDS, "end") if s.id == "start")

    assert {v.selector[2]: v.type for v in source.variables[0].parts}["size"] == "number"


def test_reach_handled_failure_offers_the_error():
    doc = document(
        [start(), llm("llm", error_strategy="fail-branch"), end()], ["start -> llm", "llm -> end"]
    )

    assert {"error_message", "error_type"} <= types(doc, "end", "llm").keys()


def test_reach_unreadable_configuration_offers_nothing_of_that_node():
    broken = node("end1", "end", outputs="nonsense")
    doc = document([start("q"), broken, end()], ["start -> end1", "end1 -> end"])

    assert heads(doc, "end") == [("start", "upstream")]


def test_reference_that_fits_no_braces_is_empty():
    doc = document([node("a-b", "template-transform"), end()], ["a-b -> end"])

    source = next(s for s in list_sources(doc, KINDS, "end") if s.id == "a-b")

    assert source.variables[0].reference == ""


def test_validate_node_says_at_which_field_a_selector_leads_nowhere():
    doc = document(
        [start("q"), end("end", first=["start", "q"], second=["ghost", "text"])], ["start -> end"]
    )

    problems = validate_node(doc, KINDS, "end")

    assert [(p.code, p.field) for p in problems] == [
        ("reference.unknown_node", "outputs.1.value_selector")
    ]
    assert validate_node(doc, KINDS, "start") == []
    assert validate_node(doc, KINDS, "nobody") == []


def lists(over, result, *body, **data):
    return document(
        [
            node(
                "start",
                "start",
                variables=[{"variable": "tags", "type": "array[string]"}, {"variable": "q"}],
            ),
            *inside(iteration("each", over, result, **data), *body),
            end(),
        ],
        ["start -> each", "eachstart -> inner", "each -> end"],
    )


def test_reach_item_of_a_list_is_of_the_lists_element_type():
    doc = lists(["start", "tags"], ["inner", "output"], template("inner", ""))

    assert types(doc, "inner", "each") == {"item": "string", "index": "number"}


@for_each("inner, result, data, expected",
    [
        (template("inner", ""), ["inner", "output"], {}, "array[string]"),
        (template("inner", ""), ["each", "index"], {}, "array[number]"),
        (template("inner", ""), ["each", "item"], {}, "array[string]"),
        (template("inner", ""), ["start", "tags"], {}, "array[string]"),
        (template("inner", ""), ["start", "tags"], {"flatten_output": False}, "array[any]"),
        (template("inner", ""), None, {}, "array[any]"),
        (template("inner", ""), ["each", "output"], {}, "array[any]"),  # itself: no end to it
        (template("inner", ""), ["ghost", "x"], {}, "array[any]"),
        (template("inner", ""), ["inner", "output"], {"output_type": "array[object]"}, "array[object]"),
    ],
)  # fmt: skip
def test_reach_results_of_an_iteration_are_a_list_of_what_a_round_gives(
    inner, result, data, expected
):
    doc = lists(["start", "tags"], result, inner, **data)

    assert types(doc, "end", "each")["output"] == expected


def test_reach_item_of_an_iteration_inside_one_follows_through_both():
    outer = iteration("outer", ["start", "rows"], ["each", "output"])
    each = inside(iteration("each", ["outer", "item"], ["inner", "output"]), template("inner", ""))
    first = node("start", "start", variables=[{"variable": "rows", "type": "array[object]"}])
    doc = document(
        [first, *inside(outer, *each), end()],
        ["start -> outer", "outerstart -> each", "eachstart -> inner", "outer -> end"],
    )

    assert types(doc, "each", "outer")["item"] == "object"
    assert types(doc, "inner", "each")["item"] == "any"
    assert types(doc, "end", "outer")["output"] == "array[string]"


class Sorter(NodeKind):
    """Made up: what it gives is like another variable, whatever its fields are called."""

    name = "sorter"
    title = "Sorter"

    def list_outputs(self, spec):
        source = tuple(spec.data["of"])
        return (
            Output("first", derived_type=DerivedType(source, TypeRule.ELEMENT)),
            Output("pairs", "array[any]", derived_type=DerivedType(source, TypeRule.GATHERED)),
            Output("all", "array[any]", derived_type=DerivedType(source, TypeRule.JOINED)),
            Output("count", "number"),
        )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (["start", "tags"], ["string", "array[any]", "array[string]", "number"]),
        (["start", "q"], ["any", "array[string]", "array[string]", "number"]),
        (["sorter", "first"], ["any", "array[any]", "array[any]", "number"]),  # itself
        (["ghost", "x"], ["any", "array[any]", "array[any]", "number"]),
        (["start"], ["any", "array[any]", "array[any]", "number"]),
    ],
)
def test_outputs_of_any_kind_take_their_types_from_what_they_are_like(source, expected):
    kinds = build_kinds(plugins=[Sorter()])
    drawn = lists(["start", "tags"], ["inner", "output"], template("inner", ""))
    doc = replace(drawn, nodes=(*drawn.nodes, node("sorter", "sorter", of=source)))

    assert [one.type for one in list_node_outputs(doc, kinds, "sorter")] == expected
    assert list_node_outputs(doc, kinds, "nobody") == ()

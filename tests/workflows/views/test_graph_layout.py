"""Every drawing of a graph has one layout, wherever its author put the nodes or nobody did."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.documents import branch, document, end, llm, node, start
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec, Position
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.cards import CardView, build_card
from workflows.views.canvas.drawing import draw
from workflows.views.canvas.layout import Frame, GraphLayout
from workflows.views.canvas.picture import build_picture
from workflows.views.canvas.styles import (
    COMFORTABLE_WIDTH,
    MARGIN,
    SMALLEST_SCALE,
    build_scale_rules,
)


KINDS = build_kinds()


def at(spec: NodeSpec, x: float, y: float, **more: Any) -> NodeSpec:
    return replace(spec, position=Position(x, y), **more)


def layout_of(drawn: Document) -> GraphLayout:
    return GraphLayout(drawn, KINDS)


def places(drawn: Document) -> dict[str, tuple[float, float]]:
    layout = layout_of(drawn)
    found = {node.id: layout.get_absolute_position(node) for node in drawn.nodes}
    return {id_: (place.x, place.y) for id_, place in found.items()}


def card_of(spec: NodeSpec) -> CardView:
    return build_card(spec, KINDS)


def test_document_that_was_placed_is_drawn_where_it_was_placed():
    drawn = document([at(start(), 40, 140), at(end(), 340, 60)], ["start -> end"])

    assert places(drawn) == {"start": (40, 140), "end": (340, 60)}
    assert layout_of(drawn).frame == Frame(40, 60, 556, 144)


def test_document_nobody_placed_is_laid_out_in_the_order_of_its_edges():
    drawn = document([end(), llm("llm"), start()], ["start -> llm", "llm -> end"])

    found = places(drawn)
    assert found["start"][0] + 240 < found["llm"][0] < found["llm"][0] + 240 < found["end"][0]


def test_nodes_at_one_place_are_laid_out_beside_a_container_whose_content_was_placed():
    each = replace(node("each", "iteration"), position=Position(0, 100))
    inside = (at(llm("a"), 24, 68, parent="each"), at(llm("b"), 344, 68, parent="each"))
    drawn = document(
        [at(start(), 0, 100), each, *inside, at(end(), 0, 100)], ["start -> each", "each -> end"]
    )

    found = places(drawn)
    left, top = found["each"]
    assert layout_of(drawn).is_unplaced
    assert found["start"][0] + 240 < left < found["end"][0] - 240
    assert [found["a"], found["b"]] == [(left + 24, top + 68), (left + 344, top + 68)]


def test_content_at_the_place_of_all_others_is_laid_out_beside_the_start_of_its_container():
    each = replace(node("each", "iteration"), position=Position(0, 100))
    inside = (
        at(node("begin", "iteration-start"), 24, 68, parent="each"),
        at(llm("a"), 0, 100, parent="each"),
    )
    drawn = document([at(start(), 0, 100), each, *inside], ["start -> each", "begin -> a"])

    found = places(drawn)

    left, _top = found["each"]
    assert left < found["begin"][0] < found["begin"][0] + 44 <= found["a"][0]


def test_branches_nobody_placed_do_not_lie_on_each_other():
    nodes = [start(), branch("if", ["sys", "query"], "x"), end("yes"), end("no")]

    drawn = document(nodes, ["start -> if", "if:true -> yes", "if:false -> no"])

    assert len(set(places(drawn).values())) == 4
    html = str(draw(drawn, (), KINDS).html)
    assert re.findall(r'data-from="if" data-fp="(\w+)" data-to="(\w+)"', html) == [
        ("true", "yes"),
        ("false", "no"),
    ]


def test_child_of_a_container_is_drawn_inside_its_box():
    box = at(node("loop", "loop"), 100, 50, width=600.0, height=300.0)
    inner = at(start(), 24, 68, parent="loop")

    drawn = document([box, inner], [])

    shape = layout_of(drawn).shapes["loop"]
    assert (shape.is_box, shape.width, shape.height) == (True, 600, 300)
    assert places(drawn)["start"] == (124, 118)
    [outer, within] = build_picture(drawn, KINDS).cards
    assert (outer.view.id, within.x, within.y) == ("loop", "124", "118")


def test_containers_that_hold_each_other_still_end():
    one = at(node("one", "loop"), 10, 10, parent="two")
    two = at(node("two", "loop"), 20, 20, parent="one")

    assert places(document([one, two], [])) == {"one": (10, 10), "two": (20, 20)}


def test_child_of_a_container_that_is_missing_stays_where_it_says():
    assert places(document([at(start(), 7, 9, parent="gone")], [])) == {"start": (7, 9)}


def test_edge_to_a_node_that_is_missing_is_left_out():
    drawn = document([at(start(), 0, 0), at(end(), 300, 0)], ["start -> end"])
    broken = replace(drawn, edges=(*drawn.edges, EdgeSpec("lost", "start", "gone", "source")))

    [edges] = layout_of(broken).edges.values()
    assert [edge.id for edge in edges] == ["e0"]


def test_edge_inside_a_container_runs_from_the_corner_of_its_scope_or_of_the_picture():
    box = at(node("loop", "loop"), 100, 50, width=900.0, height=300.0)
    nodes = [box, at(llm("a"), 0, 0, parent="loop"), at(llm("b"), 300, 0, parent="loop")]
    drawn = document(nodes, ["a -> b"])

    html = str(draw(drawn, (), KINDS).html)

    assert 'd="M256,32C' in html
    assert [path[:9] for path in build_picture(drawn, KINDS).edges] == ["M356,82C3"]


def test_document_without_nodes_has_a_frame():
    drawn = document([], [])

    assert layout_of(drawn).frame == Frame(0, 0, 0, 0)
    assert build_picture(drawn, KINDS).view_box == "-32 -32 64 64"
    assert "width:64px" in draw(drawn, (), KINDS).scale_rules


@pytest.mark.parametrize(
    ("width", "scale"),
    [(400.0, 1.0), (COMFORTABLE_WIDTH * 1.25, 0.8), (COMFORTABLE_WIDTH * 9, SMALLEST_SCALE)],
)
def test_wide_graph_shrinks_only_while_its_words_stay_readable(width: float, scale: float):
    rules = build_scale_rules(Frame(0, 0, width - 2 * MARGIN, 100))

    assert f"width:{width * scale:g}px" in rules
    assert f"scale({scale:g})" in rules


@pytest.mark.parametrize(
    ("setting", "shown"),
    [({"enabled": True}, True), ({"enabled": False}, False), (None, False), ("yes", False)],
)
def test_llm_card_says_that_it_remembers_when_it_does(setting: object, shown: bool):
    assert card_of(llm("llm", enhanced_memory=setting)).remembers is shown


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("code", ("code", "data")),
        ("http-request", ("http", "data")),
        ("iteration", ("iterate", "logic")),
        ("tool", ("tool", "data")),
        ("document-extractor", ("file", "data")),
        ("some-plugin", ("warning", "unknown")),
    ],
)
def test_card_has_the_icon_and_the_colour_that_its_kind_declares(kind: str, shown: tuple[str, str]):
    view = card_of(node("x", kind))

    assert (view.icon, view.family, view.title) == (*shown, "x")

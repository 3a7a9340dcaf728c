"""A document becomes cards, boxes and wires, wherever its author put them or nobody did."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.documents import branch, document, end, llm, node, start
from workflows.engine.document import EdgeSpec, NodeSpec, Position
from workflows.views.drawing import COMFORTABLE_WIDTH, MARGIN, SMALLEST_SCALE, Drawing, draw


def at(spec: NodeSpec, x: float, y: float, **more: Any) -> NodeSpec:
    return replace(spec, position=Position(x, y), **more)


def places(drawing: Drawing) -> dict[str, tuple[float, float]]:
    return {card.id: (card.x, card.y) for card in (*drawing.cards, *drawing.boxes)}


def test_document_that_was_placed_is_drawn_where_it_was_placed():
    drawing = draw(document([at(start(), 40, 140), at(end(), 340, 60)], ["start -> end"]))

    assert places(drawing) == {"start": (40, 140), "end": (340, 60)}
    assert drawing.view_box == "16 36 568 192"


def test_document_nobody_placed_is_laid_out_in_the_order_of_its_edges():
    drawing = draw(document([end(), llm("llm"), start()], ["start -> llm", "llm -> end"]))

    cards = {card.id: card for card in drawing.cards}
    assert cards["start"].x + 220 < cards["llm"].x < cards["llm"].x + 220 < cards["end"].x


def test_branches_nobody_placed_do_not_lie_on_each_other():
    nodes = [start(), branch("if", ["sys", "query"], "x"), end("yes"), end("no")]

    drawing = draw(document(nodes, ["start -> if", "if:true -> yes", "if:false -> no"]))

    assert len(set(places(drawing).values())) == 4
    assert {(w.target, w.label) for w in drawing.wires if w.source == "if"} == {
        ("yes", "true"),
        ("no", "false"),
    }


def test_child_of_a_container_is_drawn_inside_its_box():
    box = at(node("loop", "loop"), 100, 50, width=600.0, height=300.0)
    inner = at(start(), 24, 68, parent="loop")

    drawing = draw(document([box, inner], []))

    assert [(b.id, b.width, b.height) for b in drawing.boxes] == [("loop", 600, 300)]
    assert [(c.id, c.x, c.y) for c in drawing.cards] == [("start", 124, 118)]


def test_containers_that_hold_each_other_still_end():
    one = at(node("one", "loop"), 10, 10, parent="two")
    two = at(node("two", "loop"), 20, 20, parent="one")

    assert places(draw(document([one, two], []))) == {"one": (30, 30), "two": (30, 30)}


def test_child_of_a_container_that_is_missing_stays_where_it_says():
    assert places(draw(document([at(start(), 7, 9, parent="gone")], []))) == {"start": (7, 9)}


def test_edge_to_a_node_that_is_missing_is_left_out():
    drawn = document([at(start(), 0, 0), at(end(), 300, 0)], ["start -> end"])
    broken = replace(drawn, edges=(*drawn.edges, EdgeSpec("lost", "start", "gone", "source")))

    assert [wire.id for wire in draw(broken).wires] == ["e0"]


def test_document_without_nodes_has_a_frame():
    drawing = draw(document([], []))

    assert (drawing.cards, drawing.width > 0, drawing.height > 0) == ((), True, True)


@pytest.mark.parametrize(
    ("width", "scale"),
    [(400.0, 1.0), (COMFORTABLE_WIDTH * 1.2, 1 / 1.2), (COMFORTABLE_WIDTH * 9, SMALLEST_SCALE)],
)
def test_wide_graph_shrinks_only_while_its_words_stay_readable(width: float, scale: float):
    far = width - 2 * MARGIN - 220

    drawing = draw(document([at(start(), 0, 0), at(end(), far, 0)], []))

    assert drawing.width == pytest.approx(width)
    assert drawing.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    ("setting", "shown"),
    [({"enabled": True}, True), ({"enabled": False}, False), (None, False), ("yes", False)],
)
def test_llm_card_says_that_it_remembers_when_it_does(setting: object, shown: bool):
    (card,) = draw(document([llm("llm", enhanced_memory=setting)], [])).cards

    assert card.remembers is shown


def test_kind_without_a_look_of_its_own_is_drawn_plainly():
    (card,) = draw(document([node("x", "some-plugin")], [])).cards

    assert (card.icon, card.family, card.title) == ("workflow", "data", "x")

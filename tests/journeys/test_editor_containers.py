"""An empty container filled by hand: what comes first is begun with, and the frame grows around it all."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.journeys.canvas_document import edge, inside, node, workflow
from tests.journeys.drawing import Board, open_board


pytestmark = pytest.mark.browser


def document() -> dict[str, Any]:
    """Start → an empty iteration → end, and a template beside them."""
    box = node("each", "iteration", "For each", 320, 80, start_node_id="begin")
    box["width"], box["height"] = 400, 200
    nodes = [
        node("start", "start", "Start", 0, 80),
        box,
        inside("each", node("begin", "iteration-start", "", 24, 68)),
        node("finish", "end", "Finish", 800, 80, outputs=[]),
        node("loose", "template-transform", "Loose", 320, 480, template="x"),
    ]
    edges = [edge("start", "each"), edge("each", "finish")]
    return workflow("Containers", *nodes, edges=edges)


@pytest.fixture
def board(signed_in: Page) -> Board:
    return open_board(signed_in, document())


def test_first_node_dropped_in_is_begun_with_and_the_frame_grows(board: Board):
    board.drag(board.inside("loose"), board.inside("each", 0.8, 0.8))
    board.saved()

    each, loose = board.node("each"), board.node("loose")
    assert loose["scope"] == "each"
    assert ("begin", "source", "loose") in board.stored_edges()
    assert each["w"] >= loose["x"] + loose["w"] + 24
    assert each["h"] >= loose["y"] + loose["h"] + 24
    assert board.node("finish")["x"] == 800 + each["w"] - 400

    board.page.keyboard.press("Control+z")
    board.saved()
    board.until("return canvas.model.nodes.get('loose').scope === 'root';")
    assert board.node("each")["w"] == 400
    assert ("begin", "source", "loose") not in board.stored_edges()


def test_node_added_at_a_point_of_an_empty_container_is_begun_with(board: Board):
    x, y = board.inside("each", 0.6, 0.6)
    board.page.mouse.dblclick(x, y)
    board.page.locator("#picker-query").fill("template")
    board.page.locator("#picker-query").press("Enter")
    board.until("return canvas.model.inside('each').length === 2;")
    board.saved()

    [added] = board.js(
        "return canvas.model.inside('each').map((n) => n.id).filter((id) => id !== 'begin');"
    )
    assert ("begin", "source", added) in board.stored_edges()


def test_first_edit_stores_where_everything_was_laid_out(signed_in: Page):
    source = document()
    for entry in source["workflow"]["graph"]["nodes"]:
        entry.pop("width", None)
        entry.pop("height", None)
        entry["position"] = {"x": 0, "y": 0}
    board = open_board(signed_in, source)
    shown = {name: board.node(name) for name in ("each", "begin", "loose")}

    board.js("canvas.send([{op: 'rename', id: 'begin', title: 'Begin'}], 'Rename');")
    board.saved()
    board.page.reload()
    board.until("return canvas.model.nodes.has('each');")

    assert {name: board.node(name) for name in shown} == shown
    each, begin = shown["each"], shown["begin"]
    assert begin["y"] > 0
    assert begin["x"] + begin["w"] <= each["w"]

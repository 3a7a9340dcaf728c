"""A document without positions is laid out when it opens, and stays so with the first edit, with its undo, and after a reload."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node
from tests.journeys.drawing import Board, open_board
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

PLACES = (
    "return Object.fromEntries([...canvas.model.nodes.values()].map((n) => [n.id, [n.x, n.y]]));"
)


def build(x: int, y: int) -> dict[str, Any]:
    """Return a workflow whose nodes all lie at one place, as programs write them."""
    nodes = [
        node("start", "start", "Start", x, y, variables=[]),
        node("text", "template-transform", "Text", x, y, template="x", variables=[]),
        node("end", "end", "End", x, y, outputs=[]),
    ]
    graph = {"nodes": nodes, "edges": [edge("start", "text"), edge("text", "end")]}
    app = {"name": "Unplaced", "mode": "workflow"}
    return {"version": "0.6.0", "kind": "app", "app": app, "workflow": {"graph": graph}}


def set_template(board: Board) -> None:
    board.js("canvas.open('text');")
    field = board.page.locator("#panel-node [data-field=template] textarea").first
    field.fill("y")
    field.blur()
    board.saved()


def add_node(board: Board) -> None:
    board.js("canvas.focus('text');")
    board.page.keyboard.press("a")
    field = board.page.locator("#picker-query")
    expect(field).to_be_focused()
    field.fill("template")
    expect(board.page.locator("#picker [aria-selected=true]")).to_be_visible()
    field.press("Enter")
    board.until("return canvas.model.nodes.size === 4;")
    board.saved()


@pytest.mark.parametrize(("act", "place"), [(set_template, (0, 100)), (add_node, (0, 0))])
def test_first_edit_leaves_the_graph_as_it_is_drawn(
    signed_in: Page, act: Any, place: tuple[int, int]
):
    board = open_board(signed_in, build(*place))
    before = board.js(PLACES)
    assert before["start"][0] < before["text"][0] < before["end"][0]

    act(board)

    after = {id_: at for id_, at in board.js(PLACES).items() if id_ in before}
    assert after == before
    board.page.reload()
    ready(board.page)
    reloaded = {id_: at for id_, at in board.js(PLACES).items() if id_ in before}
    assert reloaded == before


def test_undo_of_the_first_edit_leaves_the_graph_as_it_is_drawn_and_so_does_the_next(
    signed_in: Page,
):
    board = open_board(signed_in, build(0, 0))
    before = board.js(PLACES)
    add_node(board)

    for _step in range(2):  # the node, and the places
        board.page.keyboard.press("Control+z")
        board.until("return canvas.model.nodes.size === 3;")
        board.saved()
        board.until(f"return canvas.model.nodes.get('end').x === {before['end'][0]};")

    assert board.js(PLACES) == before
    assert {tuple(each["position"].values()) for each in board.graph()["nodes"]} == {(0, 0)}

"""With hundreds of cards in view a picture stands in for them; what is done to it is done to the graph."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node, workflow
from tests.journeys.drawing import Board, open_board
from tests.journeys.seeing import box_of, until


pytestmark = pytest.mark.browser

MIDDLE = (700, 450)  # of the canvas


@pytest.fixture
def board(signed_in: Page) -> Board:
    nodes = [node("n0", "start", "Start", 0, 0)]
    nodes += [
        node(f"n{i}", "template-transform", f"Step {i}", i // 20 * 320, i % 20 * 140, template="x")
        for i in range(1, 400)
    ]
    edges = [edge(f"n{i}", f"n{i + 20}") for i in range(380)]
    return open_board(signed_in, workflow("Large", *nodes, edges=edges))


def shows_the_picture(board: Board) -> bool:
    """A gesture brings it, once it has been painted."""
    board.zoom(-12)
    board.zoom(12)
    return bool(board.js("return canvas.farView.isOn;"))


def test_picture_is_shown_dragged_on_and_left_for_the_keyboard(board: Board):
    board.page.mouse.move(*MIDDLE)
    until(board.page, lambda: shows_the_picture(board))
    before = board.node("n150")

    board.drag(
        board.inside("n150", 0.5, 0.5), (board.inside("n150")[0] + 40, board.inside("n150")[1] + 25)
    )

    after = board.node("n150")
    assert after["x"] > before["x"] + 40
    assert board.js("return canvas.farView.isOn;")
    assert board.stored("n150")["position"] == {"x": after["x"], "y": after["y"]}

    board.js("canvas.focus('n150');")
    assert not board.js("return canvas.farView.isOn;")
    box = box_of(board.page.locator('wf-node[data-id="n150"]'))
    assert (box["x"], box["y"]) == pytest.approx(board.inside("n150", 0, 0), abs=1)


def test_close_up_shows_the_cards_again_and_hides_those_far_away(board: Board):
    board.page.mouse.move(*MIDDLE)
    while board.view()[2] <= 0.5:
        board.zoom(-400)

    board.until("return !canvas.farView.isOn;")
    until(board.page, lambda: board.page.locator("wf-node.off").count() > 100)
    expect(board.page.locator('wf-node[data-id="n399"]')).to_be_hidden()
    board.js("canvas.focus('n399');")
    expect(board.page.locator('wf-node[data-id="n399"]')).to_be_visible()

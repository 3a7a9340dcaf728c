"""With hundreds of cards in view a picture stands in for them; what is done to it is done to the graph."""

import pytest
from playwright.sync_api import Page

from tests.journeys.canvas_document import edge, node, workflow
from tests.journeys.drawing import Board, open_board


pytestmark = pytest.mark.browser


@pytest.fixture
def board(signed_in: Page) -> Board:
    nodes = [node("n0", "start", "Start", 0, 0)]
    nodes += [
        node(f"n{i}", "template-transform", f"Step {i}", i // 20 * 320, i % 20 * 140, template="x")
        for i in range(1, 400)
    ]
    edges = [edge(f"n{i}", f"n{i + 20}") for i in range(380)]
    return open_board(signed_in, workflow("Large", *nodes, edges=edges))


def zoom(board: Board, by: float) -> None:
    page = board.page
    page.mouse.move(700, 450)
    page.keyboard.down("Control")
    page.mouse.wheel(0, by)
    page.keyboard.up("Control")
    board.until("return !canvas.viewport.isZooming;")


def test_picture_is_shown_dragged_on_and_left_for_the_keyboard(board: Board):
    for _ in range(40):  # until the picture has been painted
        zoom(board, -12)
        zoom(board, 12)
        if board.js("return canvas.farView.isOn;"):
            break
    assert board.js("return canvas.farView.isOn;")
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
    box = board.page.locator('wf-node[data-id="n150"]').bounding_box()
    assert box is not None
    assert (box["x"], box["y"]) == pytest.approx(board.inside("n150", 0, 0), abs=1)


def test_close_up_shows_the_cards_again_and_hides_those_far_away(board: Board):
    for _ in range(3):
        zoom(board, -400)

    assert board.view()[2] > 0.5
    assert not board.js("return canvas.farView.isOn;")
    assert board.page.locator("wf-node.off").count() > 100
    board.js("canvas.focus('n399');")  # one that was not displayed
    assert board.page.locator('wf-node[data-id="n399"]').is_visible()

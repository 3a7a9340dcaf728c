"""A swap at every third frame, while a card is dragged and a field is typed into: neither is lost."""

import pytest
from playwright.sync_api import Page

from tests.journeys.drawing import open_board
from tests.journeys.seeing import box_of


pytestmark = pytest.mark.browser

STORM = """
const canvas = window.mnemoflow.editor.canvas;
const fresh = (how) => {
  const el = canvas.model.nodes.get("loose").el.cloneNode(true);
  el.removeAttribute("class");
  el.removeAttribute("style");
  el.querySelector("b").textContent = `Swapped ${window.storm.count}`;
  return el;
};
const ways = [
  // the editor's own: a Change whose card differs
  () => canvas.apply({ revision: 0, ops: [], html: { nodes: { loose: fresh().outerHTML }, edges: {}, gone: [] } }),
  // as HTMX swaps: a card, then the whole element
  () => canvas.model.nodes.get("loose").el.querySelector(".wf-card").replaceWith(fresh().querySelector(".wf-card")),
  () => canvas.model.nodes.get("loose").el.replaceWith(fresh()),
  // somebody else moved the very node that is held
  () => canvas.apply({ revision: 0, ops: [{ op: "move", id: "loose", x: -500, y: -500 }], html: { nodes: {}, edges: {}, gone: [] } }),
];
window.storm = { count: 0, frames: 0, isOver: false };
const swap = () => {
  if (window.storm.frames++ % 3 === 0) ways[window.storm.count++ % ways.length]();
  if (!window.storm.isOver) requestAnimationFrame(swap);
};
requestAnimationFrame(swap);
"""


def test_swap_storm_loses_neither_drag_nor_text(signed_in: Page):
    page = signed_in
    board = open_board(page)
    page.evaluate(
        "const field = document.createElement('input'); field.id = 'typed'; document.querySelector('.ed-top').append(field);"
    )
    before, at = board.node("loose"), board.inside("loose")
    page.evaluate(STORM)

    page.mouse.move(*at)
    page.mouse.down()
    text = "typed while the storm goes on "
    page.evaluate("document.getElementById('typed').focus()")
    for i in range(60):
        page.mouse.move(at[0] + i, at[1] + i / 2)
        page.keyboard.type(text[i % len(text)])
        board.frame()
    held = board.node("loose")
    page.evaluate("window.storm.isOver = true")
    page.mouse.up()
    board.frame()

    swaps = page.evaluate("window.storm.count")
    assert swaps >= 10
    assert held["x"] > before["x"] + 20
    assert page.locator("#typed").input_value() == text * 2
    assert page.locator('wf-node[data-id="loose"]').count() == 1
    assert "loose" in board.chosen()
    assert board.stored("loose")["position"] == {
        "x": board.node("loose")["x"],
        "y": board.node("loose")["y"],
    }
    box = box_of(page.locator('wf-node[data-id="loose"]'))
    assert (box["x"], box["y"]) == pytest.approx(board.inside("loose", 0, 0), abs=1)

"""Nothing that floats over the canvas covers what is to be seen, and pickers stay over the canvas."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import node, workflow
from tests.journeys.drawing import open_board
from tests.journeys.seeing import box_of, steady


pytestmark = pytest.mark.browser

COVERED = """
  const boxes = [...document.querySelectorAll(".wf-tools, .wf-minimap, .steps-pill")].map((el) => el.getBoundingClientRect()).filter((b) => b.width);
  const nodes = [...document.querySelectorAll("wf-node")].map((el) => [el.dataset.title, el.getBoundingClientRect()]);
  const hits = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
  return nodes.filter(([, at]) => boxes.some((b) => hits(at, b))).map(([title]) => title);
"""


def grid(columns: int, rows: int) -> dict[str, Any]:
    """As wide and high as wanted, with a node in each corner."""
    nodes = [
        node(f"n{x}_{y}", "template-transform", f"{x} {y}", x * 320, y * 160, template="x")
        for x in range(columns)
        for y in range(rows)
    ]
    return workflow("Grid", *nodes)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (1440, 1000)])
def test_all_in_view_lies_clear_of_overview_tools_and_first_steps(
    signed_in: Page, width: int, height: int
):
    signed_in.set_viewport_size({"width": width, "height": height})
    board = open_board(signed_in, grid(4, 4))
    expect(signed_in.locator(".steps-pill")).to_be_visible()
    signed_in.get_by_role("tab", name="Log").click()
    steady(signed_in, board.view)

    board.js("canvas.viewport.fit(canvas.bounds());")
    # So there is something to be kept clear of.
    assert steady(signed_in, lambda: board.js(COVERED)) != []

    board.js("canvas.fit();")
    assert steady(signed_in, lambda: board.js(COVERED)) == []


def test_picker_opened_near_the_inspector_stays_over_the_canvas(signed_in: Page):
    board = open_board(signed_in, grid(1, 1))
    board.js("canvas.editor.panel('run');")
    board.frame()
    canvas = box_of(signed_in.locator("[data-canvas]"))
    seen = steady(signed_in, board.view)

    signed_in.mouse.dblclick(canvas["x"] + canvas["width"] - 30, canvas["y"] + 60)
    expect(signed_in.locator("#picker-query")).to_be_focused()
    picker = box_of(signed_in.locator("#picker"))

    assert picker["x"] + picker["width"] <= canvas["x"] + canvas["width"]
    assert picker["y"] + picker["height"] <= canvas["y"] + canvas["height"]
    assert board.view() == seen


def test_node_added_at_the_edge_of_the_view_moves_it_no_further_than_needed(signed_in: Page):
    board = open_board(signed_in, grid(1, 1))
    canvas = box_of(signed_in.locator("[data-canvas]"))
    before = steady(signed_in, board.view)

    signed_in.mouse.dblclick(canvas["x"] + canvas["width"] - 60, canvas["y"] + 200)
    signed_in.locator("#picker-query").fill("template")
    signed_in.locator("#picker-query").press("Enter")
    board.until("return canvas.model.nodes.size === 2;")
    board.saved()

    after = steady(signed_in, board.view)
    assert after[1] == before[1]
    assert 0 < before[0] - after[0] < 240

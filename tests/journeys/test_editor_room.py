"""Nothing that floats over the canvas covers what is to be seen, and pickers stay over the canvas."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.drawing import Board, open_board
from tests.journeys.editing import open_sample


pytestmark = pytest.mark.browser

COVERED = """
  const boxes = [...document.querySelectorAll(".wf-tools, .wf-minimap, .steps-pill")].map((el) => el.getBoundingClientRect()).filter((b) => b.width);
  const nodes = [...document.querySelectorAll("wf-node")].map((el) => [el.dataset.title, el.getBoundingClientRect()]);
  const hits = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
  return nodes.filter(([, at]) => boxes.some((b) => hits(at, b))).map(([title]) => title);
"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (1440, 1200)])
def test_all_in_view_lies_clear_of_overview_tools_and_first_steps(
    signed_in: Page, width: int, height: int
):
    draft = open_sample(signed_in, "Support desk")
    signed_in.set_viewport_size({"width": width, "height": height})
    board = Board(signed_in, draft.id)
    expect(signed_in.locator(".steps-pill")).to_be_visible()
    signed_in.get_by_role("tab", name="Log").click()
    board.frame()

    signed_in.keyboard.press("Escape")
    board.js("canvas.fit();")
    board.frame()

    assert board.js(COVERED) == []

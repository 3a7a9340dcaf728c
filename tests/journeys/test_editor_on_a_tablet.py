"""The editor on a tablet: the canvas and one panel beside it."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import document
from tests.journeys.editing import store_workflow
from tests.journeys.seeing import box_of, ready, until


pytestmark = pytest.mark.browser

# Whether something stands in the bitmap of the minimap.
# A copy is read, since browsers warn of a drawing that is read often.
IS_MAP_DRAWN = """() => {
  const map = document.querySelector(".wf-minimap canvas");
  if (!map?.width || !map.height) return false;
  const copy = Object.assign(document.createElement("canvas"), { width: map.width, height: map.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(map, 0, 0);
  return context.getImageData(0, 0, map.width, map.height).data.some(Boolean);
}"""
SIZES = [(820, 1180), (1024, 768), (768, 1024), (1100, 800)]


def open_on_a_tablet(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    workflow = store_workflow(page, document())
    page.goto(f"/workflows/{workflow}/")
    ready(page)


def test_canvas_has_one_panel_beside_it_whatever_is_open_on_a_wide_screen(signed_in: Page):
    """On each size, also when the page has been open on a tablet before."""
    signed_in.evaluate(
        "localStorage.setItem('editor-panels', JSON.stringify({left: {closed: false}, dock: {closed: false}}))"
    )
    for width, height in (*SIZES, SIZES[0]):
        open_on_a_tablet(signed_in, width, height)

        canvas = box_of(signed_in.locator("[data-canvas]"))
        assert canvas["width"] >= width - 344
        assert canvas["height"] >= height - 120
        expect(signed_in.locator("#panel-run")).to_be_visible()
        expect(signed_in.locator("#panel-outline")).to_be_hidden()
        expect(signed_in.locator("#panel-log")).to_be_hidden()
        expect(signed_in.locator(".ed-bar")).to_be_hidden()


def test_other_side_gives_way_and_what_was_opened_stays_open(signed_in: Page):
    open_on_a_tablet(signed_in, 820, 1180)
    signed_in.keyboard.press("Shift+O")
    expect(signed_in.locator("#panel-outline")).to_be_visible()
    expect(signed_in.locator("#panel-run")).to_be_hidden()

    toggle = signed_in.locator(".ed-top [data-toggle=left]")
    toggle.click()
    expect(signed_in.locator("#panel-outline")).to_be_hidden()
    toggle.click()
    signed_in.reload()
    ready(signed_in)

    expect(signed_in.locator("#panel-outline")).to_be_visible()
    expect(signed_in.locator("#panel-run")).to_be_hidden()


def test_side_that_a_person_opened_gives_way_to_a_node_that_is_opened(signed_in: Page):
    open_on_a_tablet(signed_in, 820, 1180)
    signed_in.locator(".ed-top [data-toggle=left]").click()
    outline = signed_in.locator("#panel-outline")

    outline.locator("[data-row=loose]").dblclick()

    expect(signed_in.locator("#panel-node")).to_be_visible()
    expect(outline).to_be_hidden()
    signed_in.reload()
    ready(signed_in)
    expect(outline).to_be_visible()
    expect(signed_in.locator("[data-place=right]")).to_be_hidden()


def test_upright_tablet_shows_one_side_at_a_time(signed_in: Page):
    open_on_a_tablet(signed_in, 820, 1180)
    left = signed_in.locator(".ed-top [data-toggle=left]")
    right = signed_in.locator(".ed-top [data-toggle=right]")

    for toggle, opened, closed in ((left, "outline", "run"), (right, "run", "outline")) * 2:
        toggle.click()
        expect(signed_in.locator(f"#panel-{opened}")).to_be_visible()
        expect(signed_in.locator(f"#panel-{closed}")).to_be_hidden()


def test_minimap_is_drawn_when_the_canvas_gets_room_for_it(signed_in: Page):
    open_on_a_tablet(signed_in, 1024, 768)
    expect(signed_in.locator(".wf-minimap")).to_be_hidden()

    signed_in.locator(".ed-top [data-toggle=right]").click()

    expect(signed_in.locator(".wf-minimap")).to_be_visible()
    until(signed_in, lambda: signed_in.evaluate(IS_MAP_DRAWN), why="nothing is drawn")

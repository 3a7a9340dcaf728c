"""The editor on a phone: the graph in view, nodes added and opened where they are seen, one navigation."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.canvas_document import edge, node, note, workflow
from tests.journeys.chatting import say, use_sample
from tests.journeys.drawing import Board, touches, touchscreen
from tests.journeys.editing import store_workflow
from tests.journeys.seeing import box_of, ready


pytestmark = pytest.mark.browser

NAMES = ("Collect", "Sort", "Report", "Send")
SCALE = "() => mnemoflow.editor.canvas.viewport.k"
FONT_SIZE = """() => {
  const title = document.querySelector("wf-node .wf-names > b");
  return parseFloat(getComputedStyle(title).fontSize) * mnemoflow.editor.canvas.viewport.k;
}"""


def chain(*names: str, in_row: int = 2) -> dict[str, Any]:
    nodes = [
        node(
            f"n{i}",
            "template-transform",
            name,
            i % in_row * 400,
            i // in_row * 160,
            template="x",
        )
        for i, name in enumerate(names)
    ]
    edges = [edge(f"n{i}", f"n{i + 1}") for i in range(len(names) - 1)]
    return workflow("Chain", *nodes, edges=edges)


@pytest.fixture
def phone(signed_in: Page) -> Board:
    """A workflow that is open on a phone, its canvas in view."""
    return open_on_a_phone(signed_in, chain(*NAMES))


def open_on_a_phone(page: Page, document: dict[str, Any]) -> Board:
    page.set_viewport_size({"width": 390, "height": 844})
    board = Board(page, store_workflow(page, document))
    page.goto(f"/workflows/{board.workflow}/")
    ready(page)
    page.locator(".ed-bar [data-view=canvas]").click()
    return board


def test_wide_graph_begins_at_its_start_and_one_button_shows_all_of_it(signed_in: Page):
    wide = chain(*NAMES, in_row=len(NAMES))
    wide["workflow"]["graph"]["nodes"] += [
        node("begin", "start", "Begin", -400, 0, variables=[]),
        note("aside", -1400, 0, "What this is about"),
    ]
    page = open_on_a_phone(signed_in, wide).page

    expect(page.locator('wf-node[data-id="begin"]')).to_be_in_viewport(ratio=0.99)
    assert page.evaluate(SCALE) >= 0.45
    assert page.evaluate(FONT_SIZE) >= 8

    page.get_by_role("button", name="Whole graph").click()

    for card in page.locator("wf-node").all():
        expect(card).to_be_in_viewport(ratio=0.99)


def test_canvas_and_panels_fit_a_phone(phone: Board):
    check_small_graph_is_all_in_view_with_titles_that_can_be_read(phone)
    check_message_lies_at_the_top_of_a_phone_not_over_what_one_presses(phone)
    check_finger_beside_a_small_card_hits_it(phone)
    check_canvas_shows_the_same_place_after_another_view(phone)
    check_views_are_in_one_bar_and_comments_in_the_menu(phone)


def check_small_graph_is_all_in_view_with_titles_that_can_be_read(phone: Board):
    page = phone.page

    for card in page.locator("wf-node").all():
        expect(card).to_be_in_viewport(ratio=0.99)
    expect(page.locator("wf-node .wf-names small").first).to_be_hidden()
    assert page.evaluate(FONT_SIZE) >= 8


def test_nodes_are_opened_and_added_on_a_phone(phone: Board):
    check_node_is_added_on_the_canvas_and_shown_there_from_the_palette_too(phone)
    check_selected_node_is_opened_from_the_bar_below_it(phone)


def check_selected_node_is_opened_from_the_bar_below_it(phone: Board):
    page = phone.page
    phone.js("canvas.pick([]); canvas.fit();")
    expect(page.locator("#node-bar")).to_be_hidden()

    page.mouse.click(*phone.inside("n1", 0.5, 0.5))
    bar = page.get_by_role("toolbar", name="Selected node")
    for name in ("Edit", "Run", "Delete"):
        expect(bar.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    bar.get_by_role("button", name="Edit").click()

    expect(page.locator("#panel-node .insp-title")).to_have_value("Sort")
    expect(page.locator("#panel-node")).to_be_visible()


def check_finger_beside_a_small_card_hits_it(phone: Board):
    with touchscreen(phone.page) as session:
        x, y = phone.inside("n2", 0.5, 1)

        touches(session, "touchStart", (x, y + 8))
        touches(session, "touchEnd")

        phone.until("return canvas.selection.has('n2');")


def check_node_is_added_on_the_canvas_and_shown_there_from_the_palette_too(phone: Board):
    page = phone.page

    page.locator(".wf-tools").get_by_role("button", name="Add node").click()
    page.locator("#picker-query").fill("template")
    page.locator("#picker-query").press("Enter")
    phone.until("return canvas.model.nodes.size === 5;")
    phone.saved()
    expect(page.locator("wf-node.selected")).to_be_in_viewport(ratio=0.99)

    page.locator(".ed-bar [data-view=outline]").click()
    page.get_by_role("tab", name="Add").click()
    page.locator("[data-add-kind=template-transform]").click()
    phone.until("return canvas.model.nodes.size === 6;")
    expect(page.locator("wf-node.selected")).to_be_in_viewport(ratio=0.99)
    expect(page.locator(".ed-bar [data-view=canvas]")).to_have_attribute("aria-pressed", "true")


def check_canvas_shows_the_same_place_after_another_view(phone: Board):
    page = phone.page
    phone.js("canvas.viewport.zoomTo(0.5); canvas.viewport.set(-120, 240);")
    phone.until("return canvas.viewport.x < -100 && canvas.viewport.y > 200;")
    view = phone.view()

    page.locator(".ed-bar [data-view=node]").click()
    expect(page.locator("[data-canvas]")).to_be_hidden()
    phone.frame()
    page.locator(".ed-bar [data-view=canvas]").click()
    expect(page.locator("[data-canvas]")).to_be_visible()
    phone.frame()

    assert phone.view() == pytest.approx(view, abs=1)


def test_canvas_stays_where_it_was_moved_as_soon_as_it_was_opened(signed_in: Page):
    phone = open_on_a_phone(signed_in, chain(*NAMES))
    phone.page.reload()
    ready(phone.page)

    view = phone.js("""
        document.querySelector(".ed-bar [data-view=canvas]").click();
        canvas.viewport.zoomTo(0.5);
        canvas.viewport.set(-120, 240);
        return [canvas.viewport.x, canvas.viewport.y, canvas.viewport.k];
    """)
    phone.frame()

    assert phone.view() == pytest.approx(view, abs=1)


def check_views_are_in_one_bar_and_comments_in_the_menu(phone: Board):
    page = phone.page
    page.locator(".ed-bar [data-view=node]").click()
    expect(page.locator("#panel-node")).to_be_visible()
    expect(page.locator("#tab-node")).to_be_hidden()

    page.get_by_role("banner").locator("summary[aria-label=More]").click()
    page.get_by_role("banner").get_by_role("button", name="Comments").click()

    expect(page.locator("#panel-comments")).to_be_visible()
    expect(page.get_by_role("banner").locator("details[open]")).to_have_count(0)
    expect(page.get_by_role("banner").get_by_role("button", name="Run")).to_contain_text("Run")


def test_explanation_of_an_answer_opens_within_the_chat(signed_in: Page):
    page = signed_in
    page.set_viewport_size({"width": 390, "height": 844})
    use_sample(page, "A chatbot that remembers")
    say(page, "My bicycle is green.")
    why = page.locator("[data-why]").last

    why.click()

    explanation = page.get_by_role("region", name="Why this answer?")
    expect(explanation.locator(".run-prompt")).to_contain_text("My bicycle is green.")
    expect(page.locator("#editor")).to_have_attribute("data-view", "run")
    expect(page.get_by_role("textbox", name="Message")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(explanation).to_have_count(0)
    expect(why).to_be_focused()


def check_message_lies_at_the_top_of_a_phone_not_over_what_one_presses(phone: Board):
    phone.js("canvas.editor.say('Undone: Collect');")

    message = box_of(phone.page.locator("#canvas-message"))
    tools = box_of(phone.page.locator(".wf-tools"))
    assert message["y"] + message["height"] < tools["y"]
    assert message["y"] + message["height"] < 844 / 2

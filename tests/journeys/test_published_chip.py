"""The bar tells what others run from what one edits; an empty canvas says how to begin."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.building import kept, new_workflow
from tests.journeys.editing import Draft, open_sample
from tests.journeys.seeing import ready, until


pytestmark = pytest.mark.browser

CARDS_LIE_WITHIN = """(frame) => {
  const around = frame.getBoundingClientRect();
  const cards = [...frame.querySelectorAll("wf-node")].map((card) => card.getBoundingClientRect());
  return cards.length && cards.every((card) =>
    card.left >= around.left && card.top >= around.top && card.right <= around.right && card.bottom <= around.bottom);
}"""


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return open_sample(signed_in)


def test_edit_of_what_is_published_is_told_until_it_is_taken_back(draft: Draft):
    page, chip = draft.page, draft.page.locator("#published")
    page.locator("summary[data-tour=publish]").click()
    page.get_by_role("button", name="Publish draft").click()
    expect(page.locator("[data-published]")).to_be_visible()
    page.locator("[data-published]").get_by_role("link", name="Close").click()
    expect(chip.get_by_text("Published v1")).to_be_visible()

    draft.focus("Generate answer")
    page.keyboard.press("Delete")
    changed = chip.get_by_role("link", name="v1 · Unpublished changes")
    expect(changed).to_be_visible()
    kept(page)
    page.reload()
    expect(changed).to_be_visible()

    ready(page)
    page.locator("[data-command=undo]").click()
    expect(chip.get_by_text("Published v1")).to_be_visible()
    expect(changed).to_be_hidden()


def test_publishing_leaves_the_page_as_it_is(draft: Draft):
    page = draft.page
    draft.focus("Generate answer")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    kept(page)
    page.locator("[data-command=undo]").click()
    kept(page)
    elsewhere = page.context.new_page()
    elsewhere.goto(page.url)
    expect(elsewhere.locator("#published")).to_have_text("Draft")
    draft.focus("Generate answer")
    page.evaluate("() => { window.sameOne = true; window.mnemoflow.editor.canvas.pick(['llm']); }")

    page.locator("summary[data-tour=publish]").click()
    page.locator("#publish-note").fill("First")
    page.get_by_role("button", name="Publish draft").click()

    expect(page.locator("[data-published]")).to_contain_text("Version 1 is published")
    expect(page.locator("[data-toast]").last).to_contain_text("Published as version 1.")
    expect(elsewhere.locator("#published")).to_contain_text("Published v1")
    expect(elsewhere.locator("[data-published]")).to_have_count(0)
    elsewhere.close()
    page.keyboard.press("Escape")
    expect(page.locator("[data-published]")).to_have_count(0)
    expect(page.locator("summary[data-tour=publish]")).to_be_focused()
    assert page.evaluate("() => [window.sameOne, [...window.mnemoflow.editor.selection]]") == [
        True,
        ["llm"],
    ]
    expect(page.locator("[data-command=redo]")).to_be_enabled()
    page.locator("#tab-history").click()
    expect(page.locator("#panel-history .pill-ok")).to_have_text("Published")


def test_drawing_of_a_difference_lies_within_its_frame(draft: Draft):
    page = draft.page
    page.locator("summary[data-tour=publish]").click()
    page.get_by_role("button", name="Publish draft").click()
    expect(page.locator("[data-published]")).to_be_visible()
    page.goto(f"/workflows/{draft.id}/?node=llm")
    title = page.locator("#panel-node .insp-title")
    title.fill("Think twice")
    title.press("Enter")
    kept(page)
    page.locator("#published").get_by_role("link").click()

    frame = page.locator(".graph")
    expect(frame.locator("wf-node[data-mark=changed]")).to_contain_text("Think twice")
    # The cards take their places when the script has measured them, which is after the text is there.
    until(page, lambda: frame.evaluate(CARDS_LIE_WITHIN))


def test_empty_canvas_says_how_to_begin_until_the_first_node(signed_in: Page):
    draft = new_workflow(signed_in)
    page, hint = draft.page, draft.page.locator("[data-begin]")

    expect(hint).to_contain_text("Drag from the Start node's handle")
    page.locator(".ed-top [data-command=search-palette]").click()
    expect(page.locator("#panel-add")).to_be_visible()
    page.locator("#panel-add [data-add-kind=llm]").click()
    kept(page)
    expect(hint).to_be_hidden()
    page.reload()
    expect(hint).to_be_hidden()

"""Pinning is found where people look for it: in a node's menu, and where its outputs are."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import Draft, choose_in_menu, open_sample


pytestmark = pytest.mark.browser


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return open_sample(signed_in)


def check_node_is_pinned_from_its_menu_and_its_card_says_so(draft: Draft):
    page, node = draft.page, draft.node("Recall")
    chip = page.locator('wf-node[data-title="Recall"] .wf-pin')

    node.click(button="right")
    choose_in_menu(page, "pin-node")
    field = page.locator("#pin-outputs")
    expect(field).to_be_focused()
    field.fill('{"results": [], "count": 0, "text": "nothing"}')
    page.get_by_role("button", name="Pin", exact=True).click()

    expect(chip).to_be_visible()
    page.reload()
    expect(chip).to_be_visible()


def test_pins_are_set_from_the_menu_and_from_the_outputs(draft: Draft):
    check_tab_of_outputs_says_what_a_pin_does_and_leads_to_it(draft)
    check_node_is_pinned_from_its_menu_and_its_card_says_so(draft)


def check_tab_of_outputs_says_what_a_pin_does_and_leads_to_it(draft: Draft):
    page = draft.page
    draft.focus("Generate answer")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Last run", exact=True).click()
    panel = page.locator("#insp-last")
    panel.locator("summary", has_text="Pin output").click()

    expect(panel).to_contain_text("Runs from the editor use pinned outputs")
    expect(page.locator("#pin-outputs")).to_be_visible()

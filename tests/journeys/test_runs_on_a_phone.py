"""The list of runs and the page of one on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import say, use_sample


pytestmark = pytest.mark.browser

OVERFLOW = """() => {
  const wrap = document.querySelector("#steps-table").closest(".table-wrap");
  return wrap.scrollWidth - wrap.clientWidth;
}"""


@pytest.fixture
def phone(signed_in: Page) -> Page:
    """A run that has ended, and a page as wide as a phone."""
    use_sample(signed_in, "A chatbot that remembers")
    say(signed_in, "My bicycle is green.")
    signed_in.set_viewport_size({"width": 390, "height": 844})
    return signed_in


def test_whole_row_opens_the_run_whose_steps_fit_the_screen(phone: Page):
    phone.goto("/runs/")
    row = phone.locator("tr[data-opens]").first
    expect(row.get_by_role("link")).to_have_count(1)

    row.locator("time").click()

    expect(phone).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}/$"))
    expect(phone.locator("#steps-table")).to_be_visible()
    assert phone.evaluate(OVERFLOW) <= 0
    details = phone.locator("#steps-table details").first
    details.locator("summary").click()
    expect(details.locator("pre").first).to_be_visible()
    assert phone.evaluate(OVERFLOW) <= 0

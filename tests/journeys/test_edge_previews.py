"""After a run the edges say how what went along them begins; a press shows all of it."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import open_sample


pytestmark = pytest.mark.browser


def test_edge_says_what_went_along_it(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    model = draft.id_of_kind("llm")
    answer = draft.id_of_kind("answer")
    edge = next(e for e in draft.document.edges if (e.source, e.target) == (model, answer))

    label = signed_in.locator(f'.wf-label[data-edge="{edge.id}"]')

    expect(label).to_contain_text("Noted: I'm Ana")
    label.click()
    expect(signed_in.get_by_role("dialog", name="What Think of an answer gave")).to_contain_text(
        "allergic to peanuts"
    )

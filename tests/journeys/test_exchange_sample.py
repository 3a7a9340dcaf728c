"""The second run in a conversation recalls what the first one kept."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.building import run
from tests.journeys.chatting import use_sample


pytestmark = pytest.mark.browser


def test_second_run_in_a_conversation_recalls_the_first(signed_in: Page):
    page = signed_in
    use_sample(page, "A workflow with conversation memory")

    run(page, "My cat is called Miso.", "miso")
    run(page, "What is my cat called?", "miso")

    expect(page.locator("#run-card .bubble-it")).to_contain_text("Miso")
    expect(page.locator("#runs-card li")).to_have_count(2)
    page.locator("#run-card").get_by_role("link", name="Details").click()
    entry = page.locator("#recalled .recollection")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("exchange_")
    expect(entry.locator(".score")).to_have_text(re.compile(r"\d+% match"))
    expect(page.locator("#written .recollection")).to_have_count(1)
    expect(page.locator(".graph wf-node")).to_have_count(5)
    expect(page.locator('.graph wf-node[data-state="completed"]')).to_have_count(5)

    # where it came from and who has read it since is on the entry's own page
    entry.get_by_role("link", name="Open").click()
    expect(page.get_by_role("heading", name="Recalled by")).to_be_visible()
    expect(page.locator("section", has_text="Recalled by").get_by_role("listitem")).to_have_count(1)


def test_input_that_does_not_fit_is_named_and_kept(unwatched: Page):
    page = unwatched
    page.goto("/workflows/import/")
    page.get_by_label("Document (YAML or JSON)").fill(NUMBER)
    page.get_by_role("button", name="Import").click()

    page.get_by_label("How many?").fill("several")
    with page.expect_response(lambda answer: answer.url.endswith("/start/")) as answer:
        page.locator("#run-card").get_by_role("button", name="Run", exact=True).click()

    assert answer.value.status == 422
    field = page.get_by_label("How many?")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("several")


NUMBER = """
version: "0.1.0"
nodes:
  - id: start
    data:
      type: start
      variables: [{variable: count, label: "How many?", type: number}]
  - id: end
    data: {type: end, outputs: [{variable: count, value_selector: [start, count]}]}
edges: [{source: start, target: end}]
"""

"""A data set in the browser: a case is added and evaluated, and its score appears without a reload."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import open_sample
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


def test_data_set_is_evaluated(signed_in: Page, live_stack: LiveStack) -> None:
    page = open_sample(signed_in).page  # something to evaluate
    page.goto(f"{live_stack.url}/data-sets/")
    page.get_by_label("Name").fill("Greetings")
    page.get_by_role("button", name="Create dataset").click()
    page.get_by_label("Message", exact=True).fill("I live in Lyon.")
    page.get_by_label("Expected answer", exact=False).fill("Lyon")
    page.get_by_role("button", name="Add a case").click()
    page.get_by_label("Score", exact=True).select_option("contains")
    page.get_by_role("button", name="Run evaluation").click()

    expect(page.get_by_role("heading", name="Finished")).to_be_visible()
    expect(page.get_by_text(re.compile("[01] / 1"))).to_be_visible()

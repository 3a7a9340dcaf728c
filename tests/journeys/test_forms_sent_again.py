"""A form that is sent twice starts one run; a page that the browser brings back can start another one."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.editing import import_workflow
from tests.journeys.test_run_form import WORKFLOW


pytestmark = pytest.mark.browser

RUN = re.compile(r"/runs/[0-9a-f-]{36}/$")


def open_run(page: Page) -> str:
    """Run a workflow, and return the address of the page of its run, which is then open and can start it again."""
    draft = import_workflow(page, WORKFLOW)
    card = draft.page.locator("#run-card")
    card.get_by_label("Names").fill("Ada")
    card.get_by_label("Town").fill("London")
    card.get_by_role("button", name="Run", exact=True).click()
    expect(card.locator(".bubble-it")).to_have_text("Hello Ada of London")
    page.goto(page.url.split("/workflows/")[0] + "/runs/")
    page.locator("tbody a").first.click()
    return wait_for_run(page, "")


def wait_for_run(page: Page, earlier: str) -> str:
    """Wait until the page of another run than the earlier one can start it again."""
    if earlier:
        expect(page).not_to_have_url(earlier)
    expect(page).to_have_url(RUN)
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    return page.url


def count_runs(page: Page) -> int:
    page.goto(page.url.split("/runs/")[0] + "/runs/")
    return page.locator("tbody tr").count()


def test_second_click_and_a_page_that_is_brought_back(signed_in: Page):
    page = signed_in
    first = open_run(page)
    runs = count_runs(page)
    page.goto(first)

    page.get_by_role("button", name="Run again").dblclick(no_wait_after=True)
    second = wait_for_run(page, first)
    assert count_runs(page) == runs + 1

    page.goto(first)
    page.get_by_role("button", name="Run again").click()
    third = wait_for_run(page, first)
    page.go_back()
    expect(page).to_have_url(first)
    page.get_by_role("button", name="Run again").click()
    fourth = wait_for_run(page, first)

    assert len({first, second, third, fourth}) == 4
    assert count_runs(page) == runs + 3

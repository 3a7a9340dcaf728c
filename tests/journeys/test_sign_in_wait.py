"""After too many failures, the page to sign in counts down until the next attempt."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser


def sign_in_button(page: Page) -> Locator:
    return page.locator("form[action='/accounts/login/'] [type=submit]")


def fail_until_delayed(page: Page, email: str, seconds: int = 1) -> None:
    """Send wrong passwords until an attempt comes too early by at least these seconds.

    Delays double with each failure. Attempts that come too early aren't failures, so shorter delays are waited for.
    """
    page.goto("/accounts/login/")
    for _ in range(20):
        page.locator("[name=login]").fill(email)
        page.locator("[name=password]").fill("wrong")
        with page.expect_navigation() as navigation:
            sign_in_button(page).click(timeout=20_000)  # which waits for the end of a short delay
        if navigation.value.status == 429:
            wait = page.locator("[data-wait]").get_attribute("data-wait")
            if int(wait or 0) >= seconds:
                return
            expect(page.get_by_text("You can try again now.")).to_be_visible(timeout=20_000)
    pytest.fail("no attempt was delayed")


def test_page_counts_down_to_the_next_attempt(chromium: Browser, live_stack: LiveStack) -> None:
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    fail_until_delayed(page, "nobody@example.org", seconds=4)

    expect(sign_in_button(page)).to_be_disabled()
    expect(page.get_by_text("Too many failed attempts.", exact=True)).to_be_visible()
    expect(page.locator("[data-wait-clock]")).to_have_text(re.compile(r"^0:\d\d$"))
    expect(page.get_by_text("You can try again now.")).to_be_visible(timeout=20_000)
    expect(sign_in_button(page)).to_be_enabled()
    expect(page.get_by_text("Too many failed attempts")).to_have_count(0)
    context.close()


def test_another_address_need_not_wait(chromium: Browser, live_stack: LiveStack) -> None:
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    fail_until_delayed(page, "no-one@example.org", seconds=4)
    expect(sign_in_button(page)).to_be_disabled()

    page.locator("[name=login]").fill("another@example.org")

    expect(sign_in_button(page)).to_be_enabled()
    context.close()


def test_page_says_how_long_it_takes_without_a_script(
    chromium: Browser, live_stack: LiveStack
) -> None:
    context = chromium.new_context(base_url=live_stack.url, java_script_enabled=False)
    page = context.new_page()
    fail_until_delayed(page, "somebody@example.org")

    expect(page.get_by_text("Too many failed attempts. Try again in")).to_be_visible()
    expect(page.locator("[data-wait]")).to_be_hidden()
    expect(sign_in_button(page)).to_be_enabled()
    context.close()

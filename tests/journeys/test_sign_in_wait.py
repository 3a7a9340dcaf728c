"""After too many failures, the page to sign in counts down until the next attempt."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, expect

from tests.journeys.shell import Shell
from tests.support.stack import LiveStack
from tests.support.waiting import until


pytestmark = pytest.mark.browser

EMAIL = "nobody@example.org"
FORGET = """
from accounts.models import SignInFailures
SignInFailures.objects.all().delete()
"""
# As if there had been more failures than a test has time for: the next delay is longer than any machine is slow.
FAIL_OFTEN = f"""
from django.utils import timezone
from accounts.models import SignInFailures
from accounts.services.sign_in import SignInAttempt
from config.http.proxies import find_network
key = SignInAttempt("{EMAIL}", find_network("127.0.0.1")).pair_key
SignInFailures.objects.update_or_create(key=key, defaults=dict(count=12, last_at=timezone.now()))
"""


@pytest.fixture
def fail(shell: Shell) -> Callable[[Page], None]:
    """Send a wrong password where so many failed before that the attempt comes too early, by minutes."""
    shell.run(FORGET + FAIL_OFTEN)

    def fail_once_more(page: Page) -> None:
        page.goto("/accounts/login/")
        assert try_wrong_password(page) == 429

    return fail_once_more


def test_attempts_are_delayed_after_some_failures(
    chromium: Browser, live_stack: LiveStack, shell: Shell
) -> None:
    shell.run(FORGET)
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()

    page.goto("/accounts/login/")

    until(lambda: try_wrong_password(page) == 429, why="no attempt was delayed")
    context.close()


def try_wrong_password(page: Page) -> int:
    """The status of the answer."""
    page.locator("[name=login]").fill(EMAIL)
    page.locator("[name=password]").fill("wrong")
    with page.expect_navigation(), page.expect_response(is_sent_form) as answer:
        sign_in_button(page).click()
    return int(answer.value.status)


def is_sent_form(answer: Response) -> bool:
    return answer.request.method == "POST"


def sign_in_button(page: Page) -> Locator:
    return page.locator("form[action='/accounts/login/'] [type=submit]")


def test_page_counts_down_to_the_next_attempt(
    chromium: Browser, live_stack: LiveStack, fail: Callable[[Page], None]
) -> None:
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    page.clock.install()
    fail(page)

    expect(sign_in_button(page)).to_be_disabled()
    expect(page.get_by_text("Too many failed attempts.", exact=True)).to_be_visible()
    clock = page.locator("[data-wait-clock]")
    expect(clock).to_have_text(re.compile(r"^\d:\d\d$"))
    begun = clock.inner_text()
    page.clock.fast_forward("00:30")
    expect(clock).not_to_have_text(begun)
    expect(sign_in_button(page)).to_be_disabled()
    page.clock.fast_forward("05:00")
    expect(page.get_by_text("You can try again now.")).to_be_visible()
    expect(sign_in_button(page)).to_be_enabled()
    expect(page.get_by_text("Too many failed attempts")).to_have_count(0)
    context.close()


def test_another_address_need_not_wait(
    chromium: Browser, live_stack: LiveStack, fail: Callable[[Page], None]
) -> None:
    context = chromium.new_context(base_url=live_stack.url)
    page = context.new_page()
    fail(page)
    expect(sign_in_button(page)).to_be_disabled()

    page.locator("[name=login]").fill("another@example.org")

    expect(sign_in_button(page)).to_be_enabled()
    context.close()


def test_page_says_how_long_it_takes_without_a_script(
    chromium: Browser, live_stack: LiveStack, fail: Callable[[Page], None]
) -> None:
    context = chromium.new_context(base_url=live_stack.url, java_script_enabled=False)
    page = context.new_page()
    fail(page)

    expect(page.get_by_text("Too many failed attempts. Try again in")).to_be_visible()
    expect(page.locator("[data-wait]")).to_be_hidden()
    expect(sign_in_button(page)).to_be_enabled()
    context.close()

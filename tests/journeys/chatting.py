"""The chat pane as a person uses it."""

import re

from playwright.sync_api import Locator, Page, expect


# The first page of a server that has just come up, beside others who test, takes its time.
READY = 60_000


def use_sample(page: Page, title: str) -> None:
    page.goto("/samples/")
    page.get_by_role("article").filter(has_text=title).get_by_role("button").click()
    expect(page).to_have_url(re.compile("/workflows/[0-9a-f-]{36}/"))
    expect(page.locator("#editor")).to_have_attribute("data-ready", "yes", timeout=READY)


def say(page: Page, text: str) -> Locator:
    """The answer's bubble, once all of it is there."""
    bubbles = page.locator(".chat-log .bubble-it")
    before = bubbles.count()
    box = page.get_by_role("textbox", name="Message")
    box.fill(text)
    box.press("Enter")
    expect(bubbles).to_have_count(before + 1)
    answer = bubbles.last
    expect(answer).not_to_have_attribute("data-waiting", re.compile(""))
    return answer


def new_conversation(page: Page) -> None:
    """Wait for the whole new page: before its scripts have come, Enter is a line break in the message."""
    with page.expect_navigation():
        page.get_by_role("link", name="New conversation", exact=True).first.click()
    expect(page.locator(".chat-log .bubble")).to_have_count(0)


def be(page: Page, person: str) -> None:
    page.locator(".chat-head summary").first.click()
    page.get_by_label("Switch user").fill(person)
    with page.expect_navigation():
        page.get_by_role("button", name="Switch").click()
    expect(page.locator(".chat-head summary").first).to_contain_text(person)


def be_oneself(page: Page) -> None:
    page.locator(".chat-head summary").first.click()
    with page.expect_navigation():
        page.get_by_role("link", name="Yourself", exact=True).click()
    expect(page.locator(".chat-head summary").first).to_contain_text("You")


def node(page: Page, name: str) -> Locator:
    """On the canvas, or in the drawing on a run's page."""
    return page.locator(f'wf-node[data-id="{name}"]')

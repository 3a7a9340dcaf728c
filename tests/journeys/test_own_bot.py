"""A newcomer's own chatbot, from the first page, with defaults alone: the bar is twelve gestures."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import message_box
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

MAX_GESTURES = 12


class Newcomer:
    """Counts each click, each text typed and each key pressed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.gestures = 0

    def click(self, target: Locator) -> None:
        target.click()
        self.gestures += 1

    def say(self, text: str) -> Locator:
        bubbles, box = self.page.locator(".chat-log .bubble-it"), message_box(self.page)
        before = bubbles.count()
        box.fill(text)
        box.press("Enter")
        self.gestures += 2
        expect(bubbles).to_have_count(before + 1)
        expect(bubbles.last).not_to_have_attribute("data-waiting", re.compile(""))
        return bubbles.last


def test_own_chatbot_remembers_across_conversations_after_few_gestures(signed_in: Page):
    page, newcomer = signed_in, Newcomer(signed_in)
    page.goto("/")

    newcomer.click(page.get_by_role("link", name="Workflows", exact=True).first)
    newcomer.click(page.get_by_role("link", name="New workflow", exact=True).first)
    newcomer.click(page.get_by_role("button", name="Create", exact=True))
    ready(page)
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(newcomer.say("My parrot is called Coco.")).not_to_be_empty()
    with page.expect_navigation():
        newcomer.click(page.get_by_role("link", name="New conversation", exact=True).first)
    expect(page.locator(".chat-log .bubble")).to_have_count(0)
    answer = newcomer.say("What is the name of my parrot?")

    expect(answer).to_contain_text("Coco")
    assert newcomer.gestures <= MAX_GESTURES

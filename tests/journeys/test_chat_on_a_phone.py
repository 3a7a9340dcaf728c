"""The chat where there is little room: one row of buttons, and the box to type in always in sight."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import say, use_sample
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

# A phone, a small one, and one with its keyboard open.
SCREENS = ((390, 844), (360, 640), (390, 420))


def test_chat_fills_the_phone_and_its_box_stays_in_sight(signed_in: Page):
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    for number in range(4):
        say(page, f"I own {number} umbrellas, and none of them is here when it rains in November.")

    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        ready(page)

        box = page.get_by_role("textbox", name="Message")
        expect(box).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
        expect(page.locator(".bubble-it").last).to_be_in_viewport()
        assert page.locator(".chat-head").evaluate("head => head.offsetHeight") < 64
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        log = page.locator(".chat-log").evaluate(
            "log => [log.scrollWidth - log.clientWidth, log.clientHeight]"
        )
        assert log[0] == 0
        assert log[1] >= 100


def test_long_name_of_a_test_person_leaves_the_buttons_in_their_row(signed_in: Page):
    page = signed_in
    page.set_viewport_size({"width": 360, "height": 640})
    use_sample(page, "A chatbot that remembers")
    page.goto(page.url.partition("?")[0] + "?person=somebody.with.a.long.name@example.org")
    ready(page)

    expect(page.locator("[data-tour=new]")).to_be_in_viewport(ratio=1)
    assert page.locator(".chat-head").evaluate("head => head.scrollWidth <= head.clientWidth")

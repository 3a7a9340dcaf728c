"""The public page of a workflow without a chat: a form, and its result as it is written."""

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.public_pages.test_chat_link import look, publish_page
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import follow


pytestmark = pytest.mark.browser

SAMPLE = "Meeting notes to decisions and owners"


def test_visitor_fills_in_the_form_and_reads_the_result(signed_in: Page, rooms: Rooms):
    link = publish_page(signed_in, SAMPLE)

    with rooms.lent() as context:
        page = context.pages[0]
        page.goto(link)
        assert look(page) == []
        for box in page.locator("#page-form").get_by_role("textbox").all():
            box.fill("It was nice to meet.")
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#page-result .feedback")).to_be_visible()
        expect(page.locator("#page-result")).to_contain_text("Nothing was decided.")
        page.set_viewport_size({"width": 390, "height": 844})
        assert look(page) == []
        page.emulate_media(color_scheme="dark")
        follow(page, page.get_by_role("button", name="中文"))
        page.locator(".visit-earlier > summary").click()
        assert look(page) == []
        page.locator(".visit-earlier a").click()
        expect(page.locator("#page-result .feedback")).to_be_visible()
        expect(page.locator("#page-result")).to_contain_text("Nothing was decided.")
        assert look(page) == []

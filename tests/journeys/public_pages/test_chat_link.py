"""People without an account on the public page of a chat, in a real browser: on a desk and on a phone."""

import re

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.journeys.chatting import message_box, use_sample
from tests.journeys.looking import (
    CONTRAST,
    CUT,
    HEADINGS,
    IDS,
    NAMELESS,
    OVERFLOW,
    STATES,
    complaints,
    shut_out,
)
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import follow


pytestmark = pytest.mark.browser

CHECKS = (OVERFLOW, CUT, HEADINGS, NAMELESS, STATES, IDS, CONTRAST)


def publish_page(page: Page, sample: str, access: str = "link", password: str = "") -> str:
    """Publish a sample, switch its page on in the dialog, and return the link."""
    use_sample(page, sample)
    return publish_open_draft(page, access, password)


def publish_open_draft(page: Page, access: str = "link", password: str = "") -> str:
    page.locator("summary[data-tour=publish]").click()
    page.get_by_role("button", name="Publish draft").click()
    dialog = page.locator("[data-published]")
    dialog.locator("summary", has_text="for people without an account").click()
    dialog.get_by_label("Who may open the page").select_option(access)
    if password:
        dialog.get_by_label("Password").fill(password)
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog.locator("#page-link")).to_be_visible()
    return dialog.locator("#page-link").inner_text()


def ask(page: Page | FrameLocator, text: str) -> Locator:
    """Send a message, and return the answer once all of it is there."""
    turns, box = page.locator(".turn"), message_box(page)
    before = turns.count()
    box.fill(text)
    box.press("Enter")
    expect(turns).to_have_count(before + 1)
    expect(turns.last.locator(".feedback")).to_be_visible()
    return turns.last.locator(".bubble-it")


def look(page: Page) -> list[str]:
    return [*complaints(page, *CHECKS), *shut_out(page)]


def test_visitor_chats_is_remembered_and_forgets(signed_in: Page, rooms: Rooms):
    link = publish_page(signed_in, "A chatbot that remembers")

    with rooms.lent() as context:
        page = context.pages[0]
        page.goto(link)
        assert look(page) == []
        expect(page.get_by_role("navigation")).to_have_count(0)
        expect(ask(page, "My name is Ana and I love hiking.")).to_be_visible()
        expect(page.locator(".memory-note").first).to_contain_text("hiking")
        page.locator(".turn").last.get_by_role("button", name="Good answer").click()
        expect(page.get_by_role("button", name="Good answer")).to_have_attribute(
            "aria-pressed", "true"
        )
        follow(page, page.get_by_role("link", name="New conversation"))
        expect(ask(page, "What do I love?")).to_contain_text("hiking")
        assert look(page) == []

        page.reload()
        expect(page.locator(".turn")).to_have_count(1)
        expect(page.locator(".talk-row")).to_have_count(2)
        follow(page, page.get_by_role("link", name="What do you remember about me?"))
        expect(page.locator("[data-memory]").first).to_contain_text("hiking")
        assert look(page) == []
        page.get_by_role("button", name=re.compile("Forget My name|Forget .*hiking")).first.click()
        expect(page.get_by_text("Forgotten. No longer used in answers.")).to_be_visible()

    with rooms.lent() as context:
        other = context.pages[0]
        other.set_viewport_size({"width": 390, "height": 844})
        other.emulate_media(color_scheme="dark")
        other.goto(link)
        assert look(other) == []
        follow(other, other.get_by_role("button", name="中文"))
        expect(other.get_by_role("button", name="English")).to_be_visible()
        assert look(other) == []
        follow(other, other.get_by_role("button", name="English"))
        expect(ask(other, "What do I love?")).not_to_contain_text("hiking")
        box = other.get_by_role("textbox", name="Message")
        expect(box).to_be_in_viewport(ratio=1)
        assert look(other) == []
        other.emulate_media(color_scheme="light")


def test_page_asks_for_its_password(signed_in: Page, rooms: Rooms):
    link = publish_page(signed_in, "A chatbot that remembers", "password", "open sesame")

    with rooms.lent() as context:
        page = context.pages[0]
        page.goto(link)
        assert look(page) == []
        page.get_by_label("Password of this page").fill("open sesame")
        follow(page, page.get_by_role("button", name="Open"))
        expect(ask(page, "Hello!")).to_be_visible()


def test_visitor_sends_a_suggested_question_with_one_click(signed_in: Page, rooms: Rooms):
    use_sample(signed_in, "A chatbot that remembers")
    signed_in.get_by_role("tab", name="Node").click()
    switch = signed_in.get_by_role("switch", name="Suggested questions after an answer")
    expect(switch).not_to_be_checked()
    switch.check()
    expect(signed_in.locator("#saved")).to_have_text("Saved")
    link = publish_open_draft(signed_in)

    with rooms.lent() as context:
        page = context.pages[0]
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(link)
        ask(page, "I'm Ana, and I'm allergic to peanuts.")
        suggested = page.get_by_role("group", name="Suggested questions")
        expect(suggested.get_by_role("button")).to_have_text(["What am I allergic to?"])
        assert look(page) == []
        suggested.get_by_role("button").click()
        expect(page.locator(".turn")).to_have_count(2)
        expect(page.locator(".turn").last.locator(".feedback")).to_be_visible()
        expect(page.locator(".turn").last.locator(".bubble-it")).to_contain_text("peanuts")
        expect(suggested).to_have_count(0)  # everything was asked
        assert look(page) == []

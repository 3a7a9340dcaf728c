"""The first ten minutes, by mouse: from the start link to a ticked list, led by the tour."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import new_conversation, say, take_from_the_gallery, use_sample
from tests.journeys.seeing import follow, ready
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT = "I'm Ana, and I'm allergic to peanuts."
QUESTION = "What am I allergic to?"


def bubble(page: Page, number: int) -> None:
    """Which bubble of the tour is shown."""
    expect(page.locator("#tour [data-tour-count]")).to_have_text(f"{number}/11")


def ticked(page: Page, *steps: str) -> None:
    for step in steps:
        expect(page.locator(f'.steps [data-step="{step}"]')).to_have_class(re.compile("is-done"))


def test_start_link_leads_to_the_first_steps(first_owner: Page):
    page = first_owner
    page.goto("/")
    expect(page.locator("#first-steps")).to_be_visible()


def test_newcomer_is_led_from_a_fact_told_to_a_published_workflow(signed_in: Page):
    page = signed_in
    take_from_the_gallery(page, "A chatbot that remembers")
    page.locator("[data-steps-toggle]").click()
    page.get_by_role("button", name="Start tour").click()

    told_and_seen(page)
    asked_anew_and_cited(page)
    somebody_else_knows_nothing(page)
    forgotten_and_undone(page)
    published(page)

    page.locator("[data-steps-toggle]").click()
    ticked(page, "run", "recall", "isolate", "undo", "publish")


def told_and_seen(page: Page) -> None:
    bubble(page, 1)
    page.get_by_role("button", name=FACT).click()
    bubble(page, 2)
    page.locator(".chat-note summary", has_text="remembered").click()
    expect(page.locator(".chat-note")).to_contain_text(FACT)
    expect(page.locator(".answer-note")).to_contain_text("Offline demo model")


def asked_anew_and_cited(page: Page) -> None:
    bubble(page, 3)
    expect(say(page, QUESTION)).to_contain_text("peanuts")
    new_conversation(page)
    # An earlier run is neither shown there nor an answer to what is asked there.
    bubble(page, 4)
    expect(page.locator("#panel-log .log-row")).to_have_count(0)
    expect(say(page, QUESTION)).to_contain_text("peanuts")
    bubble(page, 5)
    page.locator(".chat-note summary", has_text="recalled").click()
    expect(page.locator(".chat-note")).to_contain_text(FACT)


def somebody_else_knows_nothing(page: Page) -> None:
    bubble(page, 6)
    follow(page, page.get_by_role("link", name="Switch user"))
    bubble(page, 7)
    expect(say(page, QUESTION)).to_contain_text("I don't know anything about that yet")
    bubble(page, 8)
    follow(page, page.get_by_role("link", name="Switch back to yourself"))


def forgotten_and_undone(page: Page) -> None:
    bubble(page, 9)
    page.get_by_role("button", name="Forget last memory").click()
    expect(page.locator("[data-toast]").last).to_contain_text(FACT)
    bubble(page, 10)
    page.locator("[data-toast]").get_by_role("button", name="Undo").click()
    bubble(page, 11)
    expect(say(page, QUESTION)).to_contain_text("peanuts")


def published(page: Page) -> None:
    page.get_by_role("banner").get_by_label("Publish", exact=True).click()
    page.get_by_role("button", name="Publish draft").click()
    expect(page.locator("[data-published]")).to_contain_text("/api/v1/workflows/")
    page.locator("[data-published]").get_by_role("link", name="Close").click()
    expect(page.locator("#tour")).to_be_hidden()


def test_tour_ends_with_escape_and_is_taken_up_again_from_the_menu(signed_in: Page):
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    page.locator("[data-steps-toggle]").click()
    page.get_by_role("button", name="Start tour").click()
    bubble(page, 1)

    page.keyboard.press("Escape")
    expect(page.locator("#tour")).to_be_hidden()
    page.get_by_label("More").click()
    page.get_by_role("button", name="Start tour").click()

    bubble(page, 1)
    page.get_by_role("button", name="End tour").click()


def test_first_steps_stand_on_the_home_page_and_are_put_away(signed_in: Page):
    page = signed_in
    page.goto("/")
    card = page.locator("#first-steps")
    expect(card.locator("[data-step]")).to_have_count(7)
    card.get_by_role("button", name="Dismiss").click()
    expect(card).to_be_hidden()

    page.goto("/first-steps/")
    page.get_by_role("button", name="Show the checklist again").click()

    page.goto("/")
    expect(card.locator("[data-step]")).to_have_count(7)


def test_same_in_chinese(signed_in: Page, live_stack: LiveStack):
    page = signed_in
    page.context.add_cookies(
        [{"name": "django_language", "value": "zh-hans", "url": live_stack.url}]
    )
    page.goto("/samples/")
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    follow(page, page.locator('form[action="/samples/chatbot/copy/"] button'))
    ready(page)

    expect(say(page, "我对花生过敏。")).to_contain_text("记下了")
    follow(page, page.locator('[data-tour="new"]'))
    expect(page.locator(".chat-log .bubble")).to_have_count(0)
    expect(say(page, "我对什么过敏？")).to_contain_text("花生")
    follow(page, page.locator(".chips-do a").nth(1))
    expect(page.locator("#chat-place [name=person]")).to_have_value("Ben")
    expect(say(page, "我对什么过敏？")).to_contain_text("什么都不知道")


def test_tour_goes_on_for_somebody_whose_fact_is_known_already(signed_in: Page):
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    say(page, FACT)
    use_sample(page, "A chatbot that remembers")
    page.locator("[data-steps-toggle]").click()
    page.get_by_role("button", name="Start tour").click()
    bubble(page, 1)

    page.get_by_role("button", name=FACT).click()

    expect(page.locator("#tour [data-tour-count]")).not_to_have_text("1/11")

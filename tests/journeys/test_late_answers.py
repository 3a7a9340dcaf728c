"""Answers that come late, in any order: what was asked for last is shown, and what was confirmed is sent.

The page is one of the site's; the places on it and all answers are the test's own, so that it decides what comes when.
"""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.journeys.seeing import until


pytestmark = pytest.mark.browser

PLACE = '<div id="place" hx-get="/late/again/" hx-trigger="load-again" hx-swap="outerHTML">{}</div>'
BUTTONS = "".join(
    f'<button hx-get="/late/{name}/" hx-target="#place" hx-swap="outerHTML">{name}</button>'
    for name in ("first", "second")
)
FORM = (
    '<form action="/late/form/" hx-post="/late/form/" hx-swap="none" data-confirm="Sure?">'
    '<input type="hidden" name="csrfmiddlewaretoken" value="{}">'
    '<input type="hidden" name="entry" value="{}"><button name="keep" value="{}">{}</button></form>'
)
MODELS = (
    '<div id="offered" hx-post="/late/offered/" hx-trigger="change from:#key" hx-swap="outerHTML">'
    '<select id="model" name="model" aria-label="Model" data-searchable="Search" data-no-results="-">'
    "{}</select></div>"
)
OPTIONS = "".join(f"<option>{name}</option>" for name in ("small", "medium", "large"))
INSERT = """html => {
  document.querySelector("h1").insertAdjacentHTML("afterend", html);
  htmx.process(document.body);
}"""
LOAD_AGAIN = "() => htmx.trigger('#place', 'load-again')"


class Answers:
    """What the page asks for below ``/late/``, until the test answers."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._waiting: dict[str, list[Route]] = {}
        page.route("**/late/**", self._hold)

    def give(self, name: str, text: str, document: str = PLACE) -> str:
        """Answer the oldest request of this name; return what the request sent."""
        self.wait_for(name)
        route = self._waiting[name].pop(0)
        route.fulfill(content_type="text/html", body=document.format(text))
        return route.request.post_data or ""

    def wait_for(self, name: str) -> None:
        until(self._page, lambda: self._waiting.get(name), why=f"{name} was not asked for")

    def _hold(self, route: Route) -> None:
        name = route.request.url.rstrip("/").rpartition("/")[2]
        self._waiting.setdefault(name, []).append(route)


@pytest.fixture
def page_with_place(signed_in: Page) -> Page:
    signed_in.goto("/waiting/")
    signed_in.wait_for_load_state()
    signed_in.evaluate(INSERT, PLACE.format("old") + BUTTONS)
    return signed_in


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_place_shows_what_was_asked_for_last_in_whatever_order_answers_come(page_with_place: Page):
    check_second_change_during_a_reload_is_loaded_too(page_with_place)
    check_what_a_person_asked_for_is_shown_although_the_place_was_reloaded(page_with_place)
    check_answer_to_an_earlier_request_does_not_replace_that_to_a_later_one(page_with_place)


def check_second_change_during_a_reload_is_loaded_too(page_with_place: Page) -> None:
    page = page_with_place
    answers = Answers(page)
    page.evaluate(LOAD_AGAIN)
    page.evaluate(LOAD_AGAIN)

    answers.give("again", "after the first change")
    answers.give("again", "after the second change")

    expect(page.locator("#place")).to_have_text("after the second change")


def check_what_a_person_asked_for_is_shown_although_the_place_was_reloaded(
    page_with_place: Page,
) -> None:
    page = page_with_place
    answers = Answers(page)
    page.evaluate(LOAD_AGAIN)
    press(page, "first")

    answers.give("again", "reloaded")
    expect(page.locator("#place")).to_have_text("reloaded")
    answers.give("first", "what was pressed")

    expect(page.locator("#place")).to_have_text("what was pressed")


def check_answer_to_an_earlier_request_does_not_replace_that_to_a_later_one(
    page_with_place: Page,
) -> None:
    page = page_with_place
    answers = Answers(page)
    press(page, "first")
    answers.wait_for("first")
    press(page, "second")

    answers.give("second", "the second")
    expect(page.locator("#place")).to_have_text("the second")
    answers.give("first", "the first")

    expect(page.locator(".htmx-request")).to_have_count(0)
    expect(page.locator("#place")).to_have_text("the second")


def test_what_is_confirmed_is_sent_although_its_list_was_reloaded(page_with_place: Page) -> None:
    page = page_with_place
    answers = Answers(page)
    forms = [FORM.format("old token", number, number, f"Remove {number}") for number in "12"]
    page.evaluate(INSERT, f'<div id="list">{"".join(forms)}</div>')
    press(page, "Remove 2")
    renewed = "".join(forms).replace("old token", "new token")
    page.evaluate(
        "html => { document.getElementById('list').innerHTML = html; htmx.process(document.body) }",
        renewed,
    )

    page.locator("#confirm").get_by_role("button", name="Remove 2").click()

    assert answers.give("form", "") == "csrfmiddlewaretoken=new+token&entry=2&keep=2"


@pytest.fixture
def page_with_models(page_with_place: Page) -> Page:
    """Entering a key asks for the models that it opens."""
    models = MODELS.format(OPTIONS)
    form = f'<form><input id="key" name="key" aria-label="Key">{models}</form>'
    page_with_place.evaluate(INSERT, form)
    return page_with_place


def enter_key(page: Page, key: str) -> Answers:
    answers = Answers(page)
    page.get_by_role("textbox", name="Key").fill(key)
    page.keyboard.press("Tab")
    answers.wait_for("offered")
    return answers


def test_option_that_somebody_chooses_while_others_are_loaded_is_chosen(page_with_models: Page):
    check_option_that_is_chosen_while_others_are_loaded_stays(page_with_models)
    check_option_is_chosen_from_a_list_that_was_open_while_others_were_loaded(page_with_models)


def check_option_that_is_chosen_while_others_are_loaded_stays(page_with_models: Page) -> None:
    page = page_with_models
    answers = enter_key(page, "secret")
    page.get_by_label("Model").click()
    page.keyboard.type("large")
    page.keyboard.press("Enter")

    answers.give("offered", f"{OPTIONS}<option>huge</option>", MODELS)

    expect(page.get_by_label("Model").locator("option")).to_have_count(4)
    expect(page.get_by_label("Model")).to_have_value("large")


def check_option_is_chosen_from_a_list_that_was_open_while_others_were_loaded(
    page_with_models: Page,
) -> None:
    page = page_with_models
    answers = enter_key(page, "another")
    page.get_by_label("Model").click()
    page.keyboard.type("medium")

    answers.give("offered", "<option>small</option>", MODELS)
    expect(page.get_by_label("Model").locator("option")).to_have_count(1)
    page.keyboard.press("Enter")

    expect(page.get_by_label("Model")).to_have_value("medium")

"""Running a workflow that asks for something: what is missing is asked for, and nothing complains behind the scenes."""

import re
from collections.abc import Iterable

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from tests.journeys.chatting import message_box, say
from tests.journeys.editing import Draft, choose_in_menu, import_workflow
from tests.journeys.seeing import box_of, note_requests, ready


pytestmark = pytest.mark.browser

ASKED = [
    {"variable": "names", "label": "Names", "type": "paragraph", "required": True},
    {"variable": "town", "label": "Town", "type": "text-input", "required": True},
]
READ = [
    {"variable": "names", "value_selector": ["start", "names"]},
    {"variable": "town", "value_selector": ["start", "town"]},
]
WORKFLOW = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": ASKED}},
        {
            "id": "greet",
            "data": {
                "type": "template-transform",
                "title": "Greet",
                "template": "Hello {{ names }} of {{ town }}",
                "variables": READ,
            },
        },
        {
            "id": "end",
            "data": {
                "type": "end",
                "title": "End",
                "outputs": [{"variable": "said", "value_selector": ["greet", "output"]}],
            },
        },
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "greet"},
        {"id": "e2", "source": "greet", "target": "end"},
    ],
}


CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Hello", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": ASKED}},
                {
                    "id": "answer",
                    "data": {
                        "type": "answer",
                        "title": "Answer",
                        "answer": "{{#sys.query#}} {{#start.names#}} of {{#start.town#}}",
                    },
                },
            ],
            "edges": [{"id": "e1", "source": "start", "target": "answer"}],
        }
    },
}


@pytest.fixture
def draft(signed_in: Page) -> Draft:
    return import_workflow(signed_in, WORKFLOW)


def check_run_asks_for_the_first_empty_field_and_sends_nothing(draft: Draft):
    page, card = draft.page, draft.page.locator("#run-card")
    header = page.locator(".ed-top [data-command=run]")
    page.locator("#tab-run").click()
    with note_requests(page) as requests:
        header.click()

        expect(card.get_by_label("Names")).to_be_focused()
        expect(card.locator(".run-hint")).to_have_count(1)
        expect(card.locator(".run-hint")).to_have_text("This field is required.")
        header.click()
        expect(card.locator(".run-hint")).to_have_count(1)
        expect(card.get_by_label("Names")).to_be_focused()
        page.keyboard.type("Ada")
        expect(card.locator(".run-hint")).to_have_count(0)
        expect(card.get_by_label("Names")).not_to_have_attribute(
            "aria-describedby", re.compile(".")
        )
        header.click()
        expect(card.get_by_label("Town")).to_be_focused()
        assert list_starts(requests) == []
        page.keyboard.type("London")
        header.click()
        expect(card.locator(".bubble-it")).to_have_text("Hello Ada of London")
        assert len(list_starts(requests)) == 1


def list_starts(requests: Iterable[Request]) -> list[str]:
    return [request.url for request in requests if request.url.endswith("/start/")]


def check_boxes_drawn_larger_are_swapped_without_a_complaint(draft: Draft):
    page, card = draft.page, draft.page.locator("#run-card")
    names = card.get_by_label("Names")
    draw_larger(page, names)
    names.fill("Eve")
    card.get_by_label("Town").fill("London")
    card.get_by_role("button", name="Run", exact=True).click()
    expect(card.locator(".bubble-it")).to_have_text("Hello Eve of London")

    draft.node("Greet").click(button="right")
    choose_in_menu(page, "pin-node")
    outputs = page.locator("#pin-outputs")
    draw_larger(page, outputs)
    outputs.fill('{"output": "Pinned"}')
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(draft.node("Greet").locator(".wf-pin")).to_be_visible()
    # what the console said fails the journey: see ``Troubles``


def draw_larger(page: Page, box: Locator) -> None:
    """By its corner, as the browser lets one: it keeps the size in a style attribute."""
    box.scroll_into_view_if_needed()
    place = box_of(box)
    x, y = place["x"] + place["width"] - 5, place["y"] + place["height"] - 5
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 40, steps=4)
    page.mouse.up()
    expect(box).to_have_attribute("style", re.compile("."))


def test_what_was_typed_outlives_a_reload_then_what_was_run_until_it_is_cleared(draft: Draft):
    page, card = draft.page, draft.page.locator("#run-card")
    clear = card.get_by_role("button", name="Clear")
    expect(clear).to_be_hidden()
    card.get_by_label("Names").fill("Ada\nMary")
    page.reload()
    ready(page)
    expect(card.get_by_label("Names")).to_have_value("Ada\nMary")

    card.get_by_label("Town").fill("London")
    card.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("[data-run-state]").first).to_have_text("Succeeded")
    # a run that streams no text doesn't leave its bubble empty
    expect(card.locator(".bubble")).to_contain_text("Hello Ada\nMary of London")
    expect(card.locator("[data-waiting]")).to_have_count(0)
    card.get_by_label("Town").fill("")
    page.evaluate("sessionStorage.clear()")
    page.reload()
    ready(page)
    expect(card.get_by_label("Town")).to_have_value("London")

    clear.click()
    expect(card.get_by_label("Names")).to_have_value("")
    expect(clear).to_be_hidden()
    page.reload()
    ready(page)
    expect(card.get_by_label("Town")).to_have_value("")


def test_run_leads_to_its_form_asks_for_what_is_empty_and_swaps_boxes_of_any_size(draft: Draft):
    check_run_pressed_before_the_form_was_seen_leads_there_and_a_second_click_on_a_node_leads_back(
        draft
    )
    check_run_asks_for_the_first_empty_field_and_sends_nothing(draft)
    check_boxes_drawn_larger_are_swapped_without_a_complaint(draft)


def check_run_pressed_before_the_form_was_seen_leads_there_and_a_second_click_on_a_node_leads_back(
    draft: Draft,
):
    page, card = draft.page, draft.page.locator("#run-card")
    node = page.locator("wf-node", has_text="Greet")
    node.click()
    expect(page.locator("#panel-node")).to_be_visible()

    page.locator(".ed-top [data-command=run]").click()
    expect(card.get_by_label("Names")).to_be_focused()
    # Nobody has made a mistake yet.
    expect(card.get_by_text("This field is required.")).to_have_count(0)

    node.click()
    expect(page.locator("#panel-node")).to_be_visible()


def test_enter_sends_the_message_of_a_chat_that_asks_for_a_paragraph(signed_in: Page):
    """Its field is a text area, too, and stands before the message."""
    page = import_workflow(signed_in, CHAT).page
    page.locator(".ed-right [role=tab]", has_text="Chat").click()
    inputs = page.locator("#chat-inputs")
    message_box(page).fill("Hello")
    message_box(page).press("Enter")
    expect(inputs.get_by_label("Names")).to_be_focused()

    inputs.get_by_label("Names").fill("Ada")
    inputs.get_by_label("Town").fill("Lisbon")
    answer = say(page, "Hello")

    expect(answer).to_have_text("Hello Ada of Lisbon")
    expect(message_box(page)).to_have_value("")
    expect(inputs.get_by_label("Names")).to_have_value("Ada")

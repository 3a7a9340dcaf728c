"""Each kind of new workflow, made in the browser by what is offered first: it has no problems, runs, and answers."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import message_box, say
from tests.journeys.editing import Draft, id_in, import_workflow
from tests.journeys.seeing import ready


pytestmark = pytest.mark.browser

# A chat whose only reply is a variable that has no text yet.
EMPTY_ANSWER = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Silent", "mode": "advanced-chat"},
    "workflow": {
        "features": {},
        "conversation_variables": [{"name": "note", "value_type": "string", "value": ""}],
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                {
                    "id": "answer",
                    "data": {
                        "type": "answer",
                        "title": "Answer",
                        "answer": "{{#conversation.note#}}",
                    },
                },
            ],
            "edges": [{"id": "e", "source": "start", "target": "answer"}],
        },
    },
}


def create(page: Page, start: str, mode: str) -> Draft:
    page.goto("/workflows/new/")
    page.locator(f"input[name=start][value={start}]").check()
    page.locator(f"input[name=mode][value={mode}]").check()
    page.get_by_role("button", name="Create", exact=True).click()
    ready(page)
    return Draft(page, id_in(page))


def expect_no_problems(page: Page) -> None:
    expect(page.locator("#problems-button")).to_have_text(re.compile("No problems"))


def add_chain(draft: Draft, *names: tuple[str, str]) -> None:
    """Add nodes one behind the other by the palette, as somebody does who has walked to the node before."""
    before = "Start"
    for letters, title in names:
        draft.focus(before)
        draft.page.keyboard.press("a")
        draft.pick(letters)
        draft.heard(f"Added {title} after {before}")
        before = title


def run_form(page: Page, text: str) -> Locator:
    card = page.locator("#run-card")
    card.get_by_label("Text").fill(text)
    card.get_by_role("button", name="Run", exact=True).click()
    answer = card.locator(".bubble-it")
    expect(answer).not_to_be_empty()
    expect(card.locator("[data-waiting]")).to_have_count(0)
    return answer


@pytest.mark.parametrize("start", ["ready", "blank"])
def test_new_chat_answers_a_message(signed_in: Page, start: str):
    page = signed_in
    draft = create(page, start, "advanced-chat")
    if start == "blank":
        add_chain(draft, ("llm", "LLM"), ("answer", "Answer"))
        page.locator(".ed-right [role=tab]", has_text="Chat").click()
    else:
        expect(message_box(page)).to_be_focused()

    expect_no_problems(page)
    answer = say(page, "My parrot is called Coco.")

    expect(answer).not_to_be_empty()
    expect(answer).not_to_contain_text("files")
    expect(page.locator(".bubble-bad, .chat-none")).to_have_count(0)


def test_new_workflow_returns_the_text_of_the_model(signed_in: Page):
    page = signed_in
    create(page, "ready", "workflow")

    expect(page.locator("#run-card").get_by_label("Text")).to_be_focused()
    expect_no_problems(page)
    answer = run_form(page, "My parrot is called Coco.")

    expect(answer).not_to_contain_text("[]")
    expect(page.locator("#run-card .bubble-bad")).to_have_count(0)


def test_empty_answer_is_said_and_shows_no_value_of_the_program(signed_in: Page):
    page = signed_in
    import_workflow(page, EMPTY_ANSWER)
    box = message_box(page)

    box.fill("Hello?")
    box.press("Enter")

    note = page.locator(".chat-log .chat-none")
    expect(note).to_have_text("The answer was empty.")
    expect(page.locator(".chat-log")).not_to_contain_text("files")
    page.reload()
    expect(note).to_have_text("The answer was empty.")

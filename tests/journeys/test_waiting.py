"""A run asks a person: on its page, in the list, in the editor, with a link, and in a chat."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.journeys.editing import import_workflow


pytestmark = pytest.mark.browser

ASK = {
    "type": "human-input",
    "title": "Check the reply",
    "form_content": "Dear Ms Ming,\n\nthe order is on its way.\n\nSend this reply?\n\n{{#$output.comment#}}",
    "inputs": [
        {"type": "paragraph", "output_variable_name": "comment", "label": "Comment"},
        {"type": "checkbox", "output_variable_name": "copy", "label": "Send me a copy"},
    ],
    "user_actions": [
        {"id": "send", "title": "Send", "button_style": "primary"},
        {"id": "discard", "title": "Discard", "button_style": "default"},
    ],
    "timeout": 36,
    "timeout_unit": "hour",
}


def build_document(mode: str, ask: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    ids = ["start", "ask", "last"]
    handle = ask["user_actions"][0]["id"] if ask["user_actions"] else "source"
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Support desk", "mode": mode},
        "workflow": {
            "graph": {
                "nodes": [
                    {
                        "id": id_,
                        "type": "custom",
                        "position": {"x": 300 * number, "y": 0},
                        "data": data,
                    }
                    for number, (id_, data) in enumerate(
                        zip(
                            ids,
                            ({"type": "start", "title": "Start", "variables": []}, ask, last),
                            strict=True,
                        )
                    )
                ],
                "edges": [
                    {"id": "a", "source": "start", "target": "ask"},
                    {"id": "b", "source": "ask", "sourceHandle": handle, "target": "last"},
                ],
            }
        },
    }


LAST = {
    "type": "end",
    "title": "End",
    "outputs": [{"variable": "said", "value_selector": ["ask", "comment"]}],
}
WORKFLOW = build_document("workflow", ASK, LAST)
CHAT = build_document(
    "advanced-chat",
    {
        **ASK,
        "form_content": "Which columns does the table have?",
        "inputs": [{"type": "paragraph", "output_variable_name": "columns"}],
        "user_actions": [],
    },
    {"type": "answer", "title": "Answer", "answer": "A table of {{#ask.columns#}}"},
)


def start(page: Page, document: dict[str, Any] = WORKFLOW) -> Locator:
    """Import the workflow and run it in the editor; return its question there."""
    import_workflow(page, document)
    page.locator("#run-card > form").get_by_role("button", name="Run").click()
    question = page.locator("#run-card .question")
    expect(question).to_contain_text("Send this reply?")
    return question


def test_field_is_put_into_the_message_by_its_name(signed_in: Page):
    page = signed_in
    import_workflow(page, build_document("workflow", {**ASK, "form_content": "Well?"}, LAST))
    page.locator('wf-node[data-id="ask"]').click()
    message = page.locator("#panel-node [data-field=form_content]")
    message.locator("textarea").press("Control+End")

    page.keyboard.type(" /comm")
    expect(page.locator(".insp-picker")).to_contain_text("Fields of this form")
    page.keyboard.press("Enter")

    expect(message.locator("textarea")).to_have_value("Well? {{#$output.comment#}}")
    expect(message.locator(".pill-label")).to_have_attribute("data-title", "Fields of this form")
    expect(message.locator("mark.is-resolved")).to_have_count(1)


def open_run(page: Page) -> Locator:
    """Open the page of the editor's run; return its question."""
    page.goto(str(page.locator("#run-card a", has_text="Details").get_attribute("href")))
    return page.locator(".question")


def test_question_is_answered_in_the_editor(signed_in: Page):
    page = signed_in
    question = start(page)
    expect(page.locator("[data-run-state]").first).to_have_text("Waiting")
    expect(page.locator(".run-now [data-command=continue]").first).to_be_hidden()

    question.get_by_label("Comment").fill("Fine with me")
    question.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator("#run-card .bubble-it")).to_contain_text("Fine with me")
    expect(page.locator("#run-card form .question")).to_have_count(0)


def test_question_is_answered_on_the_page_of_the_run_and_counted_meanwhile(signed_in: Page):
    page = signed_in
    start(page)
    page.goto("/waiting/")
    expect(page.locator("#waiting-count")).to_contain_text("1")

    page.locator(".question-list article").get_by_role("link", name="Support desk").click()
    expect(page.locator("#run-head .pill").first).to_have_text("Waiting for you")
    question = page.locator(".question")
    question.get_by_label("Comment").fill("Fine with me")
    question.get_by_label("Send me a copy").check()
    question.get_by_role("button", name="Send", exact=True).click()

    expect(page.locator("#run-head .pill").first).to_have_text("Succeeded")
    expect(page.locator("#run-body")).to_contain_text("Fine with me")
    page.goto("/waiting/")
    expect(page.locator(".question")).to_have_count(0)


def test_question_answered_in_the_inbox_is_counted_no_more(signed_in: Page):
    page = signed_in
    start(page)
    page.goto("/waiting/")
    expect(page.locator("#waiting-count")).to_contain_text("1")

    page.locator(".question").get_by_role("button", name="Send", exact=True).click()

    expect(page.locator(".question")).to_contain_text("Answered by")
    expect(page.locator("#waiting-count")).to_be_empty()


def test_whoever_has_the_link_answers_without_an_account(signed_in: Page, chromium: Browser):
    page = signed_in
    start(page)
    question = open_run(page)
    question.get_by_text("Let somebody else answer").click()
    link = question.locator("code").inner_text()

    stranger = chromium.new_context().new_page()
    stranger.goto(link)
    expect(stranger.locator("body")).not_to_contain_text("Support desk")
    stranger.get_by_label("Comment").fill("From outside")
    stranger.get_by_role("button", name="Send", exact=True).click()
    expect(stranger.locator("main [role=status]")).to_contain_text("Your answer has been sent")
    stranger.goto(link)
    expect(stranger.locator("main [role=status]")).to_contain_text("This has been answered")
    stranger.context.close()

    expect(page.locator("#run-head .pill").first).to_have_text("Succeeded")
    expect(page.locator("#run-body")).to_contain_text("From outside")


def test_message_in_a_chat_answers_the_question(signed_in: Page):
    page = signed_in
    import_workflow(page, CHAT)
    box = page.get_by_role("textbox", name="Message")
    box.fill("Make a table")
    box.press("Enter")
    asked = page.locator(".exchanges .bubble-it")
    expect(asked).to_have_text("Which columns does the table have?")

    box.fill("name and age")
    box.press("Enter")

    expect(page.locator(".exchanges .bubble-me")).to_contain_text("name and age")
    expect(page.locator(".chat-log > .bubble-it")).to_have_text("A table of name and age")
    expect(page.locator(".chat-log > .bubble-me")).to_have_count(1)
    page.reload()
    expect(page.locator(".exchanges .bubble-me")).to_contain_text("name and age")

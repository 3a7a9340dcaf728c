"""The sources of an answer: shown below it when it ends, opened with their passage, gone when the page is forgotten."""

import os
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import id_in, import_workflow
from tests.journeys.seeing import follow
from tests.support.stack import LiveStack
from tests.workflows.citations.documents import MODEL, chat_document, search


pytestmark = pytest.mark.browser

OPENING = "The bakery in Mill Lane opens at six, on Sundays at eight."
PAGES = [
    {"title": "Opening hours", "content": OPENING},
    {
        "title": "Bread",
        "content": "The bakery sells rye bread, spelt bread and, on Fridays, plaits.",
    },
]
WRITE_PAGES = """async ([namespace, pages]) => {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
  const answer = await fetch("/api/v1/knowledge/pages", { method: "POST", headers, body: JSON.stringify({ namespace, pages }) });
  return answer.status;
}"""


def look(page: Page, name: str) -> None:
    if folder := os.environ.get("LOOK_AT"):
        page.screenshot(path=f"{folder}/{name}.png")


def look_everywhere(page: Page, live_stack: LiveStack, name: str) -> None:
    """Take pictures in both languages and themes, wide and narrow, for a person who wants to see them."""
    if not os.environ.get("LOOK_AT"):
        return
    for language, scheme, size in (
        ("en", "dark", (390, 844)), ("zh-hans", "light", (390, 844)), ("zh-hans", "dark", (1440, 900)),
    ):  # fmt: skip
        cookie = {"name": "django_language", "value": language, "url": live_stack.url}
        page.context.add_cookies([cookie])  # type: ignore[list-item]  # a TypedDict, to the checker
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of its literals
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.reload()
        page.locator(".citation > summary").first.click()
        page.locator(".citation > summary").first.scroll_into_view_if_needed()
        look(page, f"{name}-{language}-{scheme}-{size[0]}")
    english = {"name": "django_language", "value": "en", "url": live_stack.url}
    page.context.add_cookies([english])  # type: ignore[list-item]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()


def open_desk(page: Page, pages: Any = PAGES) -> str:
    """Import a chat that searches these pages, and return its id."""
    import_workflow(page, chat_document(search(), *MODEL))
    workflow = id_in(page)
    assert page.evaluate(WRITE_PAGES, [f"global:{workflow}", pages]) == 201
    return workflow


def test_sources_of_an_answer_are_shown_opened_and_gone_with_their_page(
    signed_in: Page, live_stack: LiveStack
) -> None:
    page = signed_in
    open_desk(page)

    say(page, "When does the bakery open?")
    sources = page.locator(".citation > summary")
    expect(sources).to_have_count(2)
    expect(sources.first).to_contain_text("Opening hours")
    sources.first.click()
    expect(page.locator(".citation-body").first).to_contain_text(OPENING)
    look(page, "citations-test-chat")

    page.reload()
    expect(sources).to_have_count(2)
    look_everywhere(page, live_stack, "test-chat")
    page.goto(str(page.get_by_role("link", name="Why?").get_attribute("href")))
    sources.first.click()
    look(page, "citations-run")
    look_everywhere(page, live_stack, "run")
    if not page.locator(".citation-body").first.is_visible():
        sources.first.click()
    run = page.url
    page.get_by_role("link", name="Open the page").click()
    expect(page.get_by_role("heading", name="Opening hours", level=1)).to_be_visible()

    follow(page, page.get_by_role("button", name="Forget"))
    page.goto(run)
    expect(page.locator(".citation-gone")).to_contain_text("No longer available")
    expect(sources).to_have_count(1)


def test_switch_in_the_editor_turns_sources_off(signed_in: Page) -> None:
    page = signed_in
    open_desk(page)
    page.get_by_role("tab", name="Node").click()
    switch = page.get_by_role("switch", name="Sources with answers")
    expect(switch).to_be_checked()
    look(page, "citations-switch")
    switch.uncheck()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.get_by_role("tab", name="Chat").click()

    say(page, "When does the bakery open?")

    expect(page.locator(".answer-note .feedback").last).to_be_visible()
    expect(page.locator(".citation")).to_have_count(0)

"""What is told in one conversation is known in the next, to the same person, until it is forgotten."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.chatting import be, be_oneself, new_conversation, node, say, use_sample
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT = "My cat is called Miso."
QUESTION = "What is my cat called?"


def test_chat_tells_forgets_and_knows_again(signed_in: Page):
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    workflow = page.url.partition("?")[0]

    # told: nodes light up, the answer streams in, and what was remembered can be seen
    say(page, FACT)
    for name in ("start", "recall", "llm", "answer", "question", "remember"):
        expect(node(page, name)).to_have_attribute("data-state", "completed")
    page.locator(".chat-note summary", has_text="remembered").click()
    expect(page.locator(".chat-note")).to_contain_text(FACT)
    expect(page).to_have_url(re.compile(r"\?conversation="))

    # a reload finds the conversation again
    page.reload()
    expect(page.locator(".bubble-me")).to_have_text([FACT])

    # another conversation of the same person: recalled, used, cited
    new_conversation(page)
    answer = say(page, QUESTION)
    expect(answer).to_contain_text("Miso")
    page.locator(".chat-note summary", has_text="recalled").click()
    recollection = page.locator(".recollection").filter(has_text=FACT)
    expect(recollection.first.locator(".score").first).to_have_text(re.compile(r"[01]\.\d\d"))
    expect(node(page, "remember")).to_have_attribute("data-state", "skipped")

    # the run's page shows the same, long after
    page.get_by_role("link", name="Why?").click()
    expect(page.locator("#recalled")).to_contain_text(FACT)
    expect(page.locator("#recalled")).to_contain_text("reached the prompt")
    expect(node(page, "llm")).to_have_attribute("data-state", "completed")

    # somebody else: unknown
    page.goto(workflow)
    be(page, "ben")
    expect(say(page, QUESTION)).not_to_contain_text("Miso")
    page.reload()
    expect(page.locator(".bubble-me")).to_have_text([QUESTION])

    # forgotten on the page of memories: gone
    page.goto("/memory/")
    page.get_by_role("row").filter(has_text="you").get_by_role("link").click()
    page.get_by_role("row").filter(has_text=FACT).get_by_role("button").click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=FACT)).to_have_count(0)
    namespace = page.url
    chat = page.context.new_page()
    chat.goto(workflow)
    expect(say(chat, QUESTION)).not_to_contain_text("Miso")

    # undone: known once more
    undo.click()
    expect(page.get_by_role("row").filter(has_text=FACT)).to_have_count(1)
    assert page.url == namespace
    new_conversation(chat)
    expect(say(chat, QUESTION)).to_contain_text("Miso")

    # and one may be oneself again after having been somebody else
    be(chat, "ben")
    be_oneself(chat)
    expect(say(chat, QUESTION)).to_contain_text("Miso")


def test_chat_without_scripts_answers_after_a_reload(
    signed_in: Page, chromium: Browser, live_stack: LiveStack
):
    use_sample(signed_in, "A chatbot that remembers")
    state = signed_in.context.storage_state()
    context = chromium.new_context(
        base_url=live_stack.url, java_script_enabled=False, storage_state=state
    )
    page = context.new_page()
    page.goto(signed_in.url)

    page.get_by_role("textbox", name="Say something").fill("My bicycle is green.")
    page.get_by_role("button", name="Send").click()

    expect(page).to_have_url(re.compile(r"\?conversation="))
    expect(page.locator(".bubble-me")).to_have_text(["My bicycle is green."])
    answered(live_stack, page)
    page.reload()
    expect(page.locator(".bubble-it")).not_to_be_empty()
    context.close()


def answered(live_stack: LiveStack, page: Page) -> None:
    """The run's own stream says when it has ended: a request that waits, not a clock."""
    run = page.locator(".chat-note a").get_attribute("href")
    events = page.context.request.get(f"{live_stack.url}{run}events/")
    assert "event: run_finished" in events.text()

"""What is told in one conversation is known in the next, to the same person, until it is forgotten."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.chatting import be, be_oneself, new_conversation, node, say, use_sample
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT = "My cat is called Miso."
QUESTION = "What is my cat called?"
UNKNOWN = "I don't know anything about that yet."


def test_chat_tells_forgets_and_knows_again(signed_in: Page):
    """One journey in chapters: each begins where the last one ended."""
    page = signed_in
    use_sample(page, "A chatbot that remembers")
    workflow = page.url.partition("?")[0]

    told(page)
    recalled_in_another_conversation(page)
    unknown_to_somebody_else(page, workflow)
    chat = forgotten_is_gone(page, workflow)
    undone_is_back(page, chat)


def told(page: Page) -> None:
    """Nodes light up, the answer streams in, what was remembered can be seen; a reload finds it again."""
    say(page, FACT)
    for name in ("start", "recall", "llm", "answer", "remember"):
        expect(node(page, name)).to_have_attribute("data-state", "completed")
    page.locator(".chat-note summary", has_text="remembered").click()
    expect(page.locator(".chat-note")).to_contain_text(FACT)
    expect(page).to_have_url(re.compile(r"\?conversation="))

    page.reload()
    expect(page.locator(".bubble-me")).to_have_text([FACT])


def recalled_in_another_conversation(page: Page) -> None:
    """Recalled, used, cited; and the run's page shows the same, long after."""
    new_conversation(page)
    answer = say(page, QUESTION)
    expect(answer).to_contain_text("Miso")
    page.locator(".chat-note summary", has_text="recalled").click()
    recollection = page.locator(".recollection").filter(has_text=FACT)
    expect(recollection.first.locator(".score").first).to_have_text(re.compile(r"\d+% match"))
    expect(node(page, "remember")).to_have_attribute("data-state", "completed")
    expect(page.locator(".chat-note summary:visible", has_text="remembered")).to_have_count(0)

    why = page.get_by_role("link", name="Why?").last
    long_after = str(why.get_attribute("href"))
    why.click()
    explanation = page.get_by_role("region", name="Why this answer?")
    expect(explanation).to_contain_text(FACT)
    expect(explanation.get_by_text("In the prompt").first).to_be_visible()
    page.goto(long_after)
    expect(page.locator("#recalled")).to_contain_text(FACT)
    expect(page.locator("#recalled")).to_contain_text("In the prompt")
    expect(node(page, "llm")).to_have_attribute("data-state", "completed")


def unknown_to_somebody_else(page: Page, workflow: str) -> None:
    page.goto(workflow)
    be(page, "ben")
    expect(say(page, QUESTION)).to_contain_text(UNKNOWN)
    page.reload()
    expect(page.locator(".bubble-me")).to_have_text([QUESTION])


def forgotten_is_gone(page: Page, workflow: str) -> Page:
    """Forgotten on the page of memories, asked for in another tab: that tab.

    In a new conversation, because the earlier one has an answer that says it, which is sent along.
    """
    page.goto("/memory/namespaces/")
    page.get_by_role("row").filter(has_text="You").get_by_role("link").click()
    page.get_by_role("row").filter(has_text=FACT).get_by_role("button").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text=FACT)).to_have_count(0)
    chat = page.context.new_page()
    chat.goto(workflow)
    new_conversation(chat)
    expect(say(chat, QUESTION)).to_contain_text(UNKNOWN)
    return chat


def undone_is_back(page: Page, chat: Page) -> None:
    """Also after having been somebody else in between."""
    namespace = page.url
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("row").filter(has_text=FACT)).to_have_count(1)
    assert page.url == namespace
    new_conversation(chat)
    expect(say(chat, QUESTION)).to_contain_text("Miso")

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

    page.get_by_role("textbox", name="Message").fill("My bicycle is green.")
    page.get_by_role("button", name="Send").click()

    expect(page).to_have_url(re.compile(r"\?conversation="))
    expect(page.locator(".bubble-me")).to_have_text(["My bicycle is green."])
    answered(live_stack, page)
    page.reload()
    expect(page.locator(".bubble-it")).not_to_be_empty()
    context.close()


def answered(live_stack: LiveStack, page: Page) -> None:
    """The run's own stream says when it has ended: a request that waits, not a clock."""
    run = page.locator(".chat-note a[data-why]").get_attribute("href")
    events = page.context.request.get(f"{live_stack.url}{run}events/")
    assert "event: run_finished" in events.text()

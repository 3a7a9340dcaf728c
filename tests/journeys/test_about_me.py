"""Told in the chat, seen by the person, corrected, forgotten, paused: and each time the next answer knows."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import use_sample
from tests.journeys.languages import BY_NIGHT
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT, RIGHT = "My cat is called Miso.", "My cat is called Tofu."
LATER = "Trains to Lisbon leave at noon."  # no word of what others here ask about
QUESTION = "What is my cat called?"


@dataclass(frozen=True)
class Words:
    """What the pages say in one language."""

    say: str
    remembered: str
    forgotten: str
    from_memory: str
    forget: str
    undo: str
    correct: str
    right: str
    save: str
    pause: str
    resume: str
    paused: str
    left_off: str
    everything: str


ENGLISH = Words(
    "Message", "Remembered:", "Forgotten", "From memory: 1", "Forget", "Undo",
    "Correct", "Correct text", "Save", "Pause", "Resume", "Your memory is paused",
    "Remembering is paused: nothing was saved.", "Forget everything",
)  # fmt: skip
CHINESE = Words(
    "消息", "已记住：", "已忘记", "来自记忆：1 条", "忘记", "撤销",
    "更正", "正确内容", "保存", "暂停", "恢复", "你的记忆已暂停",
    "记忆已暂停：未保存任何内容。", "全部忘记",
)  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [pytest.param(ENGLISH, id="english"), pytest.param(CHINESE, id="chinese", marks=BY_NIGHT)],
)
def test_person_keeps_what_is_remembered_about_them_in_hand(
    signed_in: Page, live_stack: LiveStack, words: Words
) -> None:
    page = signed_in
    chat = opened_chat(page)
    speak(page, live_stack.url, words)

    page.goto(chat)
    told = say(page, words, FACT)
    expect(told).to_contain_text(words.remembered)
    conversation = page.url
    forgotten_and_back(told, words)

    corrected(page, words)
    asked_anew(page, chat, words)
    forgotten_for_the_next_answer(page, chat, words)
    paused(page, chat, words)
    all_forgotten(page, words)

    page.goto(conversation)  # and what was said stands where it was said
    expect(page.locator(".bubble-me")).to_contain_text([FACT])
    fits_a_phone(page, words)


def opened_chat(page: Page) -> str:
    use_sample(page, "A chatbot that remembers")
    workflow = page.url.partition("?")[0]
    page.request.post(
        f"{workflow}publish/",
        headers={"X-CSRFToken": token(page), "Referer": workflow},
        form={"note": ""},
    )
    return workflow.replace("/workflows/", "/chat/")


def token(page: Page) -> str:
    return str(page.locator("[name=csrfmiddlewaretoken]").first.get_attribute("value"))


def speak(page: Page, base: str, words: Words) -> None:
    if words is CHINESE:
        page.context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": base}])


def say(page: Page, words: Words, text: str) -> Locator:
    """The turn, once its answer and what memory did in it are there."""
    turns = page.locator(".turn")
    before = turns.count()
    expect(page.locator("[data-chat-form][data-ready=yes]")).to_be_attached()
    page.get_by_role("textbox", name=words.say).fill(text)
    page.keyboard.press("Enter")
    expect(turns).to_have_count(before + 1)
    expect(turns.last.locator("run-stream")).to_have_count(0)
    expect(page.locator("[data-opening]")).to_have_count(0)
    return turns.last


def forgotten_and_back(turn: Locator, words: Words) -> None:
    turn.get_by_role("button", name=words.forget).click()
    expect(turn).to_contain_text(words.forgotten)
    turn.get_by_role("button", name=words.undo).click()
    expect(turn).to_contain_text(words.remembered)


def corrected(page: Page, words: Words) -> None:
    page.goto("/memory/about/")
    card = page.locator("[data-memory]").filter(has_text=FACT)
    choice = card.locator(".prompt-use [value=never]")
    choice.press("Enter")
    expect(choice).to_have_attribute("aria-pressed", "true")
    expect(choice).to_be_focused()  # although the card was replaced
    card.locator(".prompt-use [value=relevant]").click()
    expect(card.locator(".prompt-use [value=relevant]")).to_have_attribute("aria-pressed", "true")
    card.get_by_text(words.correct, exact=True).click()
    card.get_by_label(words.right).fill(RIGHT)
    card.get_by_role("button", name=words.save).click()
    expect(page.locator(".about-words")).to_have_text([RIGHT])


def asked_anew(page: Page, chat: str, words: Words) -> None:
    """In another conversation, which is how it is known that it is memory."""
    page.goto(chat)
    turn = say(page, words, QUESTION)
    expect(turn.locator(".bubble-it")).to_contain_text("Tofu")
    expect(turn).to_contain_text(words.from_memory)
    expect(turn.locator(".memory-used")).to_contain_text(RIGHT)


def forgotten_for_the_next_answer(page: Page, chat: str, words: Words) -> None:
    page.goto("/memory/about/")
    card = page.locator("[data-memory]").first
    card.get_by_role("button", name=words.forget).click()
    expect(card).to_contain_text(words.forgotten)
    page.goto(chat)
    expect(say(page, words, QUESTION).locator(".bubble-it")).not_to_contain_text("Tofu")


def paused(page: Page, chat: str, words: Words) -> None:
    page.goto("/memory/about/")
    page.get_by_role("button", name=words.pause, exact=True).click()
    expect(page.get_by_role("heading", name=words.paused)).to_be_visible()

    page.goto(chat)
    expect(say(page, words, LATER)).to_contain_text(words.left_off)

    page.goto("/memory/about/")
    # What an earlier turn of this test forgot is listed below; what is remembered are the cards.
    expect(page.locator("[data-memory]").filter(has_text="Lisbon")).to_have_count(0)
    page.get_by_role("button", name=words.resume, exact=True).click()
    expect(page.get_by_role("heading", name=words.paused)).to_have_count(0)
    page.goto(chat)
    expect(say(page, words, LATER)).to_contain_text(words.remembered)


def all_forgotten(page: Page, words: Words) -> None:
    """At once, after a count."""
    page.goto("/memory/about/")
    page.get_by_role("button", name=words.everything).first.click()
    page.get_by_role("button", name=words.everything, exact=True).click()
    expect(page.get_by_role("button", name=words.undo)).to_be_visible()
    page.goto("/memory/about/")
    expect(page.locator("[data-memory]")).to_have_count(0)


def fits_a_phone(page: Page, words: Words) -> None:
    """The box to type in at the bottom, nothing wider than the screen, the conversations one press away."""
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("textbox", name=words.say)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    links = page.locator(".talk-link")
    expect(links.first).to_be_hidden()
    page.locator(".talks [data-menu-toggle]").click()
    expect(links.first).to_be_in_viewport(ratio=1)
    page.get_by_role("textbox", name=words.say).click()
    expect(links.first).to_be_hidden()

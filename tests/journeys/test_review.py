"""The review by keyboard alone: looked at, decided, merged, kept out for good, many at once, and taken back."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.languages import LANGUAGES
from tests.journeys.looking import CONTRAST, HEADINGS, NAMELESS, OVERFLOW, complaints, shut_out
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

KINDS = {"add": 2, "contradiction": 1, "held": 1, "link": 1, "merge": 1}


@pytest.fixture
def queue(signed_in: Page, live_stack: LiveStack, language: str) -> Page:
    """The sample's, in a language."""
    page = signed_in
    page.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    page.goto("/memory/review/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    button = page.locator("form[action$='/review/sample/'] button")
    button.focus()
    with page.expect_navigation():  # the keys are heard once the whole page is there
        page.keyboard.press("Enter")
    expect(items(page)).to_have_count(6)
    return page


def items(page: Page) -> Locator:
    return page.locator("[data-item]")


def current(page: Page) -> Locator:
    return page.locator("[data-item]:focus")


def go_to(page: Page, kind: str) -> Locator:
    """By j, from the first one on."""
    for _ in range(7):
        page.keyboard.press("k")
    for _ in range(7):
        if current(page).get_attribute("data-kind") == kind:
            break
        page.keyboard.press("j")
    expect(current(page)).to_have_attribute("data-kind", kind)
    return page.locator(f"#{current(page).get_attribute('id')}")


def waiting(page: Page, number: int) -> None:
    """In the list, and in the tab's counter."""
    expect(items(page)).to_have_count(number)
    expect(page.locator("#memory-tab-review")).to_have_text(re.compile(rf"^\s*{number}\D"))


def told(page: Page) -> None:
    """To who listens, and with the way back to who looks."""
    expect(page.locator("[data-review-status]")).not_to_be_empty()
    expect(page.locator("[data-review-undo]")).to_be_visible()


def undo(page: Page, number: int) -> None:
    page.keyboard.press("u")
    waiting(page, number)


@pytest.mark.parametrize("language", LANGUAGES)
def test_review_is_worked_through_by_keyboard(queue: Page, language: str) -> None:
    page = queue
    found = [one.get_attribute("data-kind") for one in items(page).all()]
    assert {kind: found.count(kind) for kind in KINDS} == KINDS
    assert complaints(page, OVERFLOW, HEADINGS, NAMELESS, CONTRAST) == []
    assert shut_out(page) == []
    page.keyboard.press("?")
    expect(page.locator("#review-keys")).to_be_visible()
    page.keyboard.press("Escape")

    edits_and_accepts(page, f"Written anew {language}")
    merges(page)
    tries_and_keeps_out_for_good(page)
    decides_many(page)

    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    assert complaints(page, OVERFLOW, NAMELESS, CONTRAST) == []


def edits_and_accepts(page: Page, words: str) -> None:
    item = go_to(page, "add")
    page.keyboard.press("e")
    box = item.locator("textarea")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(item).to_be_focused()
    page.keyboard.press("e")
    expect(box).to_be_focused()
    box.fill(words)
    page.keyboard.press("Control+Enter")
    waiting(page, 5)
    told(page)
    expect(current(page)).to_have_count(1)  # the next one
    expect(page.locator(".review-agreed")).to_be_visible()
    undo(page, 6)
    expect(current(page)).to_contain_text(words)  # it waits in those words


def merges(page: Page) -> None:
    """A merge at once; what is held joins a memory that the arrows choose."""
    go_to(page, "merge")
    page.keyboard.press("m")
    waiting(page, 5)
    undo(page, 6)
    item = go_to(page, "held")
    page.keyboard.press("m")
    expect(item.locator("[name=into]").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(item.locator("[name=into]").nth(1)).to_be_checked()
    assert complaints(page, NAMELESS, CONTRAST) == []
    item.locator("textarea").fill("Both of them")
    page.keyboard.press("Control+Enter")
    waiting(page, 5)
    undo(page, 6)


def tries_and_keeps_out_for_good(page: Page) -> None:
    item = go_to(page, "contradiction")
    page.keyboard.press("d")
    expect(item.locator(".review-try").first).to_be_visible()
    expect(item).to_be_focused()
    assert complaints(page, OVERFLOW, CONTRAST) == []
    page.keyboard.press("x")
    waiting(page, 5)
    go_to(page, "link")
    page.keyboard.press("Shift+X")
    waiting(page, 4)
    page.locator(".toast a[href='/memory/review/rules/']").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/rules/$"))
    assert complaints(page, OVERFLOW, HEADINGS, NAMELESS, CONTRAST) == []
    rules = page.locator("form[action$='/take-back/'] button")
    expect(rules).to_have_count(2)  # the link, and the contradiction of which both are kept
    rules.first.focus()
    page.keyboard.press("Enter")
    expect(rules).to_have_count(1)
    page.goto("/memory/review/")
    waiting(page, 5)


def decides_many(page: Page) -> None:
    """Chosen by c, tried first, then done, taken back as one, and all rejected in the end."""
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.locator("#choose button[value=accept]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#review-preview")).to_be_focused()
    assert complaints(page, NAMELESS, CONTRAST) == []
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    waiting(page, 3)
    undo(page, 5)
    [first, *_] = [one.get_attribute("id") for one in items(page).all()]
    page.locator("[data-choose-all] input").focus()
    page.keyboard.press("Space")
    page.locator("#choose button[value=reject]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#review-preview")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("form[action$='/review/sample/']")).to_be_visible()
    expect(page.locator("#review-title")).to_be_focused()
    # the same of a form that was sent before its script was ready
    page.goto(f"/memory/review/?act=rejected&of={str(first).removeprefix('item-')}")
    told(page)
    expect(page.locator("#review-title")).to_be_focused()

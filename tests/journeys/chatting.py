"""The chat pane as a person uses it."""

import re

from playwright.sync_api import BrowserContext, FrameLocator, Locator, Page, expect

from tests.journeys.people import token_of
from tests.journeys.seeing import follow, ready
from workflows.samples.catalogue import SAMPLES


def use_sample(page: Page, title: str) -> None:
    """What the button in the gallery does; the gallery itself, which draws all samples, is another page to load."""
    [slug] = [sample.slug for sample in SAMPLES if str(sample.title) == title]
    page.goto(copy_sample(page.context, slug))
    ready(page)


def take_from_the_gallery(page: Page, title: str) -> None:
    page.goto("/samples/")
    page.get_by_role("article").filter(has_text=title).get_by_role("button").click()
    expect(page).to_have_url(re.compile("/workflows/[0-9a-f-]{36}/"))
    ready(page)


def copy_sample(context: BrowserContext, slug: str) -> str:
    """Return where the copy is."""
    token = token_of(context)
    answer = context.request.post(
        f"/samples/{slug}/copy/", form={"csrfmiddlewaretoken": token}, max_redirects=0
    )
    assert answer.status == 302
    return answer.headers["location"]


def say(page: Page, text: str) -> Locator:
    """The answer's bubble, once all of it is there."""
    bubbles = page.locator(".chat-log .bubble-it")
    box = message_box(page)
    before = bubbles.count()
    box.fill(text)
    box.press("Enter")
    expect(bubbles).to_have_count(before + 1)
    answer = bubbles.last
    expect(answer).not_to_have_attribute("data-waiting", re.compile(""))
    return answer


def message_box(page: Page | FrameLocator) -> Locator:
    """The box to type in, in any language, once its script has come: before that, Enter is a line break."""
    expect(page.locator("[data-chat-form][data-ready=yes]")).to_be_attached()
    return page.locator("[data-chat-form] > textarea")


def new_conversation(page: Page) -> None:
    follow(page, page.get_by_role("link", name="New conversation", exact=True).first)
    expect(page.locator(".chat-log .bubble")).to_have_count(0)
    expect(message_box(page)).to_be_focused()
    expect(page.locator("[data-run-now]:visible")).to_have_count(0)  # no status of an earlier run


def be(page: Page, person: str) -> None:
    page.locator(".chat-head summary").first.click()
    page.get_by_label("Switch user").fill(person)
    follow(page, page.get_by_role("button", name="Switch"))
    expect(page.locator(".chat-head summary").first).to_contain_text(person)


def be_oneself(page: Page) -> None:
    page.locator(".chat-head summary").first.click()
    follow(page, page.get_by_role("link", name="Yourself", exact=True))
    expect(page.locator(".chat-head summary").first).to_contain_text("You")


def node(page: Page, name: str) -> Locator:
    """On the canvas, or in the drawing on a run's page."""
    return page.locator(f'wf-node[data-id="{name}"]')

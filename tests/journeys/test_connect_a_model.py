"""From the page Models to an answer of a server like Ollama, by counted clicks."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.journeys.chatting import READY
from tests.support.processor_time import measure_slowness
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

FACT = "I'm Ana, and I'm allergic to peanuts."
ANSWER = "Thank you, Ana. I'll keep peanuts away."
# A tag and its end each lie across two pieces of the stream.
PIECES = (
    "<th",
    "ink>She said ",
    "peanuts.</thi",
    "nk>\n\n",
    "Thank you, Ana. ",
    "I'll keep peanuts away.",
)


@pytest.fixture
def ollama(live_stack: LiveStack) -> Iterator[FakeOpenAI]:
    """A model server on this machine, where the application looks for Ollama."""
    port = int(live_stack.environment["OLLAMA_HOST"].rpartition(":")[2])
    with FakeOpenAI(models=("nomic-embed-text", "llama3.2:3b"), port=port) as server:
        server.script(Answer(pieces=PIECES, text="-"))
        yield server


@pytest.fixture
def unconnected(signed_in: Page) -> Page:
    """A page of the owner, without the connection that a first try may have left."""
    signed_in.goto("/models/")
    if signed_in.locator("li", has_text="ollama").get_by_role("button", name="Remove").count():
        _disconnect(signed_in)
    return signed_in


def test_local_server_is_found_connected_and_answers_in_the_first_sample(
    unconnected: Page, ollama: FakeOpenAI
) -> None:
    page = unconnected
    clicks = 0

    def click(target: Locator) -> None:
        nonlocal clicks
        clicks += 1
        target.click()

    page.goto("/")
    began = time.monotonic()
    click(page.get_by_role("link", name="Models", exact=True))
    click(page.locator(".local-server").get_by_role("button", name="Connect"))
    expect(page.locator("#toasts")).to_contain_text("Connected “ollama”. Its model is llama3.2:3b.")
    expect(page.locator(".local-server")).to_have_count(0)
    click(page.get_by_role("link", name="Samples", exact=True))
    card = page.get_by_role("article").filter(has_text="A chatbot that remembers")
    click(card.get_by_role("button"))
    expect(page.locator("#editor")).to_have_attribute("data-ready", "yes", timeout=READY)
    click(page.get_by_role("button", name=FACT))
    expect(page.locator(".chat-log .bubble-it")).to_have_text(ANSWER)
    seconds = time.monotonic() - began

    assert clicks <= 6
    assert seconds <= 60 * measure_slowness(time.monotonic)
    card = page.locator('wf-node[data-kind="llm"]')
    expect(card).to_contain_text("ollama/llama3.2:3b")
    expect(card.locator(".wf-pill-offline")).to_have_count(0)
    assert ollama.requests[-1].body["model"] == "llama3.2:3b"
    expect(page.locator("body")).not_to_contain_text(re.compile("<think|think>"))
    page.reload()
    expect(page.locator(".chat-log .reasoning")).to_contain_text("She said peanuts.")
    expect(page.locator(".chat-log .bubble-it")).to_have_text(ANSWER)
    _disconnect(page)


def _disconnect(page: Page) -> None:
    """The other journeys of this stack answer offline."""
    page.goto("/models/")
    page.locator("li", has_text="ollama").get_by_role("button", name="Remove").click()
    page.locator("#confirm button[value=yes]").click()
    expect(page.locator("#toasts")).to_contain_text("Removed “ollama”")

"""From the page Models to an answer of a server like Ollama, by counted clicks."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.journeys.seeing import follow, ready, until
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
MOST_QUESTIONS = 2  # to the model for a message: what to answer, and which facts to remember


@pytest.fixture
def ollama(live_stack: LiveStack) -> Iterator[FakeOpenAI]:
    """A model server on this machine, where the application looks for Ollama."""
    port = int(live_stack.environment["OLLAMA_HOST"].rpartition(":")[2])
    with FakeOpenAI(models=("nomic-embed-text", "llama3.2:3b"), port=port) as server:
        server.script(Answer(pieces=PIECES, text="-"))
        yield server


def test_local_server_is_found_connected_and_answers_in_the_first_sample(
    signed_in: Page, ollama: FakeOpenAI
) -> None:
    page = signed_in
    clicks = 0

    def click(target: Locator, press: Callable[[Page, Locator], None] = press_here) -> None:
        nonlocal clicks
        clicks += 1
        press(page, target)

    page.goto("/")
    click(page.get_by_role("link", name="Models", exact=True), follow)
    server = page.locator(".local-server")
    until(page, lambda: is_found(page))
    click(server.get_by_role("button", name="Connect"))
    expect(page.locator("#toasts")).to_contain_text("Connected “ollama”. Its model is llama3.2:3b.")
    expect(server).to_have_count(0)
    click(page.get_by_role("link", name="Samples", exact=True), follow)
    card = page.get_by_role("article").filter(has_text="A chatbot that remembers")
    click(card.get_by_role("button"), follow)
    ready(page)
    asked = len(ollama.requests)
    click(page.get_by_role("button", name=FACT))
    expect(page.locator(".chat-log .bubble-it")).to_have_text(ANSWER)

    assert clicks <= 6
    assert len(ollama.requests) - asked <= MOST_QUESTIONS
    card = page.locator('wf-node[data-kind="llm"]')
    expect(card).to_contain_text("ollama/llama3.2:3b")
    expect(card.locator(".wf-pill-offline")).to_have_count(0)
    assert ollama.requests[-1].body["model"] == "llama3.2:3b"
    expect(page.locator("body")).not_to_contain_text(re.compile("<think|think>"))
    reasoning = page.locator(".chat-log .reasoning")
    expect(reasoning).to_contain_text("She said peanuts.")  # when the run has ended, by itself
    page.reload()
    expect(reasoning).to_contain_text("She said peanuts.")
    expect(page.locator(".chat-log .bubble-it")).to_have_text(ANSWER)


def press_here(_page: Page, target: Locator) -> None:
    target.click()


def is_found(page: Page) -> bool:
    """The page gives a server two seconds to answer, which may be little on a busy machine."""
    address = page.url
    page.goto("about:blank")  # so that the answer isn't that to a request of the page before
    with page.expect_response("**/models/local/") as answer:
        page.goto(address)
    return "local-server" in answer.value.text()

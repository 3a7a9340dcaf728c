"""After a run the edges say how what went along them begins; a press shows all of it."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.chatting import say
from tests.journeys.editing import Draft, open_sample


pytestmark = pytest.mark.browser

# Labels and what they lie over: a card, its ports, the strip with its state, how many edges it waits for.
COVERED = """() => {
  const hits = (a, b) => a.left < b.right - 1 && a.right > b.left + 1 && a.top < b.bottom - 1 && a.bottom > b.top + 1;
  const parts = [...document.querySelectorAll("wf-node > .wf-card, wf-node > .wf-state, wf-node .port")];
  const seen = [...document.querySelectorAll(".wf-label")].filter((label) => label.checkVisibility());
  return seen.flatMap((label) => parts
    .filter((part) => part.checkVisibility() && hits(label.getBoundingClientRect(), part.getBoundingClientRect()))
    .map((part) => [label.textContent, part.className, part.closest("wf-node").dataset.title]));
}"""


def words_between(draft: Draft, source: str, target: str) -> Locator:
    ends = draft.id_of_kind(source), draft.id_of_kind(target)
    edge = next(e for e in draft.document.edges if (e.source, e.target) == ends)
    return draft.page.locator(f'.wf-label[data-edge="{edge.id}"]')


def test_edge_says_what_went_along_it(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    label = words_between(draft, "llm", "answer")

    expect(label).to_contain_text("Noted: I'm Ana")
    label.click()
    expect(signed_in.get_by_role("dialog", name="Output of Generate answer")).to_contain_text(
        "allergic to peanuts"
    )


def test_no_word_on_an_edge_covers_a_card_a_port_or_a_state(signed_in: Page):
    open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    labels = signed_in.locator(".wf-label")
    expect(labels).to_have_count(7)
    expect(labels.filter(has_text="Noted: I'm Ana")).to_have_count(2)

    assert signed_in.evaluate(COVERED) == []
    signed_in.evaluate("() => { const { canvas } = window.mnemoflow.editor; canvas.fit(); }")
    shown = [label for label in labels.all() if label.is_visible()]
    assert len(shown) >= 6  # where there is no room between two cards, a word stays away


def test_edge_that_is_moved_takes_its_words_along_when_it_is_let_go(signed_in: Page):
    draft = open_sample(signed_in)
    say(signed_in, "I'm Ana, and I'm allergic to peanuts.")
    label = words_between(draft, "llm", "answer")
    expect(label).to_contain_text("Noted: I'm Ana")
    before = label.bounding_box()
    card = draft.node("Answer").bounding_box()
    assert before
    assert card

    signed_in.mouse.move(card["x"] + 60, card["y"] + 12)
    signed_in.mouse.down()
    signed_in.mouse.move(card["x"] + 60, card["y"] - 60, steps=4)
    expect(label).to_be_hidden()
    signed_in.mouse.up()

    expect(label).to_be_visible()
    draft.saved()
    after = label.bounding_box()
    assert after
    assert after != before
    assert signed_in.evaluate(COVERED) == []
